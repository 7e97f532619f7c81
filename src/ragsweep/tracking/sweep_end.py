"""The end of a sweep: collects its outcomes, writes its report, closes its parent run and uploads what has to wait."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from hydra.core.override_parser.overrides_parser import OverridesParser
from mlflow import MlflowClient
from psutil import Process

from ragsweep import report
from ragsweep.core.digest import shortened_with_digest
from ragsweep.core.errors import TrackingError, first_line
from ragsweep.core.project import command
from ragsweep.core.terminal import counted, duration
from ragsweep.report.markup import markdown
from ragsweep.sweeps import AcrossDatasets, Decision, DecisionSettings, Sweep, decide_each
from ragsweep.sweeps.decision_settings import RECORDED
from ragsweep.sweeps.race_record import RaceRecord
from ragsweep.tracking.client import absolute_artifacts
from ragsweep.tracking.decision_tags import Answer, answer_across, answer_of, tag_runs
from ragsweep.tracking.journal import FILE, NOTE, Journal, journals_below, upload
from ragsweep.tracking.mlflow_names import LONGEST_MLFLOW_NAME
from ragsweep.tracking.recorded_environment import code_version, write_environment
from ragsweep.tracking.run_owner import has_ended
from ragsweep.tracking.run_record import close_open
from ragsweep.tracking.store_address import (
    absolute,
    how_to_open,
    is_server,
    link_to_artifact,
    run_address,
    store_overrides,
    ui_of,
)
from ragsweep.tracking.sweep_runs import collect, stored_runs, sweep_runs
from ragsweep.tracking.tracked_job import DECIDED, HEADLINE, PARENT, Job
from ragsweep.tracking.tracking_store import UNREACHABLE, check_uri, existing_store
from ragsweep.tracking.view import BY_HAND, save_view, sweep_address

ROOM = "&emsp;" * 2  # between the columns of a table: MLflow leaves none
LONGEST_FOLDER_NAME = 80  # characters


@dataclass(frozen=True)
class OpenSweep:
    """A sweep that has begun.

    Attributes:
        job: The job that describes it.
        parent: Its parent run.
        planned: The names of its jobs; empty if they are not known.
        settings: How it will be decided. Without a metric, the one recorded in the runs decides.
        verbose: Whether to print the whole table at the end.
        race: The race between its jobs; None if there was none.
    """

    job: Job
    parent: Journal
    planned: Sequence[str]
    settings: DecisionSettings = RECORDED
    verbose: bool = False
    race: RaceRecord | None = None

    @property
    def stop(self) -> Path:
        """The file that tells jobs not to start. It exists only after the sweep was stopped."""
        return self.job.folder.parent / "stop"


def finish(sweep: OpenSweep, *, failed: bool) -> bool:
    """Close the parent run with a summary, and print what did not finish. Returns whether everything finished."""
    folder, tracking, parent = sweep.job.folder.parent, sweep.job.tracking, sweep.parent
    if missing_runs(folder):
        with suppress(TrackingError):  # the store may answer again by now
            push(folder, tracking.uri, tracking.artifacts)
    close_open(sweep.job, parent)
    stored = stored_runs(sweep.job, parent)
    experiment_of = {run.run_id: run.experiment_id for run in stored or ()}
    results = collect(sweep.job, parent, sweep.planned, stored, sweep.settings)
    decisions = decide_each(replace(results, race=sweep.race))
    across = AcrossDatasets(decisions, results.unfinished) if len(decisions) > 1 else None
    answer, problem = _answered(sweep, decisions, across, _origin(sweep, results, experiment_of))
    failed = failed or bool(problem or results.unfinished)
    if answer.name:
        parent.name = shortened_with_digest(answer.name, LONGEST_MLFLOW_NAME)
    at, run_id = _cutoff_shown(decisions), parent.run_id
    saved = stored is not None and run_id is not None and save_view(tracking.uri, stored, run_id, at, parent.name)
    page = partial(sweep_address, decided_by=results.decided_by if results.outcomes else "", saved=saved)
    shown = _experiments(parent, across, experiment_of)
    pages = {names: page(experiment, run_id) for names, experiment in shown if run_id}
    close_parent(parent, answer, problem, pages, "FAILED" if failed else "FINISHED")
    print(f"the sweep took {duration(time.time() - Process().create_time())}")
    _print_decisions(sweep, decisions, across)
    if decisions and not problem:
        report_file = sweep.job.folder / "report.html"
        print(f"report: {report_file} (sweep {parent.run_id or 'not in the tracking store yet'})")
    for name, status in results.unfinished.items():
        print(f"did not finish: {name} ({status})", file=sys.stderr)
    if parent.run_id:
        tag_runs(tracking.uri, folder, stored, decisions, across)
    missing = print_missing_runs(sweep)
    if run_id := parent.run_id:
        lines = how_to_open(tracking)
        lines += [f"the decision: {run_address(tracking, parent.experiment_id, run_id)}"] if across else []
        # anew: a store that was away has given ids only now
        for names, experiment in _experiments(parent, across, experiment_of):
            lines.append(f"{names}{ui_of(tracking.uri)}/{page(experiment, run_id)}{BY_HAND if saved else ''}")
        print(*lines, sep="\n")
    return not failed and not missing


def _answered(
    sweep: OpenSweep, decisions: Sequence[Decision], across: AcrossDatasets | None, origin: report.Origin
) -> tuple[Answer, str]:
    """Write the report. Returns the answer, and why the report could not be written: the sweep is closed without it."""
    folder, answer = sweep.job.folder, Answer()
    try:
        if across:
            answer = answer_across(across)
            folders = [folder / "datasets" / name for name in folder_names(across.names)]
            report.write_across(folder, across, folders, origin)
        elif decisions:
            answer = answer_of(decisions[0])
            report.write_sweep(folder, decisions[0], origin)
        return answer, ""
    except Exception as error:
        problem = f"The report could not be written: {first_line(error)}"
        print(f"ragsweep: {problem}", file=sys.stderr)
        return answer, problem


def _print_decisions(sweep: OpenSweep, decisions: Sequence[Decision], across: AcrossDatasets | None) -> None:
    """Print what was decided; after the parent run is closed, as a closed pipe ends the process."""
    if across:
        print("", *report.across_summary(across), sep="\n")
    for place, decision in enumerate(decisions):
        heading = report.alone(across, place) if across else ""
        print(heading, *report.summary(decision, verbose=sweep.verbose), sep="\n")


def print_missing_runs(sweep: OpenSweep) -> int:
    """Print how many runs are missing in the tracking store, and the command that uploads them. Returns the number."""
    folder, store = sweep.job.folder.parent, sweep.job.tracking
    if number := missing_runs(folder):
        print(
            f"not in the tracking store: {counted(number, 'run')} ({sweep.parent.trouble or 'it was out of reach'}); "
            f"all files are in {folder}: {push_command(folder, store.uri, store.artifacts)} uploads them",
            file=sys.stderr,
        )
    elif trouble := sweep.parent.trouble:
        print(f"the record of the sweep is not complete ({trouble}), and cannot be uploaded later", file=sys.stderr)
        return 1
    return number


def _origin(sweep: OpenSweep, results: Sweep, experiment_of: Mapping[str, str]) -> report.Origin:
    tracking, parent, started = sweep.job.tracking, sweep.parent, sweep.job.sweep_id.rpartition("_")[0]
    ids = [run.run_id for run in results.outcomes if run.run_id]
    addresses = {run: run_address(tracking, experiment_of.get(run, parent.experiment_id), run) for run in ids}
    run_id, store, places = parent.run_id or "", store_overrides(tracking), _places(sweep.job.overrides)
    return report.Origin(sweep.job.command, run_id, code_version(), started, addresses, store=store, places=places)


def _places(overrides: Sequence[str]) -> list[str]:
    """The overrides that name files and servers of the user, which a record alone may not open."""
    parsed = OverridesParser.create().parse_overrides(list(overrides))
    return [
        f"{override.key_or_group}={override.get_value_element_as_str()}"
        for override in parsed
        if not override.is_sweep_override() and isinstance(override.value(), str) and "/" in str(override.value())
        if "." in override.key_or_group and not override.key_or_group.startswith(("tracking.", "store.", "hydra."))
    ]


def _experiments(
    parent: Journal, across: AcrossDatasets | None, experiment_of: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """The names of the datasets whose runs an experiment shows, with its id; no names if there is one experiment."""
    names: dict[str, list[str]] = {}
    for name, decision in zip(across.names, across.decisions, strict=True) if across else ():
        names.setdefault(experiment_of.get(decision.named.run_id, parent.experiment_id), []).append(name)
    if len(names) < 2:
        yield "", next(iter(names), parent.experiment_id)
        return
    for experiment_id, of_datasets in names.items():
        yield f"{', '.join(of_datasets)}: ", experiment_id


def folder_names(names: Sequence[str]) -> list[str]:
    """A name of a folder for each dataset, which may have any name."""
    plain = [re.sub(r"[^\w-]+", "_", name) for name in names]
    return [
        f"{shortened_with_digest(text, LONGEST_FOLDER_NAME)}{f'_{place}' if plain.count(text) > 1 else ''}"
        for place, text in enumerate(plain, start=1)
    ]


def close_parent(parent: Journal, answer: Answer, problem: str, pages: Mapping[str, str], status: str) -> None:
    """Upload the tables, charts and report of a sweep, log the decision, and end the parent run."""
    links = {f"{names}runs and charts": page for names, page in pages.items()}
    if parent.run_id and (parent.folder / "report.html").exists():
        links = {"report.html": link_to_artifact(parent.experiment_id, parent.run_id, "report.html"), **links}
    parent.tag({NOTE: _note([problem], (), links) if problem else _note(answer.sentences, answer.rows, links)})
    if answer.name:
        parent.tag({DECIDED: "true", HEADLINE: answer.headline, **answer.tags})
        parent.log({}, {(name, 0): value for name, value in answer.numbers.items()})
    write_environment(parent.folder)
    parent.add(*(path.name for path in sorted(parent.folder.iterdir()) if not path.name.endswith(FILE)))
    parent.close(status)


def _note(sentences: Sequence[str], rows: Sequence[Sequence[str]], links: Mapping[str, str]) -> str:
    """The description of a sweep. MLflow folds it after three lines."""
    first, *rest = map(markdown, sentences)
    linked = ", ".join(f"[{markdown(text)}]({page})" for text, page in links.items())
    table = [f"| {f'{ROOM} | '.join(map(markdown, row))} |" for row in rows]
    table[1:1] = ["| :--- " * len(rows[0]) + "|"] if table else []
    return "\n\n".join(filter(None, (f"**{first}**", linked, *rest, "\n".join(table))))


def _cutoff_shown(datasets: Sequence[Decision]) -> tuple[str, int] | None:
    """The cutoff of the headline, if several configurations were measured at several; None shows all runs."""
    if len(datasets) != 1 or len(datasets[0].choices) == 1:
        return None
    sweep, value = datasets[0].sweep, datasets[0].headline.cutoff
    several = len(sweep.at(value).outcomes) > 1
    return (sweep.cutoff, value) if sweep.cutoff and value is not None and several else None


class Pushed(NamedTuple):
    """The result of an upload.

    Attributes:
        uploaded: How many runs were uploaded.
        refused: Runs that could not be uploaded, by folder, with the reason.
        elsewhere: Runs that belong to another store: their journals by folder.
    """

    uploaded: int
    refused: Mapping[Path, str]
    elsewhere: Mapping[Path, Journal]


def missing_runs(folder: Path) -> int:
    """How many runs below a folder are missing in the store or not complete there."""
    return sum(not journal.uploaded for _, journal in journals_below(folder))


def push_command(folder: Path, uri: str, artifacts: str | None) -> str:
    """The command that uploads the runs of a folder."""
    place = ["--artifacts", absolute_artifacts(artifacts)] if artifacts and not is_server(uri) else []
    return command("push", folder, "--uri", absolute(uri), *place)


def push(folder: Path, uri: str | None, artifacts: str | None) -> Pushed:
    """Upload the runs below a folder that are missing in a store or not complete there.

    The store is never taken from a journal, because anybody may have written it. The journal only says which store a
    run belongs to.

    Args:
        folder: The folder of a run, of a sweep, or of several.
        uri: The store. It gets only runs that belong to it. None uploads nothing.
        artifacts: Folder or cloud address for the artifacts of a new experiment in a local store.

    Raises:
        TrackingError: The store still does not answer.
    """
    ours: dict[Path, Journal] = {}
    refused: dict[Path, str] = {}
    elsewhere: dict[Path, Journal] = {}
    for place, journal in journals_below(folder, refused):
        if not journal.uploaded:
            is_ours = uri is not None and absolute(journal.uri) == absolute(uri)
            (ours if is_ours else elsewhere)[place] = journal
    if uri is not None and ours:
        check_uri(uri, artifacts)
    parents = set()
    for place, journal in ours.items():
        try:
            _upload(journal, place, artifacts)
            parents.add(journal.tags.get(PARENT) or str(journal.run_id))
        except (TrackingError, *UNREACHABLE) as error:
            refused[place] = f"{place}: {first_line(error)}"
    for parent in parents:  # last, when all runs of the sweep are uploaded
        with suppress(TrackingError, ValueError, *UNREACHABLE):  # anybody may have written the runs
            save_view(str(uri), list(sweep_runs(MlflowClient(uri), parent)), parent)
    return Pushed(len(ours.keys() - refused.keys()), refused, elsewhere)


def _upload(journal: Journal, folder: Path, artifacts: str | None) -> None:
    if journal.status == "RUNNING":
        if not has_ended(journal.tags.get("process")):
            raise TrackingError("is still running, or ran on another machine")
        journal.status = "KILLED"
    journal.artifacts = artifacts
    if artifacts is None and not is_server(journal.uri):
        experiment = None
        with suppress(FileNotFoundError):
            experiment = existing_store(journal.uri).get_experiment_by_name(journal.experiment)
        if experiment is None:
            new = f"its experiment {journal.experiment!r} is new in {journal.uri}"
            raise TrackingError(f"{new}: --artifacts says where to keep its files")
    upload(journal, folder)
