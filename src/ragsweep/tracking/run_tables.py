"""The runs of a tracking store as tables, for notebooks."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from contextlib import AbstractContextManager, suppress
from math import isfinite

import pandas as pd

from ragsweep.core.csv_files import setting_columns
from ragsweep.core.errors import TrackingError
from ragsweep.core.parsing import MalformedError
from ragsweep.tracking.client import Client
from ragsweep.tracking.mlflow_names import NOT_COLUMNS
from ragsweep.tracking.store_address import own_store
from ragsweep.tracking.stored_run import StoredRun
from ragsweep.tracking.sweep_runs import finished_runs
from ragsweep.tracking.tracked_job import DIGEST, PARENT, is_measured
from ragsweep.tracking.tracking_store import reading, search

RUN = ["run_id", "name", "experiment", "sweep", "status", "start_time"]  # first columns of the table of runs
QUERY = ["run_id", "name", "query_id", "query", "query_type"]  # columns of the long table, before the metrics
FINISHED = "attributes.status = 'FINISHED'"


def runs(
    experiment: str | None = None, *, sweep: str | None = None, latest: bool = False, uri: str | None = None
) -> pd.DataFrame:
    """The finished runs of a tracking store, one row per run.

        >>> runs = ragsweep.runs("cho_manual")
        >>> runs.sort_values("f1", ascending=False)[["name", "retriever.alpha", "k", "f1", "ci/f1_low", "ci/f1_high"]]

    Args:
        experiment: Name of the experiment, which is the name of the dataset; None for all.
        sweep: Run id of a sweep's parent run: only the runs of this sweep, in the order of its jobs. Finished runs of
            other sweeps that it reused are included, with its id and the names that they have in it.
        latest: Whether of several runs of one configuration, on the same data and with the same code, only the latest
            is listed.
        uri: The tracking store; None for that of MLFLOW_TRACKING_URI, or else the project's own.

    Returns:
        Columns `run_id`; `name`; `experiment`; `sweep`, the run id of its sweep, missing for a single run;
        `status`; `start_time` in UTC; then every param and every metric by its name in MLflow, without the curves
        `at_k/`. A param that has the name of another column is called `params.NAME`. Numbers are numbers and switches
        are booleans. A setting is missing if it is null or had no effect. A run of another schema is left out with a
        warning. Without `sweep`, the runs are in the order of their start, each once, with the sweep that ran it.

    Raises:
        TrackingError: The store cannot be read, or has no such experiment or sweep.
    """
    with _reading(sweep or "the runs", uri) as client:
        names = {group.experiment_id: group.name for group in client.search_experiments()}
        if experiment not in (None, *names.values()):
            there_are = ", ".join(sorted(names.values()))
            raise TrackingError(f"experiment: found {experiment!r}, expected one that the store has: {there_are}")
        chosen = [key for key, name in names.items() if experiment in (None, name)]
        listed = _started_in(client, chosen) if sweep is None else _of_sweep(client, sweep)
        listed = [run for run in listed if run.experiment_id in chosen and _has_our_schema(run)]
    if latest:
        kept = {run.tags.get(DIGEST, run.run_id): run for run in listed}  # the last one stays
        listed = [run for run in listed if run in kept.values()]
    metrics = sorted({name for run in listed for name in run.values if not name.startswith(NOT_COLUMNS)})
    columns = setting_columns({name for run in listed for name in run.params}, {*RUN, *metrics})
    rows = []
    for run in listed:
        about = [run.run_id, run.name, names[run.experiment_id], sweep or run.tags.get(PARENT), run.status, run.started]
        params = {columns[name]: _typed(text) for name, text in run.params.items()}
        rows.append({**run.values, **params, **dict(zip(RUN, about, strict=True))})
    table = pd.DataFrame(rows, columns=[*RUN, *(columns[name] for name in sorted(columns)), *metrics])
    return table.assign(start_time=pd.to_datetime(table["start_time"], unit="ms", utc=True, errors="coerce"))


def per_query(run_ids: str | Iterable[str], *, uri: str | None = None, artifacts: str | None = None) -> pd.DataFrame:
    """The values of finished runs for every query, one row per run and query.

        >>> table = ragsweep.per_query(ragsweep.runs(sweep="3f0c...").run_id)
        >>> table.pivot(index="query_id", columns="name", values="f1")

    Args:
        run_ids: A run, or several.
        uri: The tracking store; None for the project's own.
        artifacts: The folder or cloud address where runs have their artifacts, as `tracking.artifacts` named it;
            needed if they are neither beside the database nor on the server.

    Returns:
        Columns `run_id` and `name`, then those of `results/per_query.csv`: `query_id`; `query`; `query_type`, empty
        if queries have none; each metric at the run's k, the same number to the last bit; and the units
        `retrieved`, best first, and `relevant`, between semicolons.

    Raises:
        TrackingError: The store cannot be read, or a run has no such table.
    """
    tables = []
    for run_id in [run_ids] if isinstance(run_ids, str) else run_ids:
        with _reading(run_id, uri, artifacts) as client:
            run = StoredRun.of(client, client.get_run(run_id))
            run.check_schema()
            table = run.per_query
        table.insert(0, "run_id", run_id)
        table.insert(1, "name", run.name)
        tables.append(table)
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=QUERY)


def _reading(subject: str, uri: str | None, artifacts: str | None = None) -> AbstractContextManager[Client]:
    own_uri, own_artifacts = own_store() if uri is None else (uri, None)
    return reading(own_uri, artifacts or own_artifacts, subject)


def _started_in(client: Client, experiments: list[str]) -> list[StoredRun]:
    """The measured runs of these experiments, the earliest first. Runs of other programs are left out."""
    measured = [run for run in search(client, FINISHED, experiments) if is_measured(run) and DIGEST in run.data.tags]
    return [StoredRun.of(client, run) for run in sorted(measured, key=lambda run: int(run.info.start_time))]


def _of_sweep(client: Client, sweep: str) -> list[StoredRun]:
    if is_measured(client.get_run(sweep)):
        raise TrackingError(f"sweep: {sweep} is a single run, expected the parent run of a sweep")
    return finished_runs(client, sweep)


def _has_our_schema(run: StoredRun) -> bool:
    """Whether a run can be read; a warning names one that is left out."""
    try:
        run.check_schema()
        return True
    except MalformedError as error:
        warnings.warn(f"run {run.run_id} cannot be read ({error}) and is left out", stacklevel=4)
        return False


def _typed(text: str) -> int | float | bool | str | None:
    """The setting that was logged as `str(setting)`. Only what `str` would write is a number, so "007" is a text."""
    for number in (int, float):
        with suppress(ValueError):
            value = number(text)
            if str(value) == text and isfinite(value):
                return value
    return {"None": None, "True": True, "False": False}.get(text, text)
