"""A race: measures blocks of questions, and drops the configurations that are shown not to be the best.

All jobs of a round are one batch of the launcher. What they are to do stands in a file of the sweep's folder, which the
folders of their results share with it on any machine.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from math import isinf
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_type_hints

import numpy as np
import pandas as pd
from annotated_types import Gt, Lt
from hydra.core.utils import JobReturn, JobStatus

from ragsweep import tracking
from ragsweep.config.annotations import expected
from ragsweep.config.run_settings import DEFAULT_SEED
from ragsweep.core.errors import ConfigError, NothingFoundError
from ragsweep.core.limits import Between
from ragsweep.core.terminal import counted, duration
from ragsweep.core.timing import without_timing
from ragsweep.experiment import Experiment
from ragsweep.statistics.intervals import LEVEL, Array
from ragsweep.statistics.racing import Promise, QuestionRace
from ragsweep.store.stage_store import Arrays
from ragsweep.sweeps.race import DroppedOut, RaceRecord
from ragsweep.tasks.metric import Metric

SECONDS_WORTH_SAVING = 10.0  # what a grid takes in all
STAGE = "race"  # of the store

Launch = Callable[[Sequence[Sequence[str]]], Sequence[JobReturn]]


class RaceSettings(NamedTuple):
    """The settings of `hydra/sweeper=race`; see `QuestionRace`.

    Attributes:
        block: How many questions, or groups of them, are measured in a round.
    """

    block: Annotated[int, Between(1)] = 16
    level: Annotated[float, Gt(0), Lt(1)] = LEVEL
    promise: Promise = "these"
    margin: Annotated[float, Between(0)] = 0.0

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> RaceSettings:
        """Check settings. Raises `ConfigError` for a wrong value."""
        for name, hint in get_type_hints(cls, include_extras=True).items():
            if words := expected(hint, given[name]):
                raise ConfigError(f"hydra.sweeper.{name}: found {given[name]!r}, expected {words}")
        return cls(*(given[name] for name in cls._fields))


class Work(NamedTuple):
    """What a job is to do: `ask` some questions; or record that it `dropped` out, with the values that it has."""

    what: Literal["ask", "dropped"]
    questions: Sequence[str]
    values: Sequence[float] = ()


class Racer(NamedTuple):
    """A configuration of a race: the overrides of its job, its name, and its cutoff."""

    overrides: Sequence[str]
    name: str
    cutoff: Any


@dataclass
class Race:
    """One race per cutoff, over one random order of the questions that is drawn before anything is measured.

    Attributes:
        settings: Those of the race.
        metric: The metric that decides.
        order: Groups of questions, by their ids; one alone is a group of one.
        racers: The configurations, in the order of their jobs.
        file: What the jobs of the sweep are to do, as JSON.
    """

    settings: RaceSettings
    metric: Metric
    order: Sequence[Sequence[str]]
    racers: Sequence[Racer]
    file: Path

    def __post_init__(self) -> None:
        self._values: list[list[float]] = [[] for _ in self.racers]  # of the questions so far, in their order
        self._seconds: list[float] = []  # that a question took

    @classmethod
    def of(cls, settings: RaceSettings, first: Experiment, racers: Sequence[Racer], file: Path) -> Race:
        """Draw the order of the questions.

        Raises:
            ConfigError: The task cannot race, or the metric that decides is no mean within bounds.
        """
        metric = first.measured[0]
        if metric.name != first.decide_by or not metric.is_mean or isinf(metric.span):
            problem = "has no bounds" if metric.is_mean and isinf(metric.span) else "is no mean over all questions"
            raise ConfigError(f"decision.metric: {first.decide_by} {problem}, so hydra/sweeper=race cannot compare it")
        if first.task.repeats > 1:
            raise ConfigError(f"repeats: found {first.task.repeats}; hydra/sweeper=race measures once, expected 1")
        groups: dict[str, list[str]] = {}
        for question, group in first.task.questions(first.items).items():
            groups.setdefault(group, []).append(question)
        names = list(groups)
        shuffled = np.random.default_rng(first.settings.get("seed", DEFAULT_SEED)).permutation(len(names))
        return cls(settings, metric, [groups[names[place]] for place in shuffled.tolist()], racers, file)

    @property
    def questions(self) -> int:
        """How many questions there are."""
        return sum(map(len, self.order))

    def run(self, launch: Launch) -> RaceRecord:
        """Race until one configuration is left at each cutoff, or no question; then let the jobs record the results."""
        members: dict[Any, list[int]] = {}
        for place, racer in enumerate(self.racers):
            members.setdefault(racer.cutoff, []).append(place)
        size = len(self.order), self.settings.level, self.settings.promise, self._scaled_margin
        races = [(QuestionRace(len(places), *size), places) for places in members.values()]
        for start in range(0, len(self.order), self.settings.block):
            open_races = [(race, places) for race, places in races if not race.is_over]
            asked = [places[member] for race, places in open_races for member in np.flatnonzero(race.running)]
            if not asked:
                break
            block = self.order[start : start + self.settings.block]
            self._ask(asked, [question for group in block for question in group], launch)
            for race, places in open_races:
                self._observe(race, places, block, sum(map(len, self.order[:start])))
            self._say(races, start == 0)
        dropped = {places[member] for race, places in races for member in np.flatnonzero(race.left_at > 0)}
        dropped = {place for place in dropped if len(self._values[place]) < self.questions}
        self._write({"dropped": {str(place): self._values[place] for place in dropped}, "questions": self._ids})
        left = [
            DroppedOut(racer.name, racer.cutoff, len(self._values[place]), float(np.mean(self._values[place])))
            for place, racer in enumerate(self.racers)
            if place in dropped
        ]
        evaluations = self.questions * (len(self.racers) - len(left)) + sum(racer.questions for racer in left)
        settings = self.settings
        promised = settings.level, settings.promise, settings.margin
        return RaceRecord(len(self.racers), self.questions, evaluations, *promised, left)

    @property
    def _ids(self) -> list[str]:
        """The questions in their order."""
        return [question for group in self.order for question in group]

    @property
    def _largest_group(self) -> int:
        return max(map(len, self.order))

    @property
    def _scaled_margin(self) -> float:
        """The margin of the mean over questions as one of the mean of what `QuestionRace` observes."""
        return self.settings.margin / self.metric.span * self.questions / len(self.order) / self._largest_group

    def _ask(self, places: Sequence[int], questions: Sequence[str], launch: Launch) -> None:
        """Measure some configurations on some questions. One that fails gets no values."""
        self._write({"ask": questions})
        for place, job in zip(places, launch([self.racers[place].overrides for place in places]), strict=True):
            answer = job._return_value if job.status == JobStatus.COMPLETED else None  # the other raises
            if isinstance(answer, dict):  # NaN of a job that was told not to start
                self._values[place] += answer["values"]
                self._seconds.append(answer["seconds"] / len(questions))

    def _observe(self, race: QuestionRace, places: Sequence[int], block: Sequence[Sequence[str]], before: int) -> None:
        """Let a race see the values of a block, a group at a time; so many questions were asked `before`."""
        ends = (before + np.cumsum([len(group) for group in block])).tolist()
        for member, place in enumerate(places):
            if race.running[member] and len(self._values[place]) < ends[-1]:
                race.withdraw(member)
        for start, end in zip([before, *ends], ends, strict=False):
            sums = [self._scaled(self._values[place][start:end]).sum() for place in places]
            if not race.is_over:
                race.observe(np.array(sums) / self._largest_group)

    def _scaled(self, values: Sequence[float]) -> Array:
        """Values of the metric from 0 to 1; higher is better."""
        scaled = (np.array(values) - self.metric.low) / self.metric.span
        return scaled if self.metric.higher_is_better else 1 - scaled

    def _say(self, races: Sequence[tuple[QuestionRace, Sequence[int]]], is_first: bool) -> None:
        """Print how the races stand."""
        if is_first and self._seconds:
            grid = float(np.mean(self._seconds)) * self.questions * len(self.racers)
            if grid < SECONDS_WORTH_SAVING:
                print(f"a grid would take about {duration(grid)}: it is as cheap as a race", file=sys.stderr)
        asked = max(map(len, self._values))
        running = sum(int(race.running.sum()) for race, _ in races)
        of_all = f"of {counted(len(self.racers), 'configuration')}"
        print(f"race: after {asked} of {self.questions} questions, {running} {of_all} are in", file=sys.stderr)

    def _write(self, work: Mapping[str, Any]) -> None:
        draft = self.file.with_suffix(".draft")
        draft.write_text(json.dumps(work), encoding="utf-8")
        draft.replace(self.file)


def work_of(file: Path, number: int) -> Work | None:
    """What the job of this number is to do instead of measuring everything; None if it is to do that."""
    work = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    if "ask" in work:
        return Work("ask", work["ask"])
    values = work.get("dropped", {}).get(str(number))
    return None if values is None else Work("dropped", work["questions"], values)


def do(work: Work, experiment: Experiment, job: tracking.Job) -> Any:
    """Do what `work_of` says, in the job's process."""
    if work.what == "dropped":
        return record_dropped(experiment, job, work)
    experiment.check_keys()
    return measure_some(experiment, work.questions)


