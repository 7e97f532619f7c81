"""The files of a finished sweep: tables, charts, decision, and the report as one HTML page and as Markdown."""

from __future__ import annotations

import html
import shutil
import tempfile
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from ragsweep.core.csv_files import TEXT_COLUMNS, write_table
from ragsweep.core.drawing import Chart, drawing, save_charts
from ragsweep.core.project import command
from ragsweep.core.terminal import counted, counted_of_all, printable
from ragsweep.report.claims import evidence, headline
from ragsweep.report.decision_record import as_record, write_record
from ragsweep.report.decision_rows import Row, rows_of, summary_of, table_of_rows
from ragsweep.report.markup import code, markdown
from ragsweep.report.report_charts import captions_of, report_charts
from ragsweep.report.report_tables import (
    baseline_rows,
    cells,
    disputed,
    head_of_choice,
    level_rows,
    pair_rows,
    type_rows,
)
from ragsweep.report.sweep_charts import reference_charts
from ragsweep.report.value_words import at, joined
from ragsweep.statistics import affordable_resamples
from ragsweep.sweeps import Decision, Sweep
from ragsweep.tasks.systems.own_passages import RETURNED

if TYPE_CHECKING:
    from jinja2 import Environment

DIGITS = 12  # of a digest in the report
SYSTEMS_SHOWN = 10


@dataclass(frozen=True)
class Origin:
    """How a sweep was started.

    Attributes:
        command: The command that repeats the sweep.
        run_id: Run id of the sweep in the tracking store; empty if it is not in the store.
        commit: Git commit of the code, with a note if there are uncommitted changes; empty outside a git repository.
        started: Start time, YYYYMMDD_HHMMSS.
        addresses: The page of each run in MLflow by run id, where a browser can open it.
        across: The first sentence of the decision over all datasets of the sweep; empty if it has only one.
        store: The overrides with which a command finds the runs.
        places: The overrides with which a command finds the files that were measured.
    """

    command: str
    run_id: str
    commit: str
    started: str
    addresses: Mapping[str, str] = field(default_factory=dict)
    across: str = ""
    store: Sequence[str] = ()
    places: Sequence[str] = ()

    def explaining(self, run_id: str, query_id: object) -> str:
        """The command that shows what a run retrieved for a query."""
        return command("explain", run_id or "RUN_ID", query_id, *self.places, *self.store)


def write_sweep(folder: Path, decision: Decision, origin: Origin) -> None:
    """Write the tables, charts, decision and report of a sweep.

    Args:
        folder: The sweep's folder.
        decision: Its decision.
        origin: Command, run id, commit and start of the sweep.
    """
    results = folder / "results"
    results.mkdir(parents=True, exist_ok=True)
    summary = summary_of(decision)  # its tests are computed once, before the chart process gets its copy
    with drawing(folder / "charts", reference_charts, decision):
        write_table(results / "summary_statistics.csv", summary)
        if decision.pairs is not None:
            write_table(results / "pairs.csv", decision.pairs)
        write_record(folder / "decision.json", as_record(decision, origin.run_id))
    with drawing(folder / "charts", report_charts, decision) as charts:
        write_table(results / f"evaluation_results_{origin.started}.csv", decision.sweep.per_query)
    write_report(folder, decision, origin, charts)


def write_comparison(path: Path, decision: Decision, origin: Origin) -> None:
    """Write a comparison of runs as an HTML page.

    Args:
        path: Path of the page.
        decision: The decision between them.
        origin: How the comparison was started.
    """
    with tempfile.TemporaryDirectory() as folder:
        charts = save_charts(Path(folder) / "charts", report_charts, decision)
        write_report(Path(folder), decision, origin, charts)
        shutil.copyfile(Path(folder) / "report.html", path)


def write_report(folder: Path, decision: Decision, origin: Origin, charts: Sequence[Chart]) -> None:
    """Write `report.html` and `report.md` with the charts from `charts/`."""
    content = _content(decision, origin)
    captions = captions_of(decision)
    drawn = [
        {
            "name": chart.name,
            "title": chart.title,
            "caption": captions[chart.name],
            "data": b64encode((folder / "charts" / chart.name).read_bytes()).decode(),
        }
        for chart in charts
    ]
    write_pages(folder, "report", content | {"charts": drawn})


def write_pages(folder: Path, template: str, content: Mapping[str, Any]) -> None:
    """Write `report.html` and `report.md` by the templates of this name."""
    for name, escape in (("html", as_html), ("md", markdown)):
        text = environment(escape).get_template(f"{template}.{name}").render(content)
        (folder / f"report.{name}").write_text(text, encoding="utf-8")


