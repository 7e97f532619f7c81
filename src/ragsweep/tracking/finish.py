"""The end of a sweep: collects its outcomes, writes its report and closes its parent run."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ragsweep import report
from ragsweep.core.errors import first_line
from ragsweep.core.terminal import counted
from ragsweep.sweeps import Sweep
from ragsweep.tracking.environment import code_version, write_environment
from ragsweep.tracking.job import Job
from ragsweep.tracking.orphans import close_open
from ragsweep.tracking.record import RunRecord
from ragsweep.tracking.sweep_runs import collect, stored_sweep
from ragsweep.tracking.ui import server_hint
from ragsweep.tracking.uploads import push_command, waiting
from ragsweep.tracking.view import save_view, sweep_address

ROOM = "&emsp;" * 3
LONGEST_NOTE = 7000  # characters; MLflow cuts a tag at 8000


@dataclass(frozen=True)
class OpenSweep:
    """A sweep that has begun: the job that describes it, its parent run, and the names of its jobs if known."""

    job: Job
    parent: RunRecord
    planned: Sequence[str]

    @property
    def stop(self) -> Path:
        """The file that tells jobs not to start. It exists only after the sweep was stopped."""
        return self.job.folder.parent / "stop"


def finish(sweep: OpenSweep, *, failed: bool) -> bool:
    """Close the parent run with a summary, and print what did not finish. Returns whether everything finished."""
    close_open(sweep.job, sweep.parent)
    store = stored_sweep(sweep.job, sweep.parent)
    results = collect(sweep.job, sweep.parent, sweep.planned, store)
    started = sweep.job.sweep_id.rpartition("_")[0]
    origin = report.Origin(sweep.job.command, sweep.parent.run_id or "", code_version(), started)
    datasets = results.by_dataset
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
    close_parent(sweep.parent, results, text, "FAILED" if failed else "FINISHED")
    for folder, each in zip(folders, datasets, strict=True):  # last: a closed pipe would end the process
        print(f"\n{report.terminal_table(each)}\n", *report.decision(each), sep="\n")
        if written:
            print(f"report: {folder / 'report.html'} (sweep {sweep.parent.run_id or 'not in the tracking store yet'})")
    for name, fate in results.unfinished.items():
        print(f"did not finish: {name} ({fate})", file=sys.stderr)
    missing = say_what_waits(sweep)
    if run_id := sweep.parent.run_id:
        saved = store is not None and save_view(store, run_id)
        decided_by = results.decided_by if results.outcomes else ""
        address = sweep_address(sweep.job.tracking, sweep.parent.experiment_id, run_id, decided_by, saved=saved)
        print(f"{address}{server_hint(sweep.job.tracking)}")
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


def close_parent(parent: RunRecord, sweep: Sweep, description: str, status: str) -> None:
    """Upload the tables, charts and report of a sweep, write the decision into tags, and end the parent run."""
    datasets = sweep.by_dataset
    decided = dict(_decision(datasets[0])) if len(datasets) == 1 else {}
    parent.tag({**decided, "mlflow.note.content": _note(description)})
    write_environment(parent.folder)
    parent.log_files()
    parent.close(status)


def _note(report: str) -> str:
    """The report as the description of a run, cut at a line if it is longer than MLflow allows.

    MLflow shows tables without space between their columns, so spaces are added to the headings.
    """
    report = re.sub(r"^\|.*(?=\n\| --- )", lambda heads: heads[0].replace(" |", f"{ROOM}|"), report, flags=re.MULTILINE)
    if len(report) <= LONGEST_NOTE:
        return report
    return report[:LONGEST_NOTE].rpartition("\n")[0] + "\n\nThe whole table is in report.md.\n"


def _decision(sweep: Sweep) -> Iterator[tuple[str, str]]:
    """Tags for the best configuration: its settings, its interval, how many are tied with it, its expected score."""
    best, metric, decision = sweep.best, sweep.decided_by, sweep.decision
    for name in sweep.swept:
        yield f"best.{name}", str(best[name])
    yield "best.configuration", best["name"]
    for name in (metric, f"{metric}_low", f"{metric}_high"):
        yield f"best.{name}", f"{best[name]:.6f}"
    yield "best.tied", str(len(sweep.tied) - 1)
    if decision.selection:
        yield "best.expected", f"{decision.selection.expected:.6f}"
