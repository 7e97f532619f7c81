"""The end of a sweep: collects its outcomes, writes its report and closes its parent run."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from hydra.core.override_parser.overrides_parser import OverridesParser
from psutil import Process

from ragsweep import report
from ragsweep.core.digest import shortened_with_digest
from ragsweep.core.errors import TrackingError, first_line
from ragsweep.core.terminal import counted, duration
from ragsweep.sweeps import AcrossDatasets, Decision, DecisionSettings, Sweep, decide_each
from ragsweep.sweeps.decision_settings import RECORDED
from ragsweep.tracking.address import how_to_open, link_to_report, run_address, store_overrides, ui_of
from ragsweep.tracking.journal import FILE, Journal
from ragsweep.tracking.names import LONGEST_MLFLOW_NAME
from ragsweep.tracking.parent_answer import Answer, answer_across, answer_of
from ragsweep.tracking.recorded_environment import code_version, write_environment
from ragsweep.tracking.run_record import close_open
from ragsweep.tracking.stored_run import StoredRun
from ragsweep.tracking.sweep_runs import collect, stored_runs
from ragsweep.tracking.tracked_job import DECIDED, HEADLINE, Job
from ragsweep.tracking.uploads import describe_decision, push, push_command, waiting
from ragsweep.tracking.verdicts import note_verdicts, tag_runs
from ragsweep.tracking.view import save_view, sweep_address

ROOM = "&emsp;" * 3
LONGEST_FOLDER_NAME = 80  # characters
LONGEST_NOTE = 7000  # characters; MLflow cuts a tag at 8000


@dataclass(frozen=True)
class OpenSweep:
    """A sweep that has begun.

    Attributes:
        job: The job that describes it.
        parent: Its parent run.
        planned: The names of its jobs; empty if they are not known.
        settings: How it will be decided. Without a metric, the one recorded in the runs decides.
        verbose: Whether to print the whole table at the end.
    """

    job: Job
    parent: Journal
    planned: Sequence[str]
    settings: DecisionSettings = RECORDED
    verbose: bool = False

    @property
    def stop(self) -> Path:
        """The file that tells jobs not to start. It exists only after the sweep was stopped."""
        return self.job.folder.parent / "stop"


def finish(sweep: OpenSweep, *, failed: bool) -> bool:
    """Close the parent run with a summary, and print what did not finish. Returns whether everything finished."""
    folder, tracking = sweep.job.folder.parent, sweep.job.tracking
    if waiting(folder):
        with suppress(TrackingError):  # the store may answer again by now
            push(folder, tracking.uri, tracking.artifacts)
    close_open(sweep.job, sweep.parent)
    stored = stored_runs(sweep.job, sweep.parent)
    results = collect(sweep.job, sweep.parent, sweep.planned, stored, sweep.settings)
    decisions = decide_each(results)
    across = AcrossDatasets(decisions, results.unfinished) if len(decisions) > 1 else None
    written = _written(sweep, decisions, across, _origin(sweep, results, stored))
    failed = failed or not written.whole or bool(results.unfinished)
    close_parent(sweep.parent, written.answer, written.text, "FAILED" if failed else "FINISHED")
    print(f"the sweep took {duration(time.time() - Process().create_time())}")
    _print_decisions(sweep, decisions, across)
    if decisions and written.whole:
        report_file = sweep.job.folder / "report.html"
        print(f"report: {report_file} (sweep {sweep.parent.run_id or 'not in the tracking store yet'})")
    for name, status in results.unfinished.items():
        print(f"did not finish: {name} ({status})", file=sys.stderr)
    if run_id := sweep.parent.run_id:
        note_verdicts(folder, decisions, across, all_runs=stored is None)
        if stored is not None:
            tag_runs(tracking.uri, stored, decisions, across)
    missing = say_what_waits(sweep)
    if run_id:
        saved = stored is not None and save_view(tracking.uri, stored, run_id, _cutoff_shown(decisions))
        if sweep.parent.uploaded:
            describe_decision(sweep.parent)
        decided_by = results.decided_by if results.outcomes else ""
        print(*_addresses(sweep, across, stored, decided_by, saved=saved), sep="\n")
    return not failed and not missing


class _Written(NamedTuple):
    """What was written of a sweep: its decision, its description, and whether it has its whole report."""

    answer: Answer | None
    text: str
    whole: bool


def _written(
    sweep: OpenSweep, decisions: Sequence[Decision], across: AcrossDatasets | None, origin: report.Origin
) -> _Written:
    """Write the report. A sweep whose runs are measured is closed without it if that fails."""
    folder, answer = sweep.job.folder, None
    try:
        if across:
            answer = answer_across(across)
            folders = [folder / "datasets" / name for name in folder_names(across.names)]
            return _Written(answer, report.write_across(folder, across, folders, origin), whole=True)
        if not decisions:
            return _Written(None, "No run finished.\n", whole=True)
        answer = answer_of(decisions[0])
        return _Written(answer, report.write_sweep(folder, decisions[0], origin), whole=True)
    except Exception as error:
        text = f"The report could not be written: {first_line(error)}\n"
        print(f"ragsweep: {text}", end="", file=sys.stderr)
        return _Written(answer, text, whole=False)


def _print_decisions(sweep: OpenSweep, decisions: Sequence[Decision], across: AcrossDatasets | None) -> None:
    """Print what was decided; after the parent run is closed, as a closed pipe ends the process."""
    if across:
        print("", *report.across_summary(across), sep="\n")
    for place, each in enumerate(decisions):
        heading = report.alone(across, place) if across else ""
        print(heading, *report.summary(each, whole=sweep.verbose), sep="\n")


def _addresses(
    sweep: OpenSweep,
    across: AcrossDatasets | None,
    stored: Sequence[StoredRun] | None,
    decided_by: str,
    *,
    saved: bool,
) -> Iterator[str]:
    """How to see the sweep in MLflow."""
    tracking, run_id = sweep.job.tracking, sweep.parent.run_id or ""
    yield from how_to_open(tracking)
    if across:
        yield f"the decision: {run_address(tracking, sweep.parent.experiment_id, run_id)}"
    for names, experiment_id in _experiments(sweep, across, stored).items():
        yield f"{names}{sweep_address(ui_of(tracking.uri), experiment_id, run_id, decided_by, saved=saved)}"


def say_what_waits(sweep: OpenSweep) -> int:
    """Print how many runs are missing in the tracking store, and the command that uploads them. Returns the number."""
    folder, store = sweep.job.folder.parent, sweep.job.tracking
    if number := waiting(folder):
        print(
            f"not in the tracking store: {counted(number, 'run')} ({sweep.parent.trouble or 'it was out of reach'}); "
            f"all files are in {folder}: {push_command(folder, store.uri, store.artifacts)} uploads them",
            file=sys.stderr,
        )
    elif trouble := sweep.parent.trouble:
        print(f"the record of the sweep is not complete ({trouble}), and cannot be uploaded later", file=sys.stderr)
        return 1
    return number


def _origin(sweep: OpenSweep, results: Sweep, stored: Sequence[StoredRun] | None) -> report.Origin:
    tracking, started = sweep.job.tracking, sweep.job.sweep_id.rpartition("_")[0]
    known = _experiment_of_each(stored)
    ids = [run.run_id for run in results.outcomes if run.run_id]
    addresses = {run: run_address(tracking, known.get(run, sweep.parent.experiment_id), run) for run in ids}
    run_id, store, places = sweep.parent.run_id or "", store_overrides(tracking), _places(sweep.job.overrides)
    return report.Origin(sweep.job.command, run_id, code_version(), started, addresses, store=store, places=places)


def _places(overrides: Sequence[str]) -> list[str]:
    """The overrides that name files and servers of the user, which a record alone may not open."""
    parsed = OverridesParser.create().parse_overrides(list(overrides))
    own = [each for each in parsed if "." in each.key_or_group and not each.is_sweep_override()]
    named = [each for each in own if isinstance(each.value(), str) and "/" in str(each.value())]
    others = [each for each in named if each.key_or_group.partition(".")[0] not in ("tracking", "store", "hydra")]
    return [f"{each.key_or_group}={each.get_value_element_as_str()}" for each in others]


def _experiment_of_each(stored: Sequence[StoredRun] | None) -> dict[str, str]:
    """The id of each run's experiment, by the run's id."""
    return {each.run_id: each.experiment_id for each in stored or ()}


def _experiments(sweep: OpenSweep, across: AcrossDatasets | None, stored: Sequence[StoredRun] | None) -> dict[str, str]:
    """The ids of the experiments that show the runs, each by the names of its datasets, or by nothing."""
    names: dict[str, list[str]] = {}
    known = _experiment_of_each(stored)
    for name, decision in zip(across.names, across.decisions, strict=True) if across else ():
        names.setdefault(known.get(decision.named.run_id, sweep.parent.experiment_id), []).append(name)
    if len(names) < 2:
        return {"": next(iter(names), sweep.parent.experiment_id)}
    return {f"{', '.join(some)}: ": experiment for experiment, some in names.items()}


def folder_names(names: Sequence[str]) -> list[str]:
    """A name of a folder for each dataset, which may have any name."""
    plain = [re.sub(r"[^\w-]+", "_", name) for name in names]
    return [
        f"{shortened_with_digest(text, LONGEST_FOLDER_NAME)}{f'_{place}' if plain.count(text) > 1 else ''}"
        for place, text in enumerate(plain, start=1)
    ]


def close_parent(parent: Journal, answer: Answer | None, description: str, status: str) -> None:
    """Upload the tables, charts and report of a sweep, log the decision, and end the parent run."""
    decided = {DECIDED: "true", HEADLINE: answer.sentence, **answer.tags} if answer else {}
    if answer and parent.run_id:
        link = f" [report.html]({link_to_report(parent.experiment_id, parent.run_id)})\n"
        description = description.replace("\n", link, 1)  # beside the heading: MLflow folds what follows
    parent.tag({**decided, "mlflow.note.content": _note(description)})
    if answer:
        parent.log({}, {(name, 0): value for name, value in answer.numbers.items()})
        parent.name = shortened_with_digest(answer.name, LONGEST_MLFLOW_NAME)
    write_environment(parent.folder)
    parent.add(*(path.name for path in sorted(parent.folder.iterdir()) if not path.name.endswith(FILE)))
    parent.close(status)


def _note(text: str) -> str:
    """The report as the description of a run, cut at a line if it is longer than MLflow allows.

    MLflow shows tables without space between their columns, so spaces are added to the headings.
    """
    text = re.sub(r"^\|.*(?=\n\| --- )", lambda heads: heads[0].replace(" |", f"{ROOM}|"), text, flags=re.MULTILINE)
    if len(text) <= LONGEST_NOTE:
        return text
    return text[:LONGEST_NOTE].rpartition("\n")[0] + "\n\nThe whole table is in report.md.\n"


def _cutoff_shown(datasets: Sequence[Decision]) -> tuple[str, int] | None:
    """The cutoff of the headline, if several configurations were measured at several; None shows all runs."""
    if len(datasets) != 1 or len(datasets[0].choices) == 1:
        return None
    sweep, value = datasets[0].sweep, datasets[0].headline.cutoff
    several = len(sweep.at(value).outcomes) > 1
    return (sweep.cutoff, value) if sweep.cutoff and value is not None and several else None
