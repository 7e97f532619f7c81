"""What is recorded of a run: the tags made of its job, and the metrics and the dataset of its measurement."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from mlflow.entities import Run
from omegaconf import DictConfig

from ragsweep.core.project import portable
from ragsweep.store.code import digest_of_code
from ragsweep.tasks.metric import Metric
from ragsweep.tasks.task import Items, Measurement
from ragsweep.tracking.mlflow_names import json_tag, type_names
from ragsweep.tracking.recorded_environment import git_commit, is_dirty, untracked, user
from ragsweep.tracking.run_owner import process_identity

LONGEST_COMMAND = 5000  # characters of a tag

F1 = "f1"  # is also logged by query type, beside the metric that decides; a file has all of them
DIGEST_LENGTH = 36  # the longest of a dataset that MLflow accepts
DIGEST = "config.digest"  # tag: digest of everything that decides a run's results
NUMBER = "sweep.job"  # tag: the number of a run within its sweep
JOINED = "sweep.joined."  # tags of a parent run: finished runs of other sweeps, each under the number of its job
MEASURED = "measured"  # tag: titles of a run's metrics by name, as JSON; the first is the one that decides
LOWER_IS_BETTER = "measured.lower_is_better"  # tag: set if lower values of the deciding metric are better
PARENT = "mlflow.parentRunId"
PROCESS = "process"  # tag: which process the run belongs to
DECIDED = "sweep.decided"  # tag: marks the parent run of a sweep whose metrics are those of the decision
HEADLINE = "best.headline"  # tag of a parent run: the headline of its decision
RACE = "race"  # tag of a run that dropped out of a race: after how many questions
SCHEMA, RUN_SCHEMA = "schema", "1"  # tag: which form a run's record has
SWEPT = "sweep.values"  # tag: the swept settings of a run with their values, as JSON


def is_measured(run: Run) -> bool:
    """Whether a run has measured all questions itself; the parent run of a sweep has metrics, too."""
    return bool(run.data.metrics) and not {DECIDED, RACE} & run.data.tags.keys()


@dataclass(frozen=True)
class Job:
    """What is recorded of a run besides its measurement.

    Attributes:
        name: The run's name: the swept values.
        folder: Where the run's files are written before they are logged.
        overrides: The overrides that made its configuration, as Hydra lists them.
        command: The command that runs this configuration again.
        swept: The swept settings and their values.
        sweep_id: Names the start of the program that this run belongs to.
        parent_run_id: The sweep's run, or None for a single run.
        tracking: The `tracking` group of the configuration.
        number: The job's number within its sweep.
        total: How many jobs the sweep has; None if only its sweeper knows.
        digest: Digest of everything that decides the results; None if not known yet.
        may_resume: Whether to look for an earlier run of this job.
        measured: The metrics. The first is the one that decides.
        race: That it dropped out of a race, and after how many questions; None if it did not.
    """

    name: str
    folder: Path
    overrides: Sequence[str]
    command: str
    swept: Mapping[str, Any]
    sweep_id: str
    parent_run_id: str | None
    tracking: DictConfig
    number: int | None = None
    total: int | None = None
    digest: str | None = None
    may_resume: bool = False
    measured: Sequence[Metric] = ()
    race: str | None = None

    @property
    def tags(self) -> dict[str, str]:
        """The tags of the run."""
        tags = {
            "mlflow.user": user(),
            "mlflow.source.name": "ragsweep",
            "mlflow.source.type": "LOCAL",
            SCHEMA: RUN_SCHEMA,
            "code.digest": digest_of_code(),
            "sweep.id": self.sweep_id,
            SWEPT: json_tag(self.swept),
            PROCESS: process_identity(),
            "reproduce": self.command[:LONGEST_COMMAND],
            "folder": portable(str(self.folder)),
        }
        if commit := git_commit():
            tags |= {"git.commit": commit, "mlflow.source.git.commit": commit, "git.dirty": str(is_dirty()).lower()}
            tags |= {"git.untracked": "true"} if untracked() else {}
        if self.measured:
            tags[MEASURED] = json_tag({metric.name: metric.title for metric in self.measured})
            tags |= {} if self.measured[0].higher_is_better else {LOWER_IS_BETTER: "true"}
        optional = {DIGEST: self.digest, NUMBER: self.number, PARENT: self.parent_run_id, RACE: self.race}
        return tags | {name: str(value) for name, value in optional.items() if value is not None}


def dataset_input(items: Items, settings: Mapping[str, Any]) -> dict[str, str]:
    """The dataset with our own digest. MLflow's digest covers only the first 10,000 rows."""
    return {
        "name": items.name,
        "digest": items.digest[:DIGEST_LENGTH],
        "source_type": "ragsweep",
        "source": json.dumps({name: value for name, value in settings.items() if name.startswith("dataset.")}),
        "profile": json.dumps(dict(items.profile)),
    }


def metrics_of(measurement: Measurement, decide_by: str) -> dict[tuple[str, int], float]:
    """Everything that is logged as a metric, by name and step.

    Curves have a step per cutoff, what was measured several times has one per repeat, and other metrics have step 0.
    """
    measures = ((measure.metric.name, measure.value) for measure in measurement.measures)
    scalars = (*_scalars(measurement, decide_by), *measures)
    metrics = {(name, 0): value for name, value in scalars}
    for name, curve in measurement.curves.items():
        metrics |= {(f"at_k/{name}", step): value for step, value in enumerate(curve.values.tolist(), start=1)}
    for name in (score.metric.name for score in measurement.scores):
        means = measurement.facts.get("repeated", {}).get(name, {}).get("means", ())
        metrics |= {(f"by_repeat/{name}", step): value for step, value in enumerate(means, start=1)}
    return metrics


def _scalars(measurement: Measurement, decide_by: str) -> Iterator[tuple[str, float]]:
    scores = sorted(measurement.scores, key=lambda score: score.metric.name != decide_by)
    for score in scores:  # MLflow's "Compare" shows the first metric
        yield score.metric.name, score.value
    for score in measurement.scores:
        yield f"ci/{score.metric.name}_low", score.low
        yield f"ci/{score.metric.name}_high", score.high
    kinds = measurement.items["query_type"].to_numpy(dtype=object)
    types = sorted(measurement.items["query_type"].dropna().unique())
    means = [score for score in scores if score.per_item is not None and score.metric.name in (decide_by, F1)]
    for metric, per_item in ((score.metric.name, np.asarray(score.per_item)) for score in means):
        for kind, name in type_names(types, metric).items():
            yield f"by_type/{name}/{metric}", float(np.mean(per_item[kinds == kind]))
