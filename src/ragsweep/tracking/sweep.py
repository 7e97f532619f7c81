"""The life of a sweep in MLflow: a parent run, opened before the first job and closed after the last."""

from __future__ import annotations

import re
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from mlflow import MlflowClient
from mlflow.entities import Run
from omegaconf import DictConfig

from ragsweep.config import rules_of_settings
from ragsweep.errors import TrackingError, first_line
from ragsweep.parsing import MalformedError, from_json
from ragsweep.report.csv_files import read_per_query
from ragsweep.report.facts import read_facts
from ragsweep.report.sweep import DECIDED_BY, Outcome, Sweep
from ragsweep.tracking import journal as journals
from ragsweep.tracking.conditions import tagged
from ragsweep.tracking.environment import write_environment
from ragsweep.tracking.journal import LAST
from ragsweep.tracking.names import json_tag
from ragsweep.tracking.process import forget_ended, is_gone
from ragsweep.tracking.run import DIGEST, NUMBER, PARENT, PROCESS, SWEPT, Job, RunRecord
from ragsweep.tracking.store import UNREACHABLE, existing_store, open_store

PAGE = 1000
LATEST = "attributes.start_time DESC"
ROOM = "&emsp;" * 3
LONGEST_NOTE = 7000  # characters; MLflow cuts a tag at 8000
PER_QUERY, FACTS = "results/per_query.csv", "results/evaluation.json"
LONGEST_NUMBER = 9  # digits of a job's number
UNREADABLE = (ValueError, TrackingError, *UNREACHABLE)  # what reading a run's results raises where they are damaged
JOINED = "sweep.joined."  # tags of a parent run: finished runs of other sweeps, each under the number of its job

Swept = Mapping[str, bool | int | float | str | None]  # settings with their values


class Part(NamedTuple):
    """A run of a sweep as the store has it, by the number, name and swept values that its job has in this sweep."""

    number: int
    name: str
    swept: Swept
    run: Run
    damage: str = ""  # why what the run says of its job cannot be read


class Member(NamedTuple):
    """A job of a sweep: its number, its name, how it ended, what was swept, its settings and where its results are."""

    number: int
    name: str
    run_id: str
    status: str
    swept: Swept
    settings: Mapping[str, str]
    results: Path | MlflowClient
    damage: str = ""

    @property
    def outcome(self) -> Outcome:
        """The finished job, with what it measured.

        Raises:
            MalformedError: Something of its record is not what a run writes.
        """
        if isinstance(self.results, Path):
            return self._read(self.results / PER_QUERY, self.results / FACTS)
        with tempfile.TemporaryDirectory() as folder:
            files = (self.results.download_artifacts(self.run_id, name, folder) for name in (PER_QUERY, FACTS))
            return self._read(*map(Path, files))

    def _read(self, per_query: Path, facts: Path) -> Outcome:
        if self.damage:
            raise MalformedError(self.damage)
        for name in ("k", "seed", "evaluation.resamples"):
            found, rule = self.settings.get(name, "")[:40], rules_of_settings()[name]
            if not found.isdecimal() or not rule.accepts(int(found)):
                raise MalformedError(f"{name}: found {found!r}, expected {rule.expected}")
        if "dataset.name" not in self.settings:
            raise MalformedError("dataset.name is missing")
        measured = read_per_query(per_query)
        if DECIDED_BY not in measured:
            raise MalformedError(f"{per_query.name} has no column {DECIDED_BY}")
        return Outcome(self.name, self.run_id, self.swept, self.settings, measured, read_facts(facts))


class Stored(NamedTuple):
    """What the store has of a sweep: its runs, and a client that reads more of them."""

    client: MlflowClient
    runs: Sequence[Part]

    def members(self) -> Iterator[Member]:
        """The runs as jobs of the sweep, whose results are in the store."""
        return (member(self.client, part) for part in self.runs)


def close_orphans(tracking: DictConfig) -> None:
    """Close as KILLED the runs that processes of this host have left open because they were killed."""
    client, _ = _open(tracking)
    for run in search(client, "attributes.status = 'RUNNING'"):
        if is_gone(run.data.tags.get(PROCESS)):
            with suppress(*UNREACHABLE):  # it may be another user's, or deleted by now
                client.set_tag(run.info.run_id, "error", "the process ended without closing the run")
                client.set_terminated(run.info.run_id, "KILLED")
    forget_ended()


def close_open(job: Job, parent: RunRecord) -> None:
    """Close as KILLED the runs that are still open when the sweep is over: their workers are gone."""
    with suppress(TrackingError, *UNREACHABLE):
        client, _ = _open(job.tracking)
        for run in search(client, f"{tagged(PARENT, parent.run_id)} AND attributes.status = 'RUNNING'"):
            with suppress(*UNREACHABLE):
                client.set_terminated(run.info.run_id, "KILLED")


