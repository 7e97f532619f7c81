"""What a dataset leaves out: questions that are not measured, and documents that rankings of queries lack."""

from __future__ import annotations

from typing import NamedTuple

from ragsweep.core.terminal import counted_of_all
from ragsweep.datasets.model.faults import Fault


class Unranked(NamedTuple):
    """A document that is left out of the ranking of a query."""

    query_id: str
    source: str


class LeftOut(NamedTuple):
    """The questions of a dataset that are not measured, and the documents that are left out of rankings.

    Attributes:
        faulty: Why each of the selected questions that cannot be used was left out.
        unselected: The ids of the questions that were not selected; None for one whose id cannot be read.
        documents: What a benchmark leaves out of the rankings of its queries. A document need not be in the corpus.
    """

    faulty: tuple[Fault, ...] = ()
    unselected: tuple[str | None, ...] = ()
    documents: tuple[Unranked, ...] = ()

    @property
    def ids(self) -> tuple[str | None, ...]:
        """The ids of these questions; None for one whose id cannot be read."""
        return (*(each.name for each in self.faulty), *self.unselected)

    @property
    def number(self) -> int:
        """How many questions these are."""
        return len(self.ids)

    def of_all(self, asked: int, noun: str = "question") -> str:
        """How many questions are asked, such as `4,162 of 4,183 questions`, or `133 questions` if these are all."""
        return counted_of_all(asked, self.number, noun)
