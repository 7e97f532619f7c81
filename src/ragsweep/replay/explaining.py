"""Explains the results of a recorded run for one query."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory

from ragsweep import tracking
from ragsweep.core.errors import ConfigError
from ragsweep.core.project import project
from ragsweep.replay.returned_record import recorded_experiment
from ragsweep.replay.trusted_record import composed_today
from ragsweep.tasks.task import Record


def explain(run_id: str, query: str, overrides: Sequence[str], modules: Sequence[str], width: int) -> str:
    """The explanation as text, for a terminal that is `width` characters wide. Records nothing.

    Args:
        run_id: The run.
        query: The id of a query, or a part of its text that is in no other query. Empty if none was named.
        overrides: `name=value`: the places of stores and data on this machine.
        modules: Modules outside ragsweep whose classes the record may name.
        width: That of the terminal.
    """
    today, settings = composed_today(overrides)
    run = tracking.fetch_run(today.tracking, run_id)
    if not query:
        raise ConfigError(f"{run_id}: which query? expected its id or a part of its text, after the run")
    with chdir(project()), TemporaryDirectory(prefix="explain-") as folder:  # paths of records start at the project
        experiment, how = recorded_experiment(run, today, settings, modules, Path(folder))
        task = experiment.task
        record = Record(run.name, run.run_id, run.per_query, run.params)
        return "\n".join([*([how] if how else []), *task.explain(experiment.items, query, record, width)])
