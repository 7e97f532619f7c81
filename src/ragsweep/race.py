"""A race between the configurations of a sweep: losers are dropped before they are measured on all questions.

The questions come in one random order, drawn before anything is measured. Round by round, all configurations that are
still in the race are measured on the next block of them, one race per cutoff. Who is shown not to be the best drops
out; the others are measured on all questions, like the runs of any sweep.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import isinf
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ragsweep import tracking
from ragsweep.config.run_settings import DEFAULT_SEED
from ragsweep.core.errors import ConfigError, NothingFoundError
from ragsweep.core.terminal import counted, duration
from ragsweep.core.timing import without_timing
from ragsweep.experiment import Experiment
from ragsweep.statistics.intervals import Array
from ragsweep.statistics.question_race import QuestionRace
from ragsweep.store.stage_store import Arrays
from ragsweep.sweeps.race_record import DroppedOut, RaceRecord, RaceSettings
from ragsweep.tasks.metric import Metric

SECONDS_WORTH_SAVING = 10.0  # what a grid takes in all
STAGE = "race"  # of the store


class Answered(NamedTuple):
    """The values of the deciding metric for some questions, in their order, and the seconds that this took."""

    values: list[float]
    seconds: float


Ask = Callable[[Sequence[int], Sequence[str]], Sequence[Answered | None]]  # some configurations some questions


class Racer(NamedTuple):
    """A configuration of a race: the name of its run, and its cutoff."""

    name: str
    cutoff: Any


@dataclass
class Race:
    """A race at each cutoff.

    Attributes:
        settings: Its settings.
        metric: The metric that decides.
        order: The questions, by their ids, in groups that depend on each other; most are alone.
        racers: The configurations, in the order of their jobs.
        values: What each racer has reached, of the questions in their order.
    """

    settings: RaceSettings
    metric: Metric
    order: Sequence[Sequence[str]]
    racers: Sequence[Racer]
    values: list[list[float]] = field(init=False)

    def __post_init__(self) -> None:
        self.values = [[] for _ in self.racers]

    @classmethod
    def of(cls, settings: RaceSettings, first: Experiment, racers: Sequence[Racer]) -> Race:
        """Draw the order of the questions, for configurations like the first one.

        Raises:
            ConfigError: They cannot race.
        """
        metric = first.measured[0]
        if metric.name != first.decide_by or not metric.is_mean or isinf(metric.span):
            problem = "has no bounds" if metric.is_mean and isinf(metric.span) else "is no mean over all questions"
            raise ConfigError(f"decision.metric: {first.decide_by} {problem}, so hydra/sweeper=race cannot compare it")
        if first.task.repeats > 1:
            raise ConfigError(f"repeats: found {first.task.repeats}; hydra/sweeper=race measures once, expected 1")
        groups: dict[str, list[str]] = {}
        for question, group in first.task.item_groups(first.items).items():
            groups.setdefault(group, []).append(question)
        alone = [*groups.values()]
        shuffled = np.random.default_rng(first.settings.get("seed", DEFAULT_SEED)).permutation(len(alone))
        return cls(settings, metric, [alone[place] for place in shuffled.tolist()], racers)

    @property
    def questions(self) -> list[str]:
        """The questions in their order."""
        return [question for group in self.order for question in group]

    def run(self, ask: Ask) -> RaceRecord:
        """Race until one configuration is left at each cutoff, or no question.

        Args:
            ask: Measures some racers on some questions; None for one that fails, which leaves the race.
        """
        size = max(map(len, self.order))
        margin = self.settings.margin / self.metric.span * len(self.questions) / len(self.order) / size
        members: dict[Any, list[int]] = {}
        for place, racer in enumerate(self.racers):
            members.setdefault(racer.cutoff, []).append(place)
        races = [
            (QuestionRace(len(places), len(self.order), self.settings.level, self.settings.promise, margin), places)
            for places in members.values()
        ]
        asked = 0
        for start in range(0, len(self.order), self.settings.block):
            open_races = [(race, places) for race, places in races if not race.is_over]
            if not open_races:
                break
            block = self.order[start : start + self.settings.block]
            in_race = [places[member] for race, places in open_races for member in np.flatnonzero(race.running)]
            answers = ask(in_race, [question for group in block for question in group])
            for place, answer in zip(in_race, answers, strict=True):
                self.values[place] += answer.values if answer else []
            ends = [asked, *(asked + np.cumsum([len(group) for group in block])).tolist()]
            for race, places in open_races:
                for member in np.flatnonzero(race.running):
                    if len(self.values[places[member]]) < ends[-1]:
                        race.withdraw(int(member))
                for group in pairwise(ends):
                    if not race.is_over:
                        race.observe(np.array([self._sum(place, *group) for place in places]) / size)
            if not start:
                self._say_price([answer.seconds / ends[-1] for answer in answers if answer])
            asked = ends[-1]
            running = sum(int(race.running.sum()) for race, _ in races)
            state = f"after {asked} of {counted(len(self.questions), 'question')}"
            print(f"race: {state}, {running} of {counted(len(self.racers), 'configuration')} left", file=sys.stderr)
        return self._record({places[member] for race, places in races for member in np.flatnonzero(race.left_at > 0)})

    def _sum(self, place: int, start: int, end: int) -> float:
        """The sum of a racer's values of some questions, each from 0 to 1 and higher if better."""
        scaled = (np.array(self.values[place][start:end]) - self.metric.low) / self.metric.span
        return float((scaled if self.metric.higher_is_better else 1 - scaled).sum())

    def _say_price(self, seconds: Sequence[float]) -> None:
        """Print it if a grid costs next to nothing; `seconds` is the time of a question in the first round."""
        grid = float(np.median(seconds or [0])) * len(self.questions) * len(self.racers)
        if seconds and grid < SECONDS_WORTH_SAVING:
            print(f"a grid would take about {duration(grid)}: it is as cheap as a race", file=sys.stderr)

    def _record(self, dropped: set[int]) -> RaceRecord:
        """The record of the race; who dropped out at the last question was measured on all."""
        racers = [
            DroppedOut(place, *racer, len(values), float(np.mean(values)))
            for place, (racer, values) in enumerate(zip(self.racers, self.values, strict=True))
            if place in dropped and len(values) < len(self.questions)
        ]
        number, every = len(self.racers), len(self.questions)
        evaluations = every * (number - len(racers)) + sum(racer.questions for racer in racers)
        return RaceRecord(self.settings, number, every, evaluations, racers)


