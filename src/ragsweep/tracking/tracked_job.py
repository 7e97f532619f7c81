"""What is recorded of a run besides its measurement, and the tags made of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mlflow.entities import Run
from omegaconf import DictConfig

from ragsweep.core.project import portable
from ragsweep.store.code import digest_of_code
from ragsweep.tasks.metric import Metric
from ragsweep.tracking.names import json_tag
from ragsweep.tracking.process import process_identity
from ragsweep.tracking.recorded_environment import git_commit, is_dirty, untracked, user

LONGEST_COMMAND = 5000  # characters of a tag
VIRIDIS = "472d7b 3b528b 2c728e 21918c 28ae80 5ec962 addc30".split()  # what is seen on white and on black

COLOUR = "mlflow.runColor"
DIGEST = "config.digest"  # tag: digest of everything that decides a run's results
NUMBER = "sweep.job"  # tag: the number of a run within its sweep
MEASURED = "measured"  # tag: titles of a run's metrics by name, as JSON; the first is the one that decides
LOWER_IS_BETTER = "measured.lower_is_better"  # tag: set if lower values of the deciding metric are better
PARENT = "mlflow.parentRunId"
PROCESS = "process"  # tag: which process the run belongs to
DECIDED = "sweep.decided"  # tag: marks the parent run of a sweep whose metrics are those of the decision
HEADLINE = "best.headline"  # tag of a parent run: the headline of its decision
SCHEMA, RUN_SCHEMA = "schema", "1"  # tag: which form a run's record has
SWEPT = "sweep.values"  # tag: the swept settings of a run with their values, as JSON


def is_measured(run: Run) -> bool:
    """Whether a run has measured something itself; the parent run of a sweep has metrics, too."""
    return bool(run.data.metrics) and DECIDED not in run.data.tags


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
        reproduces: The run that this one reproduces.
        measured: The metrics. The first is the one that decides.
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
    reproduces: str | None = None
    measured: Sequence[Metric] = ()

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
        optional = {DIGEST: self.digest, NUMBER: self.number, PARENT: self.parent_run_id}
        optional |= {"reproduces": self.reproduces}
        if self.number is not None and self.total:
            optional[COLOUR] = colour(self.number, self.total)
        return tags | {name: str(value) for name, value in optional.items() if value is not None}


def colour(number: int, total: int) -> str:
    """The colour of a job in the UI, from dark for the first to light for the last. No two jobs have the same colour.

    MLflow's own choice often gives neighbouring runs the same one.

    Args:
        number: The job's number, from 0.
        total: How many jobs there are.

    Returns:
        Such as "#21918c".
    """
    place = number / max(total - 1, 1) * (len(VIRIDIS) - 1)
    before = min(int(place), len(VIRIDIS) - 2)
    pairs = zip(bytes.fromhex(VIRIDIS[before]), bytes.fromhex(VIRIDIS[before + 1]), strict=True)
    return f"#{bytes(round(low + (high - low) * (place - before)) for low, high in pairs).hex()}"
