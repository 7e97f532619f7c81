"""The rounds of a race, each a batch of jobs of a launcher.

What the jobs are to do stands in a file of the sweep's folder, which any machine shares that writes results there.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from hydra.core.utils import JobReturn, JobStatus

from ragsweep.experiment import Experiment
from ragsweep.race import Answered, Race, measure_some, record_dropped
from ragsweep.sweeps.race_record import RaceRecord
from ragsweep.tracking import Job

Launch = Callable[[Sequence[Sequence[str]]], Sequence[JobReturn]]


class Work(NamedTuple):
    """What a job does instead of measuring all: measure some questions, or record with which values it dropped out."""

    questions: Sequence[str]
    values: Sequence[float] | None = None


def race_of_jobs(race: Race, jobs: Sequence[Sequence[str]], launch: Launch, file: Path) -> RaceRecord:
    """Race the configurations of jobs with these overrides; then the file tells those that dropped out to record it."""

    def ask(places: Sequence[int], questions: Sequence[str]) -> list[Answered | None]:
        _write(file, {"ask": questions})
        returned = launch([jobs[place] for place in places])
        values = [job._return_value if job.status == JobStatus.COMPLETED else None for job in returned]
        return [value if isinstance(value, Answered) else None for value in values]  # NaN: it was told not to start

    record = race.run(ask)
    dropped = {str(racer.number): race.values[racer.number] for racer in record.dropped}
    _write(file, {"dropped": dropped, "questions": race.questions})
    return record


def work_of(file: Path, number: int) -> Work | None:
    """What the job of this number is to do; None if it is to measure all."""
    work = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    if "ask" in work:
        return Work(work["ask"])
    values = work.get("dropped", {}).get(str(number))
    return None if values is None else Work(work["questions"], values)


def do(work: Work, experiment: Experiment, job: Job) -> Answered | None:
    """Do it, in the process of the job."""
    if work.values is None:
        experiment.check_keys()
        return measure_some(experiment, work.questions)
    record_dropped(experiment, job, work.questions, work.values)
    return None


def _write(file: Path, work: Mapping[str, Any]) -> None:
    draft = file.with_suffix(".draft")
    draft.write_text(json.dumps(work), encoding="utf-8")
    draft.replace(file)
