"""Why a query of a recorded run was answered as it was."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import chdir
from dataclasses import dataclass

from ragsweep import tracking
from ragsweep.core.code import kind_of
from ragsweep.core.errors import ConfigError
from ragsweep.core.project import project
from ragsweep.experiment import Experiment
from ragsweep.replay.recorded import composed_today, trusted
from ragsweep.tasks.task import Record


@dataclass(frozen=True)
class Question:
    """What to explain.

    Attributes:
        run_id: Of a run.
        query: The id of a query, or a part of its text that no other query has.
        overrides: `name=value`: where the stores and data of the record are on this machine.
        modules: Modules outside of ragsweep whose classes the record may name.
    """

    run_id: str
    query: str
    overrides: Sequence[str]
    modules: Sequence[str]


def explain(question: Question, width: int) -> str:
    """The explanation as text, for a terminal of so many columns; nothing is recorded."""
    today, settings = composed_today(question.overrides)
    run = tracking.fetch_run(today.tracking, question.run_id)
    with chdir(project()):  # a record means paths inside the project, wherever we are
        experiment = Experiment.of(trusted(run.config, today, settings, question.modules))
        task_explains = getattr(experiment.task, "explain", None)
        if not callable(task_explains):
            raise ConfigError(f"{question.run_id}: {kind_of(experiment.task)} does not explain its runs")
        record = Record(run.name, run.run_id, run.per_query, run.params)
        return "\n".join(task_explains(experiment.items, question.query, record, width))
