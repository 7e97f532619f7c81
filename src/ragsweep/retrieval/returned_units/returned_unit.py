"""What is returned for a passage that was found, if that is more than the passage itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from ragsweep.core.limits import Between
from ragsweep.datasets import Document
from ragsweep.datasets.model.dataset import Passage
from ragsweep.text.tokens import Span


@dataclass(frozen=True, kw_only=True)
class ReturnedUnit(ABC):
    """Says which part of its document is returned for each passage; write your own as a subclass with `spans`.

    Parts that overlap are returned as one, so that nothing is read twice. k counts what is returned.

    Attributes:
        score: Of what is returned, which decides its rank: the best, the sum or the mean of the scores of the passages
            that were found in it.
        candidates: How many passages are looked up, of which the best k units are returned. None takes as many as are
            needed until there are k units.
        joins_neighbours: Whether parts between which there is only white space are one, too.
    """

    joins_neighbours: ClassVar[bool] = False

    score: Literal["best", "sum", "mean"] = "best"
    candidates: Annotated[int, Between(1)] | None = None

    @abstractmethod
    def spans(self, documents: Mapping[str, Document], passages: Sequence[Passage]) -> Sequence[Span]:
        """Start and end, in the text of its document, of what is returned for each passage.

        Args:
            documents: All documents by their names (`Passage.source`).
            passages: All passages, those of a document one after another in the order of its text.

        Returns:
            One span for each passage, which holds the passage.
        """
