"""What is returned for a query at each cutoff: the parts of documents around what was found, each once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import fsum
from statistics import fmean
from typing import NamedTuple

from ragsweep.core.errors import ConfigError
from ragsweep.datasets import Document
from ragsweep.datasets.model.collection import Page
from ragsweep.datasets.model.dataset import Passage
from ragsweep.retrieval.returned_units.returned_unit import ReturnedUnit
from ragsweep.store.code import name_of
from ragsweep.text.tokens import Span

SCORES: Mapping[str, Callable[[Sequence[float]], float]] = {"best": max, "sum": fsum, "mean": fmean}


class Part(NamedTuple):
    """A part of a document that is returned.

    Attributes:
        source: The document.
        start: Offset of its first character in the text of the document.
        end: Offset after its last character.
        found: The ranks, from 0, of the passages that were found in it, best first.
        score: Made of the scores of these passages.
    """

    source: str
    start: int
    end: int
    found: tuple[int, ...]
    score: float


class Enlarging:
    """Enlarges what is found in a corpus.

    Args:
        unit: Says what is returned for each passage.
        documents: All documents.
        passages: All passages.

    Raises:
        ConfigError: What the unit says is not a part of the document that holds the passage.
    """

    def __init__(self, unit: ReturnedUnit, documents: Sequence[Document], passages: Sequence[Passage]) -> None:
        self._unit, self._passages = unit, passages
        self._documents = {document.source: document for document in documents}
        self.spans = _checked(unit, unit.spans(self._documents, passages), passages, self._documents)

    def at_cutoffs(self, passages: Sequence[int], scores: Sequence[float], most: int) -> list[list[Part]]:
        """What is returned for a query at the cutoffs 1 to `most`, best first.

        At cutoff c, as few of the passages are taken, in their order, as make c parts: one that stands in a part, or
        joins it, takes no place. With `found`, the parts are made of so many passages, and the best c are returned.

        Args:
            passages: Positions of the passages that were found, best first.
            scores: Their scores.
            most: The largest cutoff.
        """
        taken = self._unit.found
        parts: list[Part] = []
        at_cutoffs: list[list[Part]] = []
        for rank, passage in enumerate(passages[:taken]):
            new = Part(self._passages[passage].source, *self.spans[passage], (rank,), scores[rank])
            parts = self._with(parts, new, scores)
            if taken is None and len(parts) > len(at_cutoffs):
                at_cutoffs.append(_ordered(parts))
                if len(at_cutoffs) == most:
                    return at_cutoffs
        ordered = _ordered(parts)
        return [*at_cutoffs, *(ordered[:cutoff] for cutoff in range(len(at_cutoffs) + 1, most + 1))]

    def text(self, part: Part) -> str:
        """The text of a part."""
        return self._documents[part.source].text[part.start : part.end]

    def page(self, part: Part) -> Page:
        """The page on which a part begins."""
        return next(page for page in reversed(self._documents[part.source].pages) if page.start <= part.start)

    def _with(self, parts: Sequence[Part], new: Part, scores: Sequence[float]) -> list[Part]:
        """The parts with a further one, in which those that it joins are one."""
        joined = [each for each in parts if self._are_one(each, new)]
        if not joined:
            return [*parts, new]
        together = [*joined, new]
        start, end = min(each.start for each in together), max(each.end for each in together)
        found = tuple(sorted(rank for each in together for rank in each.found))
        whole = Part(new.source, start, end, found, SCORES[self._unit.score]([scores[rank] for rank in found]))
        return [whole if each is joined[0] else each for each in parts if each is joined[0] or each not in joined]

    def _are_one(self, one: Part, other: Part) -> bool:
        if one.source != other.source:
            return False
        end, start = min(one.end, other.end), max(one.start, other.start)
        return start < end or (self._unit.joins_neighbours and not self._documents[one.source].text[end:start].strip())


def _ordered(parts: Sequence[Part]) -> list[Part]:
    return sorted(parts, key=lambda each: (-each.score, each.found))


def _checked(
    unit: ReturnedUnit, spans: Sequence[Span], passages: Sequence[Passage], documents: Mapping[str, Document]
) -> Sequence[Span]:
    name = f"returns: {name_of(unit)}.spans"
    if len(spans) != len(passages):
        raise ConfigError(f"{name}: found {len(spans)} spans of {len(passages)} passages; expected one for each")
    for each, (start, end) in zip(passages, spans, strict=True):
        length = len(documents[each.source].text)
        if not 0 <= start <= each.start or not each.end <= end <= length:
            raise ConfigError(
                f"{name}: found ({start}, {end}) for the passage {each.chunk_id} from {each.start} to {each.end}; "
                f"expected a span that holds it, from 0 to {length}"
            )
    return spans
