"""The neighbourhood of a passage as what is returned."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Annotated, ClassVar, Literal

from ragsweep.core.limits import Between
from ragsweep.datasets import Document
from ragsweep.datasets.model.dataset import Passage
from ragsweep.retrieval.returned_units.returned_unit import ReturnedUnit
from ragsweep.text.sentences import LIBRARIES, sentences_of
from ragsweep.text.tokens import Span, stripped


@dataclass(frozen=True, kw_only=True)
class WindowUnit(ReturnedUnit):
    """A passage with its neighbours on both sides, across pages. Windows between which nothing is left out are one.

    Attributes:
        size: How many neighbours on each side.
        of: What the neighbours are: `passages`, or `sentences` of the document.
    """

    joins_neighbours: ClassVar[bool] = True
    libraries: ClassVar[Sequence[str]] = LIBRARIES

    size: Annotated[int, Between(0)] = 1
    of: Literal["passages", "sentences"] = "passages"

    def spans(self, documents: Mapping[str, Document], passages: Sequence[Passage]) -> Sequence[Span]:
        """From the first neighbour before the passage to the last one behind it, as far as the document has any."""
        found: list[Span] = []
        for source, group in groupby(passages, key=lambda each: each.source):
            its = [(each.start, each.end) for each in group]
            if self.of == "sentences":
                found += self._sentences_around(documents[source].text, its)
            else:
                found += (self._around(its, place, place) for place in range(len(its)))
        return found

    def _sentences_around(self, text: str, passages: Iterable[Span]) -> Iterable[Span]:
        sentences = [stripped(text, *span) for span in sentences_of(text)]
        starts, ends = zip(*sentences, strict=True)
        for start, end in passages:
            first, last = bisect_right(ends, start), bisect_left(starts, end) - 1
            around = self._around(sentences, first, last)
            yield min(start, around[0]), max(end, around[1])

    def _around(self, spans: Sequence[Span], first: int, last: int) -> Span:
        near = spans[max(0, first - self.size) : last + self.size + 1]
        return min(start for start, _ in near), max(end for _, end in near)
