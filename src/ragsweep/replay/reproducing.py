"""Runs a recorded configuration again, and compares every number with the record."""

from __future__ import annotations

import os
import re
import shlex
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from ragsweep import tracking
from ragsweep.core.project import project, sweep_id
from ragsweep.core.terminal import one_line
from ragsweep.experiment import Experiment
from ragsweep.replay.returned_record import recorded_experiment
from ragsweep.replay.trusted_record import composed_today
from ragsweep.store.code import digest_of_code
from ragsweep.sweeps.decision_settings import decision_of

SHOWN_DIFFERENCES = 20


@dataclass(frozen=True)
class ReproduceRequest:
    """What to reproduce, and how.

    Attributes:
        run_id: A run or a sweep.
        overrides: `name=value`: the places of stores and data on this machine.
        tolerance: The largest difference that counts as equal.
        log: Whether to record the new measurement as a run.
        stored: Whether to use embeddings, indexes and candidate lists of the store instead of computing them again.
        modules: Modules outside ragsweep whose classes the record may name.
    """

    run_id: str
    overrides: Sequence[str]
    tolerance: float
    log: bool
    stored: bool
    modules: Sequence[str]


@dataclass(frozen=True)
class Difference:
    """A value that differs from the record."""

    what: str
    recorded: object
    now: object


def reproduce(request: ReproduceRequest) -> bool:
    """Reproduce a run or all finished runs of a sweep, and print the result. Returns whether all is identical."""
    today, settings = composed_today(request.overrides)
    history = tracking.fetch(today.tracking, request.run_id)
    with chdir(project()), _empty_folder(today.store.path) as empty:  # paths in a record are relative to the project
        if not request.stored:  # the runs of a sweep still share one store
            today.store.path, today.store.enabled = empty, True
        _say("embeddings and rankings: from the store" if request.stored else "embeddings and rankings: computed anew")
        pairs = []
        for run in history.runs:
            experiment, how = recorded_experiment(run, today, settings, request.modules, Path(empty))
            if how:
                _say(how)
            pairs.append((run, experiment))
        for line in dict.fromkeys(line for pair in pairs for line in differences_of_origin(*pair)):
            _say(line)
        if history.runs[0].run_id != request.run_id:
            if history.status != "FINISHED":
                _say(f"the sweep is {history.status}: only those of its runs that finished are made again")
            return _sweep_again(history, pairs, request)
        [(run, experiment)] = pairs
        job = _job(run, experiment, project() / "outputs" / sweep_id(), run.run_id) if request.log else None
        return _again(run, experiment, job, request.tolerance)


@contextmanager
def _empty_folder(store: str) -> Iterator[str]:
    """An empty folder for a store: within the folder of the usual store if possible, otherwise a temporary one."""
    with suppress(OSError):
        Path(store).mkdir(parents=True, exist_ok=True)
    within = store if os.access(store, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="reproduce-", dir=within, ignore_cleanup_errors=True) as folder:
        yield folder


def _sweep_again(
    history: tracking.StoredRun, pairs: Sequence[tuple[tracking.StoredRun, Experiment]], request: ReproduceRequest
) -> bool:
    """Measure all runs of a sweep again, and record them as a sweep if asked."""
    complete = True
    if request.log:
        folder = project() / "outputs" / sweep_id()
        sweep = _job(history, pairs[0][1], folder / "summary", request.run_id)
        with tracking.record(sweep, keep=True) as parent:
            alike = []
            for number, (run, experiment) in enumerate(pairs):
                job = _job(run, experiment, folder / str(number), run.run_id)
                job = replace(job, parent_run_id=parent.run_id, number=number)
                alike.append(_again(run, experiment, job, request.tolerance))
            decided = decision_of(pairs[0][1].config)
            complete = tracking.finish(tracking.OpenSweep(sweep, parent, [], decided), failed=False)
    else:
        alike = [_again(run, experiment, None, request.tolerance) for run, experiment in pairs]
    _say("all identical" if all(alike) else "not all identical")
    return all(alike) and complete


def _again(run: tracking.StoredRun, experiment: Experiment, job: tracking.Job | None, tolerance: float) -> bool:
    """Measure a run again and print whether its values are those recorded. Records it if there is a job."""
    made = ""
    complete = True
    if job:
        with tracking.record(job) as new:
            measurement = experiment.measure()
            experiment.log(measurement, job, new)
        made = f" (run {new.run_id})"
        if new.trouble and not job.parent_run_id:
            push = tracking.push_command(job.folder, job.tracking.uri, job.tracking.artifacts)
            made = f" (not in the tracking store: {push} uploads it)"
            complete = False
    else:
        measurement = experiment.measure()
    by_type = (name.rpartition("/")[2] for name, _ in run.metrics if name.startswith("by_type/"))
    metrics = tracking.metrics_of(measurement, next(by_type, experiment.decide_by))
    table = measurement.per_item
    found = list(_differences(run, metrics, table, tolerance))
    values = len(_lasting(run.metrics)) + run.per_query.size
    if found:
        _say(f"{run.name}: {len(found)} of {values} values differ{made}")
        print(_table(found))
    else:
        _say(f"{run.name}: identical: {values} values{made}")
    return complete and not found


