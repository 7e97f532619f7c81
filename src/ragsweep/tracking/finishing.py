"""The end of a sweep: collects its outcomes, writes its report and closes its parent run."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from psutil import Process

from ragsweep import report
from ragsweep.core.errors import first_line
from ragsweep.core.terminal import counted, duration
from ragsweep.sweeps import Decision, DecisionSettings, Sweep, decide
from ragsweep.sweeps.decision_settings import RECORDED
from ragsweep.tracking.description import describe
from ragsweep.tracking.orphans import close_open
from ragsweep.tracking.recorded_environment import code_version, write_environment
from ragsweep.tracking.run_record import RunRecord
from ragsweep.tracking.sweep_runs import collect, stored_sweep
from ragsweep.tracking.tracked_job import DECIDED, Job
from ragsweep.tracking.ui_addresses import look, run_address
from ragsweep.tracking.uploads import push_command, waiting
from ragsweep.tracking.view import save_view, sweep_address

ROOM = "&emsp;" * 3
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
    parent: RunRecord
    planned: Sequence[str]
    settings: DecisionSettings = RECORDED
    verbose: bool = False

    @property
    def stop(self) -> Path:
        """The file that tells jobs not to start. It exists only after the sweep was stopped."""
        return self.job.folder.parent / "stop"


def finish(sweep: OpenSweep, *, failed: bool) -> bool:
    """Close the parent run with a summary, and print what did not finish. Returns whether everything finished."""
    close_open(sweep.job, sweep.parent)
    store = stored_sweep(sweep.job, sweep.parent)
    results = collect(sweep.job, sweep.parent, sweep.planned, store, sweep.settings)
    datasets = [decide(each) for each in results.by_dataset]
    origin = _origin(sweep, results)
    folders = [
        sweep.job.folder / (f"dataset_{number}" if len(datasets) > 1 else "") for number in range(1, len(datasets) + 1)
    ]
    written = True
    try:
        texts = [report.write_sweep(folder, each, origin) for folder, each in zip(folders, datasets, strict=True)]
    except Exception as error:  # the runs are measured: the sweep is closed without its report
        failed, written, texts = True, False, [f"The report could not be written: {first_line(error)}\n"]
        print(f"ragsweep: {texts[0]}", end="", file=sys.stderr)
    failed = failed or bool(results.unfinished)
    text = "\n".join(texts) or "No run finished.\n"
    close_parent(sweep.parent, datasets, text, "FAILED" if failed else "FINISHED")
    print(f"the sweep took {duration(time.time() - Process().create_time())}")
    for folder, each in zip(folders, datasets, strict=True):  # last: a closed pipe would end the process
        print("", *report.summary(each, whole=sweep.verbose), sep="\n")
        if written:
            print(f"report: {folder / 'report.html'} (sweep {sweep.parent.run_id or 'not in the tracking store yet'})")
    for name, fate in results.unfinished.items():
        print(f"did not finish: {name} ({fate})", file=sys.stderr)
    missing = say_what_waits(sweep)
    if run_id := sweep.parent.run_id:
        saved = store is not None and save_view(store, run_id)
        decided_by = results.decided_by if results.outcomes else ""
        address = sweep_address(sweep.job.tracking, sweep.parent.experiment_id, run_id, decided_by, saved=saved)
        if store and len(datasets) == 1:
            describe(store.client, sweep.parent.experiment_id, run_id, *_answer(datasets[0]))
        print(*look(sweep.job.tracking), address, sep="\n")
    return not failed and not missing


def say_what_waits(sweep: OpenSweep) -> int:
    """Print how many runs are missing in the tracking store, and the command that uploads them. Returns the number."""
    folder, store = sweep.job.folder.parent, sweep.job.tracking
    if number := waiting(folder):
        print(
            f"not in the tracking store: {counted(number, 'run')} ({sweep.parent.trouble or 'it was out of reach'}); "
            f"all files are in {folder}: {push_command(folder, store.uri, store.artifacts)} uploads them",
            file=sys.stderr,
        )
    return number


def _origin(sweep: OpenSweep, results: Sweep) -> report.Origin:
    tracking, started = sweep.job.tracking, sweep.job.sweep_id.rpartition("_")[0]
    experiment = sweep.parent.experiment_id
    addresses = {run.run_id: run_address(tracking, experiment, run.run_id) for run in results.outcomes if run.run_id}
    return report.Origin(sweep.job.command, sweep.parent.run_id or "", code_version(), started, addresses)


def close_parent(parent: RunRecord, datasets: Sequence[Decision], description: str, status: str) -> None:
    """Upload the tables, charts and report of a sweep, log the decision, and end the parent run."""
    decided = {DECIDED: "true", **dict(_decided(datasets[0]))} if len(datasets) == 1 else {}
    parent.tag({**decided, "mlflow.note.content": _note(description)})
    if len(datasets) == 1:
        parent.log_numbers(dict(_numbers(datasets[0])), {})
        parent.rename(_answer(datasets[0])[0])
    write_environment(parent.folder)
    parent.log_files()
    parent.close(status)


def _answer(decision: Decision) -> tuple[str, str]:
    """The decision as a name, such as `alpha x k: alpha 0.5`, and as a sentence."""
    sweep = decision.sweep
    axes, label = [sweep.short(name) for name in sweep.axes], sweep.label(decision.named)
    answer = label.removeprefix(f"{axes[0]} ") if len(axes) == 1 else label
    return f"{' x '.join(axes) or 'sweep'}: {answer}", report.headline(decision)[0]


def _numbers(decision: Decision) -> Iterator[tuple[str, float]]:
    """The metrics of the parent run: everything measured of the named configuration, and what to expect of it."""
    yield "configurations", float(len(decision.sweep.outcomes))
    yield "tied", float(len(decision.headline.others))
    for name in decision.named.metrics:
        value = decision.named.value(name)
        if value is not None:
            yield f"best/{name}", value
    if decision.headline.expected is not None:
        yield f"expected/{decision.sweep.decided_by}", decision.headline.expected


def _note(text: str) -> str:
    """The report as the description of a run, cut at a line if it is longer than MLflow allows.

    MLflow shows tables without space between their columns, so spaces are added to the headings.
    """
    text = re.sub(r"^\|.*(?=\n\| --- )", lambda heads: heads[0].replace(" |", f"{ROOM}|"), text, flags=re.MULTILINE)
    if len(text) <= LONGEST_NOTE:
        return text
    return text[:LONGEST_NOTE].rpartition("\n")[0] + "\n\nThe whole table is in report.md.\n"


def _decided(decision: Decision) -> Iterator[tuple[str, str]]:
    """Tags for the named configuration: its settings, its interval, how many are tied with it, its expected score."""
    sweep, named = decision.sweep, decision.named
    for name in sweep.swept:
        yield f"best.{name}", str(named.paths.get(name, decision.best[name]))
    yield "best.configuration", named.name
    for end in ("", "_low", "_high"):
        yield f"best.{sweep.decided_by}{end}", f"{sweep.statistic(named, sweep.decided_by, end):.6f}"
    yield "best.tied", str(len(decision.headline.others))
    if decision.headline.expected is not None:
        yield "best.expected", f"{decision.headline.expected:.6f}"
