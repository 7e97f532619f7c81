"""Which passages of a dataset the points of somebody else's collection stand for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote

import numpy as np

from ragsweep.core.arrays import NOTHING
from ragsweep.core.errors import RetrieverError
from ragsweep.core.timing import UNTIMED
from ragsweep.core.trec_files import strictly_falling
from ragsweep.retrieval.ranking import Names, Ranking
from ragsweep.text.normalisation import composed
from ragsweep.text.tokens import words
from ragsweep_engines.qdrant.page_texts import Places, Point, fields_of, misplaced
from ragsweep_engines.qdrant.qdrant_collection import Hit

FIELDS = ("passage", "source", "page", "text")  # what a point may tell of itself
LEAST_SHARED_WORDS = 0.5  # of the words of the shorter of two texts that are the same place of a document


class Matcher:
    """Finds the passages of points by what their payload says.

    A point is a passage by its id; or it is in a page or document that is judged, and stands for the passage of it that
    shares most words with the point's text and has not been ranked before; or, where documents are known and their
    pages are judged, for the passage of its document that shares most words with its text, and at least half of them.

    Args:
        names: Of the dataset.
        texts: Of the dataset's passages.
        fields: The fields of the payload that have the passage, the source, the page and the text.

    Attributes:
        unknown: Points that the dataset does not know, as their payload names them, with how often they were found.
        repeated: How many hits were left out because all passages that they could stand for were ranked before them.

    Raises:
        RetrieverError: Spans are judged, and a passage of the dataset would be measured in place of each point.
    """

    def __init__(self, names: Names, texts: Sequence[str], fields: Mapping[str, str | None]) -> None:
        self._fields = fields
        self._passages = {composed(name): passage for passage, name in enumerate(names.passages)}
        self._units = _by_name(names.units)
        self._documents = _by_name(names.documents)
        judges_passages = names.units == names.passages != names.documents
        if judges_passages and not fields.get("passage"):
            raise RetrieverError(
                "retriever=qdrant: spans are judged, and passages of the dataset would be measured in place of the "
                "collection's; use judgments of pages, or retriever=callable with a function that searches the "
                "collection and returns its texts (retriever.payload.passage is for points that are passages of the "
                "dataset)"
            )
        self._judges_pages = not judges_passages and names.units != names.documents
        self._words = cache(lambda passage: _words(texts[passage]))
        self._names = names
        self._found: dict[Any, tuple[int, ...]] = {}
        self._hits: dict[Any, Hit] = {}
        self.unknown: Counter[str] = Counter()
        self.repeated = 0

    def passages(self, hits: Sequence[Hit]) -> tuple[list[int], list[float]]:
        """The passages of a query's hits, and their scores, best first."""
        scores: dict[int, float] = {}
        for hit in hits:
            if hit.point not in self._found:
                self._found[hit.point], self._hits[hit.point] = tuple(self._candidates(hit)), hit
            candidates = self._found[hit.point]
            free = next((passage for passage in candidates if passage not in scores), None)
            if not candidates:
                self.unknown[self._name(hit)] += 1
            elif free is None:
                self.repeated += 1
            else:
                scores[free] = hit.score
        return [*scores], [*scores.values()]

    def misplaced(self) -> str:
        """What is said of points whose text is not that of the unit that they are matched to; mostly nothing."""
        places = Places(self._names.units, self._names.documents, self._words)
        points = [
            Point(_words(text), self._names.units[found[0]], fields_of(hit.payload), self._said(hit, "page"))
            for point, hit in self._hits.items()
            if (found := self._found[point]) and (text := self._said(hit, "text"))
        ]
        return misplaced(points, places)

    def _candidates(self, hit: Hit) -> Sequence[int]:
        """The passages that a point can stand for, the likeliest first."""
        passage = self._passages.get(composed(self._said(hit, "passage")))
        if passage is not None:
            return [passage]
        text = self._said(hit, "text")
        for source in _sources(composed(self._said(hit, "source"))):
            unit = composed(f"{source}#{self._said(hit, 'page')}" if self._fields.get("page") else source)
            if unit in self._units:
                return self._by_words(text, self._units[unit])
            if source in self._documents and text and self._judges_pages:
                of_document = self._by_words(text, self._documents[source])
                return [each for each in of_document[:1] if self._shared(text, each) >= LEAST_SHARED_WORDS]
        return []

    def _by_words(self, text: str, passages: Sequence[int]) -> Sequence[int]:
        if len(passages) == 1 or not text:
            return passages
        return sorted(passages, key=lambda passage: -self._shared(text, passage))

    def _shared(self, text: str, passage: int) -> float:
        """The share of the words of the shorter text that the other one has, too."""
        ours, theirs = self._words(passage), _words(text)
        shorter = min(ours.total(), theirs.total())
        return (ours & theirs).total() / shorter if shorter else 0.0

    def _said(self, hit: Hit, what: str) -> str:
        """What the payload of a point says; a name with dots leads to an inner field."""
        value: Any = hit.payload
        for part in (self._fields.get(what) or "").split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        value = value[0] if isinstance(value, list) and len(value) == 1 else value
        value = int(value) if isinstance(value, float) and value.is_integer() else value  # pandas makes 3.0 of 3
        return "" if value is None else str(value)

    def _name(self, hit: Hit) -> str:
        said = [self._said(hit, what) for what in FIELDS[:3]]
        return "#".join(filter(None, said)) or f"point {hit.point}"


def _by_name(names: Sequence[str]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for passage, name in enumerate(names):
        found.setdefault(composed(name), []).append(passage)
    return found


def _sources(source: str) -> Iterator[str]:
    """The names that a source can have in the dataset: its path, and the last part of it."""
    if source:
        yield source
        name = PurePosixPath(source.replace("\\", "/")).name
        yield from dict.fromkeys((name, composed(unquote(name))))  # also of an address


@cache
def _words(text: str) -> Counter[str]:
    return Counter(words(text))


def ranking_of(rows: Sequence[tuple[Sequence[int], Sequence[float]]]) -> Ranking:
    """The ranking with these passages and scores for each query."""
    width = max(1, *(len(passages) for passages, _ in rows))
    passages, scores = np.full((len(rows), width), NOTHING), np.full((len(rows), width), -np.inf)
    for row, (found, scored) in enumerate(rows):
        passages[row, : len(found)], scores[row, : len(found)] = found, scored
    return Ranking(passages, np.where(passages == NOTHING, -np.inf, strictly_falling(scores)), UNTIMED)
