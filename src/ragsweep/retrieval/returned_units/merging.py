"""What is returned for a query at each cutoff: the parts of documents around what was found, each once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import fsum
from statistics import fmean
from typing import NamedTuple

from ragsweep.core.errors import ConfigError
from ragsweep.datasets import Document
from ragsweep.datasets.model.collection import Page
from ragsweep.datasets.model.dataset import Passage
from ragsweep.retrieval.returned_units.units import ReturnedUnit
from ragsweep.store.code import name_of
from ragsweep.text.tokens import Span

SCORES: Mapping[str, Callable[[Sequence[float]], float]] = {"best": max, "sum": fsum, "mean": fmean}


class Part(NamedTuple):
    """A part of a document that is returned.

    Attributes:
        source: The document.
        start: Offset of its first character in the text of the document.
        end: Offset after its last character.
        ranks: The ranks, from 0, of the passages that were found in it, best first.
        score: Made of the scores of these passages.
    """

    source: str
    start: int
    end: int
    ranks: tuple[int, ...]
    score: float


class Enlarging:
    """Enlarges what is found in a corpus.

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
        joins it, takes no place. With `candidates`, the parts are made of so many passages, and the best c are
        returned.

        Args:
            passages: Positions of the passages that were found, best first.
            scores: Their scores.
            most: The largest cutoff.
        """
        at_cutoffs: list[list[Part]] = []
        if self._unit.candidates is None:
            for parts in self._growing(passages, scores):
                if len(parts) > len(at_cutoffs):
                    at_cutoffs.append(_ordered(parts))
                    if len(at_cutoffs) == most:
                        return at_cutoffs
        together = self.together(passages[: self._unit.candidates], scores)
        return [*at_cutoffs, *(together[:cutoff] for cutoff in range(len(at_cutoffs) + 1, most + 1))]

    def together(self, passages: Sequence[int], scores: Sequence[float]) -> list[Part]:
        """The parts that all of these passages make, best first."""
        return _ordered([*self._growing(passages, scores)][-1]) if passages else []

    def _growing(self, passages: Sequence[int], scores: Sequence[float]) -> Iterator[list[Part]]:
        """The parts that the first passages make, after each of them."""
        parts: list[Part] = []
        for rank, passage in enumerate(passages):
            source = self._passages[passage].source
            parts = self._with(parts, Part(source, *self.spans[passage], (rank,), scores[rank]), scores)
            yield parts

    def first_found(self, part: Part, passages: Sequence[int]) -> Passage:
        """The best passage that was found in a part, of those that were found for the query."""
        return self._passages[passages[part.ranks[0]]]

    def text(self, part: Part) -> str:
        """The text of a part."""
        return self._documents[part.source].text[part.start : part.end]

    def page(self, part: Part) -> Page:
        """The page on which a part begins."""
        return next(page for page in reversed(self._documents[part.source].pages) if page.start <= part.start)

    def _with(self, parts: Sequence[Part], new: Part, scores: Sequence[float]) -> list[Part]:
        """The parts with a further one, in which those that it joins are one."""
        joined = [part for part in parts if self._are_one(part, new)]
        if not joined:
            return [*parts, new]
        together = [*joined, new]
        start, end = min(part.start for part in together), max(part.end for part in together)
        ranks = tuple(sorted(rank for part in together for rank in part.ranks))
        merged = Part(new.source, start, end, ranks, SCORES[self._unit.score]([scores[rank] for rank in ranks]))
        return [merged if part is joined[0] else part for part in parts if part is joined[0] or part not in joined]

    def _are_one(self, one: Part, other: Part) -> bool:
        if one.source != other.source:
            return False
        end, start = min(one.end, other.end), max(one.start, other.start)
        return start < end or (self._unit.joins_neighbours and not self._documents[one.source].text[end:start].strip())


def _ordered(parts: Sequence[Part]) -> list[Part]:
    return sorted(parts, key=lambda part: (-part.score, part.ranks))


def _checked(
    unit: ReturnedUnit, spans: Sequence[Span], passages: Sequence[Passage], documents: Mapping[str, Document]
) -> Sequence[Span]:
    name = f"returns: {name_of(unit)}.spans"
    if len(spans) != len(passages):
        raise ConfigError(f"{name}: found {len(spans)} spans of {len(passages)} passages; expected one for each")
    for passage, (start, end) in zip(passages, spans, strict=True):
        length = len(documents[passage.source].text)
        if not 0 <= start <= passage.start or not passage.end <= end <= length:
            raise ConfigError(
                f"{name}: found ({start}, {end}) for the passage {passage.chunk_id} from {passage.start} to "
                f"{passage.end}; expected a span that holds it, from 0 to {length}"
            )
    return spans
