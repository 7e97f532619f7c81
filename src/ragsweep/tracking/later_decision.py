"""Records what is decided without measuring runs, or after a sweep has ended."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mlflow import MlflowClient
from mlflow.entities import Metric, Run, RunTag

from ragsweep.core.errors import TrackingError, first_line
from ragsweep.report.markup import markdown
from ragsweep.report.record import write_record
from ragsweep.tracking.address import link_to_artifact, run_address
from ragsweep.tracking.journal import NOTE, describe
from ragsweep.tracking.names import tagged, tags_of
from ragsweep.tracking.tracked_job import DECIDED, HEADLINE, Job
from ragsweep.tracking.tracking_store import UNREACHABLE, open_configured, reading


@dataclass(frozen=True)
class LaterDecision:
    """A decision.

    Attributes:
        name: How it was made, such as `judged`: names its tags and its artifacts.
        sentences: What is decided; the first one is the headline.
        is_decided: Whether it names a configuration.
        record: All of it, for programs.
        tags: Of the sweep's run, after `judged.`.
        numbers: Metrics of the sweep's run.
        runs: The verdict about each run of the sweep by its id.
        journal: The file of what led to it.
    """

    name: str
    sentences: Sequence[str]
    is_decided: bool
    record: Mapping[str, Any]
    tags: Mapping[str, str]
    numbers: Mapping[str, float]
    runs: Mapping[str, str]
    journal: Path


def add_decision(tracking: Any, sweep_id: str, later: LaterDecision) -> str:
    """Add a decision to the tags and artifacts of a sweep that has ended; its description links to them.

    What the sweep itself decided stays as it is. A decision added before under the same name is replaced.

    Args:
        tracking: The `tracking` group of the configuration.
        sweep_id: The parent run of the sweep.
        later: The decision.

    Returns:
        The address of the sweep.

    Raises:
        TrackingError: The store cannot be reached or written.
    """
    with reading(tracking.uri, tracking.artifacts, sweep_id) as client:
        run = client.get_run(sweep_id)
        note = run.data.tags.get(NOTE, "")
        link = f"[{later.name}]({link_to_artifact(run.info.experiment_id, sweep_id, f'{later.name}/decision.json')})"
        _keep(client, run, later, {NOTE: note if link in note else f"{note}\n\n{link}"})
        for run_id, verdict in later.runs.items():
            client.set_tag(run_id, later.name, verdict)
        return run_address(tracking, run.info.experiment_id, sweep_id)


def record_decision(job: Job, later: LaterDecision, key: str) -> str:
    """Record a decision as a run of its own, or in the one that has been recorded under the same key.

    Args:
        job: Names the run and the store.
        later: The decision.
        key: An id of what is decided.

    Returns:
        The address of the run.

    Raises:
        TrackingError: The store cannot be reached or written.
    """
    tag = f"{later.name}.key"
    try:
        client, experiment_id = open_configured(job.tracking)
        found = client.search_runs([experiment_id], tagged(tag, key), max_results=1)
        run = found[0] if found else client.create_run(experiment_id, tags=tags_of(job.tags), run_name=job.name)
        client.update_run(run.info.run_id, name=job.name)
        tags = {DECIDED: "true", tag: key, NOTE: "\n\n".join(map(markdown, later.sentences))}
        tags |= {HEADLINE: later.sentences[0]} if later.is_decided else {}
        _keep(client, client.get_run(run.info.run_id), later, tags)
        client.set_terminated(run.info.run_id, "FINISHED")
    except UNREACHABLE as error:
        raise TrackingError(f"{job.tracking.uri}: cannot be written ({first_line(error)})") from error
    return run_address(job.tracking, experiment_id, run.info.run_id)


def _keep(client: MlflowClient, run: Run, later: LaterDecision, tags: Mapping[str, str]) -> None:
    """Keep a decision in a run, and its headline in the description of the experiment."""
    run_id, now = run.info.run_id, int(time.time() * 1000)
    with tempfile.TemporaryDirectory() as folder:
        write_record(Path(folder) / "decision.json", later.record)
        shutil.copyfile(later.journal, Path(folder) / f"{later.name}.jsonl")
        client.log_artifacts(run_id, folder, later.name)
    metrics = [Metric(name, value, now, 0) for name, value in later.numbers.items()]
    named = {f"{later.name}.{name}": value for name, value in {"headline": later.sentences[0], **later.tags}.items()}
    client.log_batch(run_id, metrics, tags=[RunTag(*tag) for tag in tags_of({**tags, **named}).items()])
    if later.is_decided:
        headline = f"{later.name}: {later.sentences[0]}"
        describe(client, run.info.experiment_id, headline, run.info.run_name, now)