def unfinished_sweep(job: Job) -> Run | None:
    """The latest parent run of a sweep of the same jobs that nobody is working on."""
    client, experiment_id = _open(job.tracking)
    ended = f"{tagged(DIGEST, job.digest)} AND attributes.status != 'RUNNING'"
    found = client.search_runs([experiment_id], ended, order_by=[LATEST])
    return next((run for run in found if PARENT not in run.data.tags and _is_ours(run)), None)


def _is_ours(run: Run) -> bool:
    started = run.info.start_time or 0
    return 0 < started < LAST and bool(re.fullmatch(r"[0-9]{8}_[0-9]{6}_[0-9]+", run.data.tags.get("sweep.id", "")))


def finished_before(job: Job) -> Mapping[str, float] | None:
    """The metrics of a finished run that has measured what the job would, which counts as the job's from now on.

    It is the job's own of this sweep, such as one that a cluster has started twice, or, with `tracking.resume`, one of
    another sweep. None where there is none or the store is out of reach.
    """
    if not job.looks_back:
        return None
    with suppress(TrackingError, *UNREACHABLE):
        client, experiment_id = _open(job.tracking)
        finished = client.search_runs([experiment_id], _finished_with(str(job.digest)), order_by=[LATEST])
        found: list[Run] = [run for run in finished if DECIDED_BY in run.data.metrics]
        own = [run for run in found if run.data.tags.get(PARENT) == job.parent_run_id]
        others = [run for run in found if run not in own] if job.tracking.resume else []
        run = next((run for run in own if run.data.tags.get(NUMBER) == str(job.number)), next(iter(others), None))
        if run is None:
            return None
        if run in others:
            joined = {"run_id": run.info.run_id, "name": job.name, "swept": job.swept}
            client.set_tag(job.parent_run_id, f"{JOINED}{job.number}", json_tag(joined))
        metrics: Mapping[str, float] = run.data.metrics
        return metrics
    return None


def finished_with(tracking: DictConfig, digest: str) -> Run | None:
    """The latest finished run, in any experiment, with this digest of all that decides its results."""
    with suppress(*UNREACHABLE):
        finished = search(existing_store(tracking.uri), _finished_with(digest))
        return next((run for run in finished if DECIDED_BY in run.data.metrics), None)
    return None


def _finished_with(digest: str) -> str:
    return f"{tagged(DIGEST, digest)} AND attributes.status = 'FINISHED'"


def parts(client: MlflowClient, parent_run_id: str | None) -> Iterator[Part]:
    """The runs of a sweep, however they ended: those of other sweeps that it counts as its own, and its own.

    Anybody may have written their tags. A finished run whose tags cannot be read is there with the reason, and with a
    number below 0; what else cannot be read is left out with a warning.
    """
    for tag, value in client.get_run(parent_run_id).data.tags.items():
        if tag.startswith(JOINED):
            with suppress(*UNREACHABLE):  # it may have been deleted
                try:
                    yield _joined(client, tag, value)
                except MalformedError as error:
                    _leave_out(f"run {parent_run_id}: its tag {tag!r}", error)
    for count, run in enumerate(search(client, tagged(PARENT, parent_run_id)), start=1):
        if NUMBER in run.data.tags:
            try:
                yield Part(*job_of(run.data.tags, run.info.run_name), run)
            except MalformedError as error:
                if run.info.status == "FINISHED":
                    yield Part(-count, run.info.run_name, {}, run, str(error))
                else:
                    _leave_out(f"run {run.info.run_id}", error)


def _leave_out(what: str, error: MalformedError) -> None:
    warnings.warn(f"{what} cannot be read ({error}), so that it is left out", stacklevel=3)


def _joined(client: MlflowClient, tag: str, value: str) -> Part:
    """A run of another sweep; raises one of `UNREACHABLE` where it has been deleted."""
    joined = from_json(value)
    if not isinstance(joined, dict) or not all(isinstance(joined.get(each), str) for each in ("run_id", "name")):
        raise MalformedError("it names no run")
    number = _number(tag.removeprefix(JOINED))
    return Part(number, joined["name"], _plain(joined.get("swept")), client.get_run(joined["run_id"]))


def stored(job: Job, parent: RunRecord) -> Stored | None:
    """What the store has of a sweep; None where it is out of reach."""
    with suppress(TrackingError, *UNREACHABLE):
        client, _ = _open(job.tracking)
        return Stored(client, list(parts(client, parent.run_id)))
    return None


def collect(job: Job, parent: RunRecord, planned: Sequence[str], store: Stored | None) -> Sweep:
    """The sweep's runs in the order of their numbers: from their folders, and from the store what is not here.

    Args:
        job: The sweep.
        parent: Its run.
        planned: The names of all its jobs, as far as they are known before they start.
        store: What the store has of it.
    """
    stored = list(store.members()) if store else []
    absent = "NOT STARTED" if store else "UNKNOWN, the tracking store being out of reach"
    found = sorted([*stored, *_here(job, parent)], key=lambda member: member.status == "FINISHED")
    members = {member.number: member for member in found}  # a finished run counts, whatever else became of its job
    outcomes = []
    fates = {}
    for number in sorted(members):
        member = members[number]
        fates[member.name] = member.status
        if member.status == "FINISHED":
            try:
                outcomes.append(member.outcome)
                del fates[member.name]
            except UNREADABLE as error:
                fates[member.name] = unreadable(error)
    names = {member.name for member in members.values()}
    return Sweep(outcomes, fates | {name: absent for name in planned if name not in names})


