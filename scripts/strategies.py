"""Compare the strategies of `experiment=strategies` on SciFact, and write what came out into docs/strategies.md.

python scripts/strategies.py FOLDER     # of SciFact in the layout of BEIR; takes about 20 minutes on two cores
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import ragsweep
from ragsweep.core.style import save
from ragsweep.report.part_charts import what_each_part_adds, what_parts_add
from ragsweep.sweeps import Outcome, Sweep, ablation

CLONE = Path(__file__).resolve().parents[1]
PAGE, CHART = CLONE / "docs" / "strategies.md", CLONE / "docs" / "strategies.png"
TABLE = re.compile(r"(?<=<!-- table -->\n).*?(?=<!-- end -->)", re.DOTALL)
PARTS = re.compile(r"(?<=<!-- parts -->\n).*?(?=<!-- end -->)", re.DOTALL)
MB = 1e6


def main() -> None:
    """Run the sweep, and replace table and chart of the page."""
    parser = argparse.ArgumentParser(description="Compare the shipped strategies on SciFact.")
    parser.add_argument("folder", type=Path, help="of SciFact in the layout of BEIR")
    folder = parser.parse_args().folder.resolve()
    decision = ragsweep.sweep(["experiment=strategies", "dataset=beir", f"dataset.path={folder}"]).decision
    level = decision.headline.allowed
    found = ablation(level)
    assert found is not None
    text = TABLE.sub(lambda _: table(level), PAGE.read_text(encoding="utf-8"), count=1)
    PAGE.write_text(PARTS.sub(lambda _: parts(level), text, count=1), encoding="utf-8")
    save(what_each_part_adds(decision), CHART)


def table(level: Sweep) -> str:
    """A row per strategy, the best first: what it is, its quality with the interval, and its costs."""
    rows = ["| strategy | what it is | nDCG@10 | against the best | latency | index |", "|---|---|---|---|---|---|"]
    compared = level.standings.with_best
    for position in level.table["outcome"]:
        outcome = level.outcomes[position]
        low, high = outcome.interval(level.decided_by) or (0, 0)
        quality = f"{outcome.value(level.decided_by):.3f} [{low:.3f}, {high:.3f}]"
        against = "the best" if position == level.best else "tied" if compared.tied[position] else "worse"
        rows.append(f"| `{_name(outcome)}` | {_about(_name(outcome))} | {quality} | {against} | {_costs(outcome)} |")
    return "\n".join(rows) + "\n"


def parts(level: Sweep) -> str:
    """A row per part of the largest strategy: what it adds."""
    found = ablation(level)
    assert found is not None
    head = [f"| part of `{_name(found.full)}` | adds to nDCG@10 |", "|---|---|"]
    added = what_parts_add(level, found)
    rows = [f"| `{each.part}` | {each.mean:+.3f} [{each.low:+.3f}, {each.high:+.3f}] |" for each in added]
    return "\n".join([*head, *rows]) + "\n"


def _name(outcome: Outcome) -> str:
    return str(outcome.swept["strategy"])


def _about(strategy: str) -> str:
    """The comment of a strategy's file, which follows the line with its package."""
    file = CLONE / "conf" / "strategy" / f"{strategy}.yaml"
    return file.read_text(encoding="utf-8").splitlines()[1].removeprefix("# ").rstrip(".")


def _costs(outcome: Outcome) -> str:
    latency, size = outcome.value("latency/mean_ms"), outcome.value("index/bytes")
    if latency is None or size is None:
        return " | "
    return f"{float(f'{latency:.3g}'):,g} ms | {size / MB:.3g} MB"


if __name__ == "__main__":
    main()
