"""Records what is decided without measuring runs, or after a sweep has ended."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from mlflow import MlflowClient
from mlflow.entities import Metric, Run, RunTag

from ragsweep.core.errors import TrackingError, first_line
from ragsweep.core.terminal import one_line, shortened
from ragsweep.report.markup import markdown
from ragsweep.report.record import write_record
from ragsweep.tracking.address import run_address
from ragsweep.tracking.fetching import reading
from ragsweep.tracking.names import tagged, tags_of
from ragsweep.tracking.tracked_job import DECIDED, HEADLINE, Job
from ragsweep.tracking.tracking_store import UNREACHABLE, open_configured
from ragsweep.tracking.uploads import NOTE, describe

LONGEST_SAID = 900  # characters in a description


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
        files: What is kept with it.
    """

    name: str
    sentences: Sequence[str]
    is_decided: bool
    record: Mapping[str, Any]
    tags: Mapping[str, str]
    numbers: Mapping[str, float]
    runs: Mapping[str, str] = field(default_factory=dict)
    files: Sequence[Path] = ()

    def write(self, folder: Path) -> None:
        """Write the decision and its files into a new folder."""
        folder.mkdir()
        write_record(folder / "decision.json", self.record)
        for file in self.files:
            (folder / f"{self.name}.jsonl").write_bytes(file.read_bytes())


def add_decision(tracking: Any, sweep_id: str, later: LaterDecision) -> str:
    """Add a decision to a sweep that has ended: to its tags, its description and its artifacts, in a folder of its own.

    What the sweep itself decided, and its report, stay as they are. A decision added before under the same name
    is replaced.

    Args:
        tracking: The `tracking` group of the configuration.
        sweep_id: The parent run of the sweep.
        later: The decision.

    Returns:
        The address of the sweep.

    Raises:
        TrackingError: The store cannot be reached or written.
    """
    with reading(tracking, sweep_id) as client:
        run = client.get_run(sweep_id)
        headline = f"{later.name}: {later.sentences[0]}"
        _keep(client, run, later, headline, {NOTE: _in_markdown(run.data.tags.get(NOTE, ""), later)})
        for run_id, verdict in later.runs.items():
            client.log_batch(run_id, tags=[RunTag(later.name, verdict)])
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
    tag, headline = f"{later.name}.key", later.sentences[0]
    try:
        client, experiment_id = open_configured(job.tracking)
        found = client.search_runs([experiment_id], tagged(tag, key), max_results=1)
        run = found[0] if found else client.create_run(experiment_id, tags=tags_of(job.tags), run_name=job.name)
        client.update_run(run.info.run_id, name=job.name)
        best = {HEADLINE: headline} if later.is_decided else {}
        said = "\n\n".join(map(markdown, later.sentences))
        _keep(client, client.get_run(run.info.run_id), later, headline, {DECIDED: "true", tag: key, **best, NOTE: said})
        client.set_terminated(run.info.run_id, "FINISHED")
    except UNREACHABLE as error:
        raise TrackingError(f"{job.tracking.uri}: cannot be written ({first_line(error)})") from error
    return run_address(job.tracking, experiment_id, run.info.run_id)


def _keep(client: MlflowClient, run: Run, later: LaterDecision, headline: str, tags: Mapping[str, str]) -> None:
    """Keep a decision in a run, and its headline in the description of the experiment."""
    run_id, now = run.info.run_id, datetime.now()
    with tempfile.TemporaryDirectory() as folder:
        later.write(Path(folder) / later.name)
        client.log_artifacts(run_id, str(Path(folder) / later.name), later.name)
    metrics = [Metric(name, value, int(now.timestamp() * 1000), 0) for name, value in later.numbers.items()]
    named = {f"{later.name}.{name}": value for name, value in {"headline": later.sentences[0], **later.tags}.items()}
    shortened_tags = tags_of({**tags, **named})
    client.log_batch(run_id, metrics, tags=[RunTag(*tag) for tag in shortened_tags.items()])
    if later.is_decided:
        describe(client, run.info, headline, now)


def _in_markdown(text: str, later: LaterDecision) -> str:
    """The description of a sweep with the decision below its heading."""
    mark = f"**{later.name.capitalize()}:** "
    before = re.sub(rf"^{re.escape(mark)}.*\n\n?", "", text, flags=re.MULTILINE)
    heading, _, rest = before.partition("\n")
    said = shortened(one_line(" ".join(later.sentences)), LONGEST_SAID)
    return f"{heading}\n\n{mark}{markdown(said)}\n\n{rest.lstrip()}"