def finished_here(job: Job) -> int:
    """How many jobs of a sweep have finished, as their folders tell."""
    books = (book for _, book in journals.below(job.folder.parent))
    return sum(NUMBER in book.tags and book.status == "FINISHED" for book in books)


def _here(job: Job, parent: RunRecord) -> Iterator[Member]:
    for folder, book in journals.below(job.folder.parent):
        if book.tags.get(PARENT) == parent.run_id and book.status != "RUNNING":
            with suppress(MalformedError):  # then the store's copy counts
                number, name, swept = job_of(book.tags, book.name)
                yield Member(number, name, book.run_id or "", book.status, swept, book.params, folder)


def member(client: MlflowClient, part: Part) -> Member:
    """A run of a sweep, with where the store keeps its results."""
    number, name, swept, run, damage = part
    return Member(number, name, run.info.run_id, run.info.status, swept, dict(run.data.params), client, damage)


def job_of(tags: Mapping[str, str], name: str) -> tuple[int, str, Swept]:
    """The number, name and swept values that a run's tags give its job.

    Raises:
        MalformedError: They are not what a run writes.
    """
    return _number(tags.get(NUMBER, "")), name, swept_values(tags)


def _number(text: str) -> int:
    if not text.isdecimal() or len(text) > LONGEST_NUMBER:
        raise MalformedError(f"the number of its job: found {text[:40]!r}, expected a number")
    return int(text)


def swept_values(tags: Mapping[str, str]) -> Swept:
    """The swept settings of a run with their values; raises `MalformedError` where its tag holds something else."""
    try:
        return _plain(from_json(tags.get(SWEPT, "{}")))
    except MalformedError as error:
        raise MalformedError(f"tag {SWEPT}: {error}") from error


def _plain(swept: Any) -> Swept:
    if not isinstance(swept, dict) or any(isinstance(value, dict | list) for value in swept.values()):
        raise MalformedError("expected an object of plain values")
    return swept


def unreadable(error: Exception) -> str:
    """What is said of a finished run in place of its results."""
    return f"FINISHED, but its results cannot be read: {first_line(error)}"


def _open(tracking: DictConfig) -> tuple[MlflowClient, str]:
    return open_store(tracking.uri, tracking.experiment, tracking.artifacts)


def search(client: MlflowClient, condition: str, experiments: Sequence[str] | None = None) -> list[Run]:
    """The runs of these experiments, by their ids, or of all, since a sweep may be over several datasets."""
    experiments = experiments or [experiment.experiment_id for experiment in client.search_experiments()]
    runs: list[Run] = []
    token: str | None = None
    while True:
        page = client.search_runs(experiments, condition, max_results=PAGE, page_token=token)
        runs += page
        token = page.token
        if not token:
            return runs


def _note(report: str) -> str:
    """The report with room between the columns of its table, cut at a line where it is longer than MLflow keeps.

    On a run's page MLflow sets tables without any space between their columns: the headings make some.
    """
    report = re.sub(r"^\|.*(?=\n\| --- )", lambda heads: heads[0].replace(" |", f"{ROOM}|"), report, flags=re.MULTILINE)
    if len(report) <= LONGEST_NOTE:
        return report
    return report[:LONGEST_NOTE].rpartition("\n")[0] + "\n\nThe whole table is in report.md.\n"


def close_sweep(parent: RunRecord, sweep: Sweep, description: str, status: str) -> None:
    """Upload the sweep's tables, charts and report, put the decision into tags, and end the parent run."""
    parts = sweep.by_dataset
    decided = dict(_decision(parts[0])) if len(parts) == 1 else {}
    parent.tag({**decided, "mlflow.note.content": _note(description)})
    write_environment(parent.folder)
    parent.log_files()
    parent.close(status)


def _decision(sweep: Sweep) -> Iterator[tuple[str, str]]:
    """The best configuration, its settings and interval, how many are tied with it, and what it promises."""
    best, metric, decision = sweep.best, sweep.decided_by, sweep.decision
    for name in sweep.swept:
        yield f"best.{name}", str(best[name])
    yield "best.configuration", best["name"]
    for name in (metric, f"{metric}_low", f"{metric}_high"):
        yield f"best.{name}", f"{best[name]:.6f}"
    yield "best.tied", str(len(sweep.tied) - 1)
    if decision.selection:
        yield "best.expected", f"{decision.selection.expected:.6f}"
