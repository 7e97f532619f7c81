"""The life of one run in MLflow: opened, filled, and closed with the status that it deserves."""

from __future__ import annotations

import json
import re
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from mlflow import MlflowClient
from mlflow.entities import Dataset as LoggedDataset
from mlflow.entities import DatasetInput, InputTag, Metric, Param, RunTag
from omegaconf import DictConfig

from ragsweep.config import PROJECT
from ragsweep.datasets import Dataset
from ragsweep.digest import digest
from ragsweep.errors import RagsweepError
from ragsweep.evaluation import Evaluation
from ragsweep.tracking.environment import git_commit, is_dirty, user
from ragsweep.tracking.store import open_store

METRICS_A_BATCH = 800  # MLflow takes 1000 of all kinds together
PARAMS_A_BATCH = 100
DIGEST_LENGTH = 36  # the longest that MLflow takes
LONGEST_TAG = 5000

T = TypeVar("T")

SWEPT = "sweep.values"  # tag: the swept settings of a run with their values, as JSON


@dataclass(frozen=True)
class Job:
    """What is to be recorded, apart from the measurement.

    Attributes:
        name: The run's name: the swept values.
        folder: Where the run's files are written before they are logged.
        overrides: The overrides that made its configuration, as Hydra lists them.
        command: What runs this configuration again.
        swept: The swept settings and their values.
        sweep_id: Names the start of the program that this run belongs to.
        parent_run_id: The sweep's run, or None for a single run.
        tracking: The `tracking` group of the configuration.
    """

    name: str
    folder: Path
    overrides: Sequence[str]
    command: str
    swept: Mapping[str, Any]
    sweep_id: str
    parent_run_id: str | None
    tracking: DictConfig


class RunRecord:
    """An open run."""

    def __init__(self, client: MlflowClient, experiment_id: str, run_id: str) -> None:
        self._client = client
        self.experiment_id = experiment_id
        self.run_id = run_id

    def log(
        self,
        settings: Mapping[str, Any],
        dataset: Dataset,
        evaluation: Evaluation,
        measures: Mapping[str, float],
    ) -> None:
        """Log the settings that took effect as params, the dataset as input, all numbers as metrics.

        Args:
            settings: What took effect.
            dataset: What was searched.
            evaluation: The measurement.
            measures: What else was measured.
        """
        now = int(time.time() * 1000)
        scalars = [*_scalars(evaluation), *measures.items()]
        metrics = [Metric(name, value, now, 0) for name, value in scalars]
        for name, curve in zip(evaluation.names, evaluation.curves.tolist(), strict=True):
            metrics += [Metric(f"at_k/{name}", value, now, cutoff) for cutoff, value in enumerate(curve, start=1)]
        params = [Param(name, str(value)) for name, value in settings.items()]
        tags = [RunTag("config.digest", digest([dict(settings), dataset.digest]))]
        for some_metrics, some_params in zip_longest(
            _batches(metrics, METRICS_A_BATCH), _batches(params, PARAMS_A_BATCH), fillvalue=()
        ):
            self._client.log_batch(self.run_id, some_metrics, some_params, tags)
            tags = []
        self._client.log_inputs(self.run_id, [_input(dataset, settings)])

    def log_files(self, folder: Path, *parts: str) -> None:
        """Upload these folders below `folder`, or everything."""
        for part in parts or ("",):
            self._client.log_artifacts(self.run_id, str(folder / part), part or None)

    def tag(self, tags: Mapping[str, str]) -> None:
        """Set tags."""
        self._client.log_batch(self.run_id, tags=[RunTag(name, value) for name, value in tags.items()])

    def delete(self) -> None:
        """Take the run out of the store."""
        self.close("FAILED")
        self._client.delete_run(self.run_id)

    def close(self, status: str) -> None:
        """End the run as FINISHED, FAILED or KILLED."""
        self._client.set_terminated(self.run_id, status)


def _batches(values: Sequence[T], size: int) -> list[Sequence[T]]:
    return [values[start : start + size] for start in range(0, len(values), size)]


def _input(dataset: Dataset, settings: Mapping[str, Any]) -> DatasetInput:
    """The dataset with our own digest: MLflow's stops at 10,000 rows."""
    profile = {
        "passages": len(dataset.passages),
        "units": len(dataset.units),
        "queries": len(dataset.queries),
        "judgments": len(dataset.qrels.grade),
    }
    logged = LoggedDataset(
        name=dataset.name,
        digest=dataset.digest[:DIGEST_LENGTH],
        source_type="ragsweep",
        source=json.dumps({name: value for name, value in settings.items() if name.startswith("dataset.")}),
        profile=json.dumps(profile),
    )
    return DatasetInput(logged, [InputTag("mlflow.data.context", "evaluation")])


def _scalars(evaluation: Evaluation) -> Iterator[tuple[str, float]]:
    f1 = evaluation.names.index("f1")
    yield from evaluation.means.items()
    yield "ci/f1_low", float(evaluation.ci_low[f1])
    yield "ci/f1_high", float(evaluation.ci_high[f1])
    kinds = np.array(evaluation.query_types, dtype=object)
    for kind in evaluation.types:
        yield f"by_type/{_metric_name(kind)}/f1", float(evaluation.per_query[f1, kinds == kind].mean())


def _metric_name(query_type: str) -> str:
    """A query type with every character replaced that MLflow refuses in a part of a metric's name."""
    return re.sub(r"[^\w \-]", "_", query_type)


@contextmanager
def failures(job: Job) -> Iterator[None]:
    """Within a sweep, leave a FAILED run behind for an error that came before its run was opened."""
    try:
        yield
    except Exception as error:
        if job.parent_run_id:
            end_failed(open_run(job), error)
        raise


@contextmanager
def record(job: Job) -> Iterator[RunRecord]:
    """Open a run; whatever ends the block, the run ends with it: FINISHED, FAILED, or KILLED when interrupted."""
    opened = open_run(job)
    try:
        yield opened
    except BaseException as error:
        if isinstance(error, RagsweepError) and not job.parent_run_id:
            opened.delete()  # bad input that only the work itself could find: no run is left behind
        else:
            end_failed(opened, error)
        raise
    opened.close("FINISHED")


def open_run(job: Job) -> RunRecord:
    """Start a run with the tags that say where it comes from."""
    client, experiment_id = open_store(job.tracking)
    tags = {
        "mlflow.user": user(),
        "mlflow.source.name": "run.py",
        "mlflow.source.type": "LOCAL",
        "sweep.id": job.sweep_id,
        SWEPT: json.dumps(job.swept),
        "reproduce": job.command[:LONGEST_TAG],
        "folder": str(job.folder.relative_to(PROJECT) if job.folder.is_relative_to(PROJECT) else job.folder),
    }
    if commit := git_commit():
        tags |= {"git.commit": commit, "mlflow.source.git.commit": commit, "git.dirty": str(is_dirty()).lower()}
    if job.parent_run_id:
        tags["mlflow.parentRunId"] = job.parent_run_id
    run = client.create_run(experiment_id, tags=tags, run_name=job.name)
    return RunRecord(client, experiment_id, run.info.run_id)


def end_failed(opened: RunRecord, error: BaseException) -> None:
    """Close a run that did not come to its end, with its error as a tag; never hide that error behind another."""
    interrupted = isinstance(error, KeyboardInterrupt | SystemExit)
    with suppress(Exception):
        opened.close("KILLED" if interrupted else "FAILED")
    with suppress(Exception):
        opened.tag({"error": "".join(traceback.format_exception_only(error)).strip()[:LONGEST_TAG]})
