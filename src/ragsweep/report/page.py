"""The report of a sweep, as a self-contained HTML page and as Markdown with the same content."""

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
from ragsweep.core.terminal import counted, printable
from ragsweep.report import queries
from ragsweep.report.markup import code, markdown
from ragsweep.report.words import against_best, baseline_rows, decision, evidence, interval
from ragsweep.sweeps import Sweep

if TYPE_CHECKING:
    from jinja2 import Environment

DIGITS = 12  # of a digest in the report


@dataclass(frozen=True)
class Origin:
    """How a sweep was started.

    Attributes:
        command: The command that repeats the sweep.
        run_id: Run id of the sweep in the tracking store; empty if it is not in the store.
        commit: Git commit of the code, with a note if there are uncommitted changes; empty outside a git repository.
        started: Start time, YYYYMMDD_HHMMSS.
    """

    command: str
    run_id: str
    commit: str
    started: str


class Row(NamedTuple):
    """A row of the table. `left`, `width` and `middle` are the position of the interval bar, in percent."""

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
    """Write `report.html` and `report.md` with the charts from `charts/`.

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
    """Templates that escape every value, except those marked as `safe`."""
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


def _command(arguments: Sequence[object]) -> str:
    return shlex.join(map(str, arguments))


def _content(sweep: Sweep, origin: Origin) -> dict[str, Any]:
    unanswered = [row for _, row in queries.unanswered(sweep).iterrows()]
    number = len(sweep.outcomes)
    return {
        "title": _title(sweep),
        "facts": f"{counted(number, 'configuration')}, {counted(len(sweep.queries), 'query')}, {_when(origin.started)}"
        f"{f', commit {origin.commit}' if origin.commit else ''}",
        "decision": [*decision(sweep), *evidence(sweep)],
        "unfinished": ", ".join(f"{name} ({status})" for name, status in sweep.unfinished.items()),
        "metric": sweep.metric_title,
        "other_metrics": [sweep.title(name) for name in _others(sweep)],
        "rows": list(_rows(sweep)),
        "about_table": _about_table(sweep),
        "against": baseline_rows(sweep) if sweep.baseline else [],
        "about_against": "Paired randomisation test with Holm's correction for all comparisons with the baseline. "
        "Effect size: Cohen's d_z. Intervals: 95 %, bootstrap over queries.",
        "types": queries.by_type(sweep),
        "about_types": "Held out: mean over queries that were not used for the choice, by repeated 5-fold "
        "cross-validation. Only a better held-out mean shows that a type needs its own configuration.",
        "unanswered": unanswered,
        "about_unanswered": f"Queries with the worst possible {sweep.metric_title} in every configuration: "
        f"{len(unanswered)} of {len(sweep.queries)}.",
        "item_columns": [name for name in sweep.queries if name not in TEXTS],
        "best": sweep.best_outcome,
        "disputed": queries.disputed(sweep),
        "about_disputed": queries.about_disputed(sweep),
        "dataset_findings": sweep.best_outcome.facts.findings,
        "commands": _commands(origin),
        "about_numbers": f"Dataset digest {sweep.best_outcome.facts.digest[:DIGITS]}; {sweep.resamples:,} "
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
            f"Means over {counted(len(sweep.queries), 'query')}. Intervals: 95 %, bootstrap over queries.",
            "Against the best: paired randomisation test, corrected for all pairs of configurations (max-T), because",
            "the best was chosen by the same queries. Tied: p > 0.05. The test measures how consistently the queries",
            "differ, so a configuration with a lower mean can be tied while one with a higher mean is worse. The",
            "interval of a difference is for this pair alone. Best in: share of bootstrap resamples of these queries",
            "in which the configuration has the best mean; this favours the luckier of equal configurations. Effect",
            "size: mean of the differences divided by their standard deviation (Cohen's d_z). More statistics:",
            "results/summary_statistics.csv.",
        )
    )


def _commands(origin: Origin) -> list[dict[str, str]]:
    lines = [{"what": "Run it again", "command": origin.command}]
    if origin.run_id:
        lines += [
            {
                "what": "Run it again and compare every number with the recorded one",
                "command": _command(["ragsweep", "reproduce", origin.run_id]),
            },
            {
                "what": "Compare it with other runs",
                "command": _command(["ragsweep", "compare", origin.run_id, "RUN_ID"]),
            },
        ]
    return lines


def _when(started: str) -> str:
    date, _, time = started.partition("_")
    return f"{date[:4]}-{date[4:6]}-{date[6:]} {time[:2]}:{time[2:4]}"
