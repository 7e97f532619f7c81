"""Compare the strategies of `experiment=strategies` on SciFact, and write what came out into docs/strategies.md.

python scripts/strategies.py FOLDER     # of SciFact in the layout of BEIR; takes about 20 minutes on two cores
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import ragsweep
from ragsweep.sweeps import Outcome, Sweep

CLONE = Path(__file__).resolve().parents[1]
PAGE = CLONE / "docs" / "strategies.md"
TABLE = re.compile(r"(?<=<!-- table -->\n).*?(?=<!-- end -->)", re.DOTALL)
MB = 1e6


def main() -> None:
    """Run the sweep, and replace the table of the page."""
    parser = argparse.ArgumentParser(description="Compare the shipped strategies on SciFact.")
    parser.add_argument("folder", type=Path, help="of SciFact in the layout of BEIR")
    folder = parser.parse_args().folder.resolve()
    decision = ragsweep.sweep(["experiment=strategies", "dataset=beir", f"dataset.path={folder}"]).decision
    level = decision.headline.allowed
    PAGE.write_text(TABLE.sub(lambda _: table(level), PAGE.read_text(encoding="utf-8"), count=1), encoding="utf-8")


def table(level: Sweep) -> str:
    """A row per strategy, the best first: what it is, its quality with the interval, and its costs."""
    rows = ["| strategy | what it is | nDCG@10 | latency | index |", "|---|---|---|---|---|"]
    for position in level.table["outcome"]:
        outcome = level.outcomes[position]
        low, high = outcome.interval(level.decided_by) or (0, 0)
        quality = f"{outcome.value(level.decided_by):.3f} [{low:.3f}, {high:.3f}]"
        rows.append(f"| `{_name(outcome)}` | {_about(_name(outcome))} | {quality} | {_costs(outcome)} |")
    return "\n".join(rows) + "\n"


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