def _say(text: str) -> None:
    """Print one line. Text from a record may contain line breaks."""
    print(text.replace("\n", " "))


def _job(made: tracking.StoredRun, experiment: Experiment, folder: Path, reproduces: str) -> tracking.Job:
    """The job that records a reproduced run or sweep."""
    store = experiment.config.tracking.copy()
    store.experiment = experiment.items.name
    return tracking.Job(
        name=made.name,
        folder=folder,
        overrides=[],
        command=shlex.join(["ragsweep", "reproduce", reproduces]),
        swept=made.swept,
        sweep_id=sweep_id(),
        parent_run_id=None,
        tracking=store,
        digest=None if made.runs else experiment.digest,
        reproduces=reproduces,
    )


def differences_of_origin(run: tracking.StoredRun, experiment: Experiment) -> Iterator[str]:
    """Differences between a run's data, settings, packages and code and those of today, one line each."""
    if not experiment.items.digest.startswith(run.dataset):
        yield f"dataset: recorded {run.dataset[:12]}, here {experiment.items.digest[:12]}"
    now = tracking.params_of(experiment.params)
    not_asked = now.get("retriever") == "ReturnedRetriever" != run.params.get("retriever")
    for name in sorted(run.params.keys() | now.keys()):
        if run.params.get(name) != now.get(name) and not (not_asked and name.partition(".")[0] == "retriever"):
            yield f"{name}: recorded {run.params.get(name, 'nothing')}, here {now.get(name, 'nothing')}"
    pins = (run.requirements, tracking.requirements().split())
    packages = [dict(line.partition("==")[::2] for line in lines) for lines in pins]
    for name in sorted(packages[0].keys() | packages[1].keys(), key=str.lower):
        was, is_ = (versions.get(name, "absent") for versions in packages)
        if was != is_:
            yield f"package {name}: recorded {was}, here {is_}"
    if run.tags.get("code.digest") != digest_of_code():
        commit = run.tags.get("git.commit")
        yield f"code: recorded at {commit or 'an unknown commit'}, here something else"
        if commit and re.fullmatch("[0-9a-f]{7,64}", commit):  # the user may paste it into a shell
            store = f"MLFLOW_TRACKING_URI={shlex.quote(experiment.config.tracking.uri)}"
            fetched = (
                f"$({store} mlflow artifacts download -r {shlex.quote(run.run_id)} -a environment/uncommitted.patch)"
            )
            patch = f" && git apply {fetched}"
            yield f"    git checkout {commit}{patch if run.tags.get('git.dirty') == 'true' else ''}"
        if run.tags.get("git.untracked") == "true":
            yield "    it may have used files that git did not have: the run's environment/untracked.txt names them"


def _lasting(metrics: Mapping[tuple[str, int], float]) -> dict[tuple[str, int], float]:
    """The metrics that must be reproduced: all but timings."""
    return {key: value for key, value in metrics.items() if not key[0].startswith("latency/")}


def _differences(
    run: tracking.StoredRun, metrics: Mapping[tuple[str, int], float], table: pd.DataFrame, tolerance: float
) -> Iterator[Difference]:
    old, new = _lasting(run.metrics), _lasting(metrics)
    for key in sorted(old.keys() | new.keys(), key=lambda key: ("/" in key[0], key)):  # f1 before ci/f1_low
        if not _alike(old.get(key), new.get(key), tolerance):
            yield Difference(f"{key[0]}{f' at {key[1]}' if key[1] else ''}", old.get(key), new.get(key))
    columns = set(run.per_query.columns), set(table.columns)
    for name in sorted(columns[0] ^ columns[1]):
        was, now = ("a column" if name in each else "no column" for each in columns)
        yield Difference(f"table of queries: {name}", was, now)
    if len(run.per_query) != len(table):
        yield Difference("table of queries: rows", len(run.per_query), len(table))
        return
    for name in (name for name in table.columns if name in columns[0]):
        numbers = pd.api.types.is_numeric_dtype(table[name])
        values = table[name] if numbers else table[name].fillna("")
        for row, (was, now) in enumerate(zip(run.per_query[name].tolist(), values.tolist(), strict=True)):
            if not (_alike(was, now, tolerance) if numbers else was == now):
                yield Difference(f"{name} of query {table['query_id'].iloc[row]}", was, now)


def _alike(was: float | None, now: float | None, tolerance: float) -> bool:
    if was is None or now is None:
        return was is now
    return bool(np.isclose(was, now, rtol=0, atol=tolerance, equal_nan=True))


def _table(differences: Sequence[Difference]) -> str:
    rows = [("value", "recorded", "now", "difference")]
    for each in differences[:SHOWN_DIFFERENCES]:
        numbers = isinstance(each.recorded, float) and isinstance(each.now, float)
        difference = f"{each.now - each.recorded:+.3g}" if numbers else ""  # type: ignore[operator]
        rows.append((one_line(each.what), one_line(str(each.recorded))[:40], one_line(str(each.now))[:40], difference))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    lines = ["  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    left = len(differences) - SHOWN_DIFFERENCES
    return "\n".join(line.rstrip() for line in lines) + (f"\n  ... and {left} more" if left > 0 else "")