@cache
def environment(escape: Callable[[object], str]) -> Environment:
    """Templates that escape every value, except those marked as `safe`."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("ragsweep.report"),
        finalize=escape,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["code"] = code
    return environment


def as_html(value: object) -> str:
    """Escape a value for a page. `Markup` comes from our own code and stays as it is."""
    return str(value) if isinstance(value, Markup) else html.escape(printable(str(value)))


def _content(decision: Decision, origin: Origin) -> dict[str, Any]:
    sweep, level = decision.sweep, decision.headline.allowed
    levels = [choice.allowed for choice in decision.choices.values()]
    baselines = [level for level in levels if level.fixed_baseline is not None]
    return {
        "title": _title(sweep),
        "facts": facts(f"{_measured(sweep)}, {_queries(sweep)}", origin),
        "across": origin.across,
        "dataset": sweep.dataset,
        "headline": headline(decision),
        "evidence": evidence(decision),
        "sections": {**(sweep.race.section if sweep.race else {}), **run_sections(decision)},
        "among": len(level.outcomes),
        "by_cutoff": cells(decision),
        "head_of_choice": head_of_choice(decision),
        "metric": sweep.metric_title,
        "cutoff": sweep.cutoff,
        "guessing": bool(decision.against_guessing),
        "rows": [*zip(table_of_rows(decision), _bars(decision, rows_of(decision)), strict=True)],
        "addresses": origin.addresses,
        "queries": _queries(sweep),
        "wilson": sweep.metric_info[sweep.decided_by].wilson,
        "grouped": sweep.groups.in_use,
        "pairs": pair_rows(decision),
        "against_baseline": baseline_rows(baselines[0]) if baselines else [],
        "types": type_rows(level),
        "levels": level_rows(decision),
        "choice": sweep.label(decision.named) if sweep.configurations > 1 else "",
        "at": at(sweep, decision.headline).strip(),
        "number": len(sweep.queries),
        "unanswered": [row for _, row in sweep.queries.iloc[decision.unanswered].iterrows()],
        "item_columns": [name for name in sweep.queries if name not in TEXT_COLUMNS],
        "best": decision.named,
        "disputed": disputed(level),
        "dataset_findings": decision.named.facts.findings,
        "commands": _commands(origin),
        "explaining": origin.explaining,
        "digest": decision.named.facts.dataset.digest[:DIGITS],
        "resamples": affordable_resamples(sweep.resamples, len(sweep.queries)),
        "seed": sweep.seed,
    }


def run_sections(decision: Decision) -> dict[str, Sequence[str]]:
    """The sections of the choice; those that only others have, such as routing, from the best one that has them.

    What a system returned is shown for each: it says whether its numbers can be trusted.
    """
    level, own = decision.headline.allowed, decision.named.facts.sections
    runs = [level.outcomes[position] for position in level.table["outcome"]]
    lacking = {heading: run for run in reversed(runs) for heading in run.facts.sections if heading not in own}
    systems = [run for run in runs if RETURNED in run.facts.sections and run is not decision.named]
    named = [*((RETURNED, run) for run in systems[:SYSTEMS_SHOWN]), *lacking.items()]
    shown = {f"{heading} ({run.name})": run.facts.sections[heading] for heading, run in named}
    if len(systems) > SYSTEMS_SHOWN:
        shown[f"{RETURNED} ({len(systems) - SYSTEMS_SHOWN} more)"] = ["results/evaluation.json of each run has it."]
    return {**own, **shown}


def _title(sweep: Sweep) -> str:
    return f"Which {joined([*map(sweep.short, sweep.axes)]) or 'configuration'} for {sweep.dataset}?"


def _bars(decision: Decision, rows: Sequence[Row]) -> Iterator[dict[str, Any]]:
    """How each row is marked, and the position of the bar of its interval: `left`, `width`, `middle`, in percent."""
    sweep, metric = decision.sweep, decision.sweep.decided_by
    ends = [[sweep.statistic(row.run, metric, end) for end in ("_low", "", "_high")] for row in rows]
    low, high = min(start for start, *_ in ends), max(end for *_, end in ends)
    scale = 100 / (high - low) if high > low else 0
    for row, (start, mean, end) in zip(rows, ends, strict=True):
        yield {
            "mark": "best" if row.is_best else row.verdict.partition(":")[0],
            "left": round((start - low) * scale, 1),
            "width": round((end - start) * scale, 1),
            "middle": round((mean - low) * scale, 1),
        }


def _measured(sweep: Sweep) -> str:
    """How many configurations were measured, and at how many cutoffs."""
    runs, cutoffs = len(sweep.outcomes), len(sweep.cutoffs)
    name = f"{sweep.cutoff}s" if sweep.budgeted else sweep.cutoff
    at = f" at {cutoffs} {name} ({counted(runs, 'run')})" if cutoffs > 1 else ""
    return f"{counted(sweep.configurations, 'configuration')}{at}"


def _queries(sweep: Sweep) -> str:
    """How many queries were measured, of how many."""
    groups = f" in {counted(sweep.groups.number, 'group')}" if sweep.groups.in_use else ""
    return counted_of_all(len(sweep.queries), sweep.outcomes[0].facts.dataset.left_out, "query") + groups


def _commands(origin: Origin) -> list[dict[str, str]]:
    lines = [{"what": "Run it again", "command": origin.command}]
    if origin.run_id:
        again = command("reproduce", origin.run_id, *origin.places, *origin.store)
        lines.append({"what": "Run it again and compare every number with the recorded one", "command": again})
    if origin.run_id and not origin.across:  # runs of several datasets cannot be compared
        compare = command("compare", origin.run_id, "RUN_ID", *origin.store)
        lines.append({"what": "Compare it with other runs", "command": compare})
    return lines


def facts(measured: str, origin: Origin) -> str:
    """What was measured, when, and by which code."""
    date, _, time = origin.started.partition("_")
    when = f"{date[:4]}-{date[4:6]}-{date[6:]} {time[:2]}:{time[2:4]}"
    return f"{measured}, {when}{f', commit {origin.commit}' if origin.commit else ''}"