def measure_some(experiment: Experiment, questions: Sequence[str]) -> Answered:
    """Measure a configuration on some questions, which is kept in the store."""

    def measured() -> Arrays:
        begun = time.perf_counter()
        try:
            values = _values_of(experiment, questions)
        except NothingFoundError:
            metric = experiment.measured[0]
            values = np.full(len(questions), metric.low if metric.higher_is_better else metric.high)
        return {"values": values, "seconds": np.array([time.perf_counter() - begun])}

    kept = experiment.store.get(STAGE, [experiment.digest, experiment.decide_by, list(questions)], measured)
    return Answered(kept["values"].tolist(), float(kept["seconds"][0]))


def _values_of(experiment: Experiment, questions: Sequence[str]) -> Array:
    alone = len(questions) < len(experiment.task.item_groups(experiment.items))
    with without_timing() if alone else nullcontext():  # what is timed is kept for all questions
        measurement = experiment.task.measure_some(experiment.items, {*questions})
    score = next(score for score in measurement.scores if score.metric.name == experiment.decide_by)
    values = dict(zip(measurement.items["query_id"], () if score.per_item is None else score.per_item, strict=False))
    if values.keys() != {*questions}:
        counts = f"found {counted(len(values), 'value')} for {counted(len(questions), 'question')}"
        raise ConfigError(f"hydra/sweeper=race: {experiment.decide_by}: {counts}; expected one for each")
    return np.array([values[question] for question in questions])


def record_dropped(
    experiment: Experiment, job: tracking.Job, questions: Sequence[str], values: Sequence[float]
) -> None:
    """Record a configuration that dropped out, under names of its own: its mean is over the first questions alone."""
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