def measure_some(experiment: Experiment, questions: Sequence[str]) -> dict[str, Any]:
    """The values of the deciding metric for some questions, and the seconds that this took: kept in the store."""

    def measured() -> Arrays:
        begun = time.perf_counter()
        try:
            values = _values_of(experiment, questions)
        except NothingFoundError:
            metric = experiment.measured[0]
            values = np.full(len(questions), metric.low if metric.higher_is_better else metric.high)
        return {"values": values, "seconds": np.array([time.perf_counter() - begun])}

    inputs = [experiment.digest, experiment.decide_by, list(questions)]
    kept = experiment.store.get(STAGE, inputs, measured)
    return {"values": kept["values"].tolist(), "seconds": float(kept["seconds"][0])}


def record_dropped(experiment: Experiment, job: tracking.Job, work: Work) -> None:
    """Record a configuration that dropped out, under names of its own: its mean is over fewer questions."""
    questions, values = work.questions, work.values
    race = f"dropped after {len(values)} of {counted(len(questions), 'question')}"
    job = replace(job, digest=experiment.digest, measured=experiment.measured, race=race)
    if tracking.finished_before(job) is None:
        metric = experiment.decide_by
        with tracking.record(job) as record:
            experiment.write_config(job.folder, job.overrides)
            results = job.folder / "results"
            results.mkdir(exist_ok=True)
            table = pd.DataFrame({"query_id": questions[: len(values)], metric: values})
            table.to_csv(results / "race.csv", index=False)
            tracking.write_environment(job.folder)
            numbers = {(f"race/{metric}", 0): float(np.mean(values)), ("race/questions", 0): float(len(values))}
            record.log(experiment.params, numbers, experiment.items)
            record.add("config", "results", "environment")
    print(f"{job.name} {race}", flush=True)


def _values_of(experiment: Experiment, questions: Sequence[str]) -> Array:
    alone = len(questions) < len(experiment.task.questions(experiment.items))
    with without_timing() if alone else nullcontext():  # what is timed is kept for all questions
        measurement = experiment.task.measure_some(experiment.items, {*questions})
    score = next(score for score in measurement.scores if score.metric.name == experiment.decide_by)
    values = dict(zip(measurement.items["query_id"], () if score.per_item is None else score.per_item, strict=False))
    if values.keys() != {*questions}:
        found = f"found {counted(len(values), 'value')} for {counted(len(questions), 'question')}"
        raise ConfigError(f"hydra/sweeper=race: {experiment.decide_by}: {found}; expected one for each")
    return np.array([values[question] for question in questions])
