"""The report of a sweep: the same content as a self-contained HTML page and as Markdown."""

from __future__ import annotations

import html
import shlex
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from markupsafe import Markup

from ragsweep.core.csv_files import TEXTS
from ragsweep.core.drawing import Chart
from ragsweep.core.terminal import printable
from ragsweep.report import findings
from ragsweep.report.markup import code, markdown
from ragsweep.report.words import against_best, baseline_rows, count, decision, evidence, interval
from ragsweep.sweeps import Sweep

if TYPE_CHECKING:
    from jinja2 import Environment

DIGITS = 12  # of a digest that is shown


@dataclass(frozen=True)
class Origin:
    """Where a sweep comes from.

    Attributes:
        command: What makes it again.
        run_id: The tracking store's name for it; empty where the store lacks it.
        commit: The code's git commit, with a word where it was changed; empty outside of git.
        started: YYYYMMDD_HHMMSS.
    """

    command: str
    run_id: str
    commit: str
    started: str


class Row(NamedTuple):
    """A configuration as the table shows it; `left`, `width` and `middle` place its interval, in percent."""

    name: str
    mark: str
    verdict: str
    difference: str
    mean: float
    interval: str
    left: float
    width: float
    middle: float
    others: list[float]
    wins: float
    run_id: str


def write_report(folder: Path, sweep: Sweep, origin: Origin, charts: Sequence[Chart]) -> str:
    """Write `report.html` and `report.md`, with the charts that lie in `charts/`.

    Returns:
        The report in Markdown.
    """
    content = _content(sweep, origin)
    drawn = [
        {**chart._asdict(), "data": b64encode((folder / "charts" / chart.name).read_bytes()).decode()}
        for chart in charts
    ]
    page = _environment(_html).get_template("report.html").render(content, charts=drawn)
    text = _environment(markdown).get_template("report.md").render(content, charts=drawn)
    (folder / "report.html").write_text(page, encoding="utf-8")
    (folder / "report.md").write_text(text, encoding="utf-8")
    return text


def _environment(escape: Callable[[object], str]) -> Environment:
    """Templates in which every value is escaped where it is put in; what is ours is marked as `safe` there."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("ragsweep.report"),
        finalize=escape,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"command": _command, "code": code}
    return environment


def _html(value: object) -> str:
    return str(value) if isinstance(value, Markup) else html.escape(printable(str(value)))


def _command(parts: Sequence[object]) -> str:
    return shlex.join(map(str, parts))


def _content(sweep: Sweep, origin: Origin) -> dict[str, Any]:
    unanswered = [row for _, row in findings.unanswered(sweep).iterrows()]
    number = len(sweep.outcomes)
    return {
        "title": _title(sweep),
        "facts": f"{count(number, 'configuration')}, {count(len(sweep.queries), 'query')}, {_when(origin.started)}"
        f"{f', commit {origin.commit}' if origin.commit else ''}",
        "decision": [*decision(sweep), *evidence(sweep)],
        "unfinished": ", ".join(f"{name} ({status})" for name, status in sweep.unfinished.items()),
        "metric": sweep.measure,
        "other_metrics": [sweep.title(name) for name in _others(sweep)],
        "rows": list(_rows(sweep)),
        "about_table": _about_table(sweep),
        "against": baseline_rows(sweep) if sweep.baseline else [],
        "about_against": "Paired randomisation test, corrected by Holm over all comparisons with the baseline; effect "
        "size: Cohen's d_z; intervals: 95 %, bootstrap over queries.",
        "types": findings.by_type(sweep),
        "about_types": "Held out: the mean over queries that did not take part in the choice, by repeated 5-fold "
        "cross-validation. Only a better held-out mean shows that a type deserves a configuration of its own.",
        "unanswered": unanswered,
        "unanswered_in_words": f"{count(len(unanswered), 'query')} of {len(sweep.queries)} "
        f"with the worst {sweep.measure} that there is from every configuration.",
        "item_columns": [name for name in sweep.queries if name not in TEXTS],
        "winner": sweep.winner,
        "disputed": findings.disputed(sweep),
        "disputed_in_words": findings.disputed_in_words(sweep),
        "audit": sweep.winner.facts.findings,
        "again": _again(sweep, origin),
        "about_numbers": f"Dataset digest {sweep.winner.facts.digest[:DIGITS]}; {sweep.resamples:,} "
        f"resamples, seed {sweep.seed}. Metrics are computed per query, then averaged.",
    }


def _title(sweep: Sweep) -> str:
    names = [sweep.short(name) for name in sweep.axes]
    asked = " and ".join([", ".join(names[:-1]), *names[-1:]] if len(names) > 1 else names)
    return f"Which {asked or 'configuration'} for {sweep.dataset}?"


def _others(sweep: Sweep) -> list[str]:
    return [name for name in sweep.metrics if name != sweep.decided_by]


def _rows(sweep: Sweep) -> Iterator[Row]:
    metric, table = sweep.decided_by, sweep.table
    low, high = table[f"{metric}_low"].min(), table[f"{metric}_high"].max()
    scale = 100 / (high - low) if high > low else 0
    for _, row in table.iterrows():
        verdict = against_best(sweep, row["outcome"])
        yield Row(
            name=row["name"],
            mark=verdict.partition(",")[0],
            verdict=verdict,
            difference=_difference(sweep, row["outcome"]),
            mean=row[metric],
            interval=interval(row, metric),
            left=round((row[f"{metric}_low"] - low) * scale, 1),
            width=round((row[f"{metric}_high"] - row[f"{metric}_low"]) * scale, 1),
            middle=round((row[metric] - low) * scale, 1),
            others=[row[name] for name in _others(sweep)],
            wins=100 * sweep.decision.wins[row["outcome"]],
            run_id=sweep.outcomes[row["outcome"]].run_id,
        )


def _difference(sweep: Sweep, position: int) -> str:
    decision = sweep.decision
    if position == decision.best:
        return ""
    low, high = decision.difference_low[position], decision.difference_high[position]
    return f"{decision.difference[position]:+.3f} [{low:+.3f}, {high:+.3f}]"


def _about_table(sweep: Sweep) -> str:
    return " ".join(
        (
            f"Means over {count(len(sweep.queries), 'query')}; intervals: 95 %, bootstrap over queries.",
            "Against the best: paired randomisation test, corrected for all pairs of configurations (max-T), since the",
            "best was chosen by the same queries; tied where p > 0.05. It asks how consistently the queries differ, so",
            "a lower mean may be tied where a higher one is worse. The difference has the interval of this pair alone.",
            "Best in: share of bootstrap resamples of these queries in which it has the highest mean, which favours",
            "the luckier of equals. Effect size: the mean of the differences over their standard deviation (Cohen's",
            "d_z). More statistics: results/summary_statistics.csv.",
        )
    )


def _again(sweep: Sweep, origin: Origin) -> list[dict[str, str]]:
    lines = [{"what": "Run it again", "command": origin.command}]
    if origin.run_id:
        lines += [
            {
                "what": "Run it again and compare every number with this record",
                "command": _command(["python", "scripts/reproduce.py", origin.run_id]),
            },
            {
                "what": "Hold it against other runs",
                "command": _command(["python", "scripts/compare.py", origin.run_id, "RUN_ID"]),
            },
        ]
    return lines


def _when(started: str) -> str:
    date, _, time = started.partition("_")
    return f"{date[:4]}-{date[4:6]}-{date[6:]} {time[:2]}:{time[2:4]}"
