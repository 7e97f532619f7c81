"""What the tracking store holds of a run that was made before, here or elsewhere."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import pandas as pd
from mlflow import MlflowClient
from mlflow.entities import Run
from omegaconf import DictConfig

from ragsweep.errors import TrackingError, first_line
from ragsweep.report import Outcome
from ragsweep.tracking.run import SWEPT
from ragsweep.tracking.store import UNREACHABLE, existing_store
from ragsweep.tracking.sweep import Part, member, parts, read_table


@dataclass(frozen=True)
class Recorded:
    """A finished run.

    Attributes:
        name: Its name.
        run_id: The store's name for it.
        config: Its `config/config.yaml`.
        requirements: The packages it was made with.
        params: The settings that took effect.
        tags: What says where it comes from.
        dataset: Digest of its dataset, as far as the store keeps it.
        metrics: Every value by name and step.
        per_query: Its table of queries.
    """

    name: str
    run_id: str
    config: str
    requirements: Sequence[str]
    params: Mapping[str, str]
    tags: Mapping[str, str]
    dataset: str
    metrics: Mapping[tuple[str, int], float]
    per_query: pd.DataFrame


class History(NamedTuple):
    """What a store holds of a run or of a sweep; its runs stand in the order of their numbers."""

    name: str
    status: str
    tags: Mapping[str, str]
    runs: Sequence[Recorded]


def fetch(tracking: DictConfig, run_id: str) -> History:
    """A run, or the finished runs of a sweep.

    Raises:
        TrackingError: The store cannot be reached, or has no such finished run.
    """
    with _reading(tracking.uri, run_id) as client:
        run = client.get_run(run_id)
        tags = run.data.tags
        finished = {part.number: part for part in parts(client, run_id) if part.run.info.status == "FINISHED"}
        runs = [_member(client, finished[number]) for number in sorted(finished)] or [_recorded(client, run)]
        return History(run.info.run_name, run.info.status, tags, runs)


def fetch_run(tracking: DictConfig, run_id: str) -> Recorded:
    """A finished run.

    Raises:
        TrackingError: The store cannot be reached, or this is no finished run of it; of a sweep, its best run is named.
    """
    with _reading(tracking.uri, run_id) as client:
        run = client.get_run(run_id)
        members = {part.name: part.run.info.run_id for part in parts(client, run_id)}
        best = run.data.tags.get("best.configuration")
        if best in members:
            raise TrackingError(f"{run_id}: this is a sweep; its best run is {best}: {members[best]}")
        if members:
            raise TrackingError(f"{run_id}: this is a sweep; expected one of its {len(members)} runs")
        return _recorded(client, run)


def fetch_outcomes(tracking: DictConfig, run_ids: Sequence[str]) -> list[Outcome]:
    """Finished runs, a sweep's parent standing for those in it; each run once, in the order given.

    Raises:
        TrackingError: The store cannot be reached, or one of these is no finished run and has none in it.
    """
    found: dict[str, Outcome] = {}
    for run_id in run_ids:
        with _reading(tracking.uri, run_id) as client:
            of_sweep = {part.number: part for part in parts(client, run_id) if part.run.info.status == "FINISHED"}
            run = client.get_run(run_id)
            if not of_sweep and run.info.status != "FINISHED":
                raise TrackingError(f"{run_id}: this run is {run.info.status}, not FINISHED")
            for _, part in sorted(of_sweep.items()) or [(0, Part(0, run.info.run_name, {}, run))]:
                if part.run.info.run_id not in found:
                    found[part.run.info.run_id] = member(client, part).outcome
    return list(found.values())


@contextmanager
def _reading(uri: str, run_id: str) -> Iterator[MlflowClient]:
    """A client of the store; what goes wrong with it within the block is a `TrackingError` about this run."""
    try:
        yield existing_store(uri)
    except (ValueError, TypeError, KeyError) as error:
        raise TrackingError(f"{run_id}: its record cannot be read ({first_line(error)})") from error
    except UNREACHABLE as error:
        reason = first_line(error)
        raise TrackingError(f"{run_id}: cannot be read from {uri} ({reason})") from error


def _member(client: MlflowClient, part: Part) -> Recorded:
    """A run by the name and the swept values that it has in the sweep."""
    made = _recorded(client, part.run)
    return replace(made, name=part.name, tags={**made.tags, SWEPT: json.dumps(part.swept)})


def _recorded(client: MlflowClient, run: Run) -> Recorded:
    if run.info.status != "FINISHED":
        raise TrackingError(f"{run.info.run_id}: this run is {run.info.status}, not FINISHED")
    with tempfile.TemporaryDirectory() as folder:
        files = [
            Path(client.download_artifacts(run.info.run_id, path, folder))
            for path in ("config/config.yaml", "environment/requirements.txt", "results/per_query.csv")
        ]
        config, requirements = (file.read_text(encoding="utf-8") for file in files[:2])
        per_query = read_table(files[2])
    metrics = {(name, 0): value for name, value in run.data.metrics.items() if not name.startswith("at_k/")}
    for name in run.data.metrics:
        if name.startswith("at_k/"):
            metrics |= {(name, point.step): point.value for point in client.get_metric_history(run.info.run_id, name)}
    [logged] = run.inputs.dataset_inputs
    return Recorded(
        run.info.run_name,
        run.info.run_id,
        config,
        requirements.split(),
        run.data.params,
        run.data.tags,
        logged.dataset.digest,
        metrics,
        per_query,
    )
