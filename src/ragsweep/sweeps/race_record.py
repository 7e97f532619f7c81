"""The settings of a race between configurations, its cost, and the configurations that dropped out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, get_type_hints

from annotated_types import Gt, Lt

from ragsweep.config.annotations import expected
from ragsweep.core.errors import ConfigError
from ragsweep.core.json_records import from_record
from ragsweep.core.limits import Between
from ragsweep.statistics.question_race import Promise


class RaceSettings(NamedTuple):
    """The settings of `hydra/sweeper=race`.

    Attributes:
        block: How many questions, or groups of them, are measured in a round.
        level: The largest probability with which the best configuration drops out, at each cutoff.
        promise: Whether it is the best one of `these` questions, or of `new` ones of the same kind.
        margin: A configuration may also drop out if it is better than the leader, by at most this much.
    """

    block: Annotated[int, Between(1)]
    level: Annotated[float, Gt(0), Lt(1)]
    promise: Promise
    margin: Annotated[float, Between(0)]

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> RaceSettings:
        """Check settings, of which there may be others. Raises `ConfigError` for a wrong value."""
        for name, hint in get_type_hints(cls, include_extras=True).items():
            if words := expected(hint, given.get(name)):
                raise ConfigError(f"hydra.sweeper.{name}: found {given.get(name)!r}, expected {words}")
        return cls(*(given[name] for name in cls._fields))


class DroppedOut(NamedTuple):
    """A configuration that was shown not to be the best, and not asked further questions.

    Attributes:
        number: Of its job.
        name: Of its run.
        cutoff: Its cutoff; None without one.
        questions: How many questions it was measured on.
        mean: The mean of the deciding metric over these; never to be compared with means over all.
    """

    number: int
    name: str
    cutoff: int | None
    questions: int
    mean: float


@dataclass(frozen=True)
class RaceRecord:
    """A race that is over.

    Attributes:
        settings: What it was asked to do.
        configurations: How many configurations raced, counting each cutoff.
        questions: How many questions there are.
        evaluations: How many questions were measured, over all configurations.
        dropped: Those that dropped out, in the order of their jobs.
    """

    settings: RaceSettings
    configurations: int
    questions: int
    evaluations: int
    dropped: Sequence[DroppedOut]

    @classmethod
    def of(cls, record: object) -> RaceRecord:
        """Read what `as_record` gives; anybody may have written it. Raises `MalformedError`."""
        fields = record if isinstance(record, dict) else {}
        settings = {name: fields.get(name) for name in RaceSettings._fields}
        return from_record(cls, json.dumps({**fields, "settings": settings}))

    def as_record(self) -> dict[str, Any]:
        """The record in `decision.json`; `of` is the number that a grid would measure."""
        return {
            **self.settings._asdict(),
            "configurations": self.configurations,
            "questions": self.questions,
            "evaluations": self.evaluations,
            "of": self.configurations * self.questions,
            "dropped": [racer._asdict() for racer in self.dropped],
        }

    @property
    def section(self) -> dict[str, list[str]]:
        """A line of the report for each configuration that dropped out."""
        lines = [
            f"{racer.name} after {racer.questions} of {self.questions} questions, with a mean of {racer.mean:.3f} there"
            for racer in self.dropped
        ]
        return {"Dropped out of the race": lines} if lines else {}
