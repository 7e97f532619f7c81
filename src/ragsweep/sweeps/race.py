"""What a race between configurations cost, and which of them it dropped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class DroppedOut:
    """A configuration that was shown not to be the best, and not asked further questions.

    Attributes:
        name: Of its run.
        cutoff: Its cutoff; None without one.
        questions: How many questions it was measured on.
        mean: The mean of the deciding metric over these; never to be compared with means over all.
    """

    name: str
    cutoff: int | None
    questions: int
    mean: float


@dataclass(frozen=True)
class RaceRecord:
    """A race that is over.

    Attributes:
        configurations: How many configurations raced, counting each cutoff.
        questions: How many questions there are.
        evaluations: How many questions were measured, over all configurations.
        level: The largest probability with which the best configuration drops out, at each cutoff.
        promise: Whether it is the best one of `these` questions, or of `new` ones.
        margin: A configuration may also drop out if it is better than the leader, by at most this much.
        dropped: Those that dropped out, in the order of their jobs.
    """

    configurations: int
    questions: int
    evaluations: int
    level: float
    promise: str
    margin: float
    dropped: Sequence[DroppedOut]

    @property
    def of(self) -> int:
        """How many questions a grid would measure."""
        return self.configurations * self.questions

    @property
    def section(self) -> dict[str, list[str]]:
        """What a report says of each configuration that dropped out; a mean over fewer questions is not compared."""
        lines = [
            f"{racer.name} after {racer.questions} of {self.questions} questions, with a mean of {racer.mean:.3f} there"
            for racer in self.dropped
        ]
        return {"Dropped out of the race": lines} if lines else {}

    def as_record(self) -> dict[str, Any]:
        """As `decision.json` has it."""
        return {**asdict(self), "of": self.of}
