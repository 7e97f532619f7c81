"""What is returned for a passage that was found, if that is more than the passage itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Annotated, ClassVar, Literal

from ragsweep.core.errors import ConfigError
from ragsweep.core.limits import Between
from ragsweep.datasets import Document
from ragsweep.datasets.model.chunking import Chunker, cut
from ragsweep.datasets.model.dataset import Passage
from ragsweep.store.component import Component
from ragsweep.store.stage_store import NO_STORE, Store
from ragsweep.text.sentences import LIBRARIES, sentences_of
from ragsweep.text.tokens import Span, stripped


@dataclass(frozen=True, kw_only=True)
class ReturnedUnit(Component, ABC):
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


@dataclass(frozen=True, kw_only=True)
class PageUnit(ReturnedUnit):
    """The page of a passage; of a passage of several pages, all of these."""

    def spans(self, documents: Mapping[str, Document], passages: Sequence[Passage]) -> Sequence[Span]:
        """From the beginning of the passage's first page to the end of its last one, without white space around."""
        starts = {source: [page.start for page in document.pages] for source, document in documents.items()}
        spans = []
        for passage in passages:
            document, of_pages = documents[passage.source], starts[passage.source]
            first, last = (bisect_right(of_pages, place) - 1 for place in (passage.start, passage.end - 1))
            spans.append(stripped(document.text, document.pages[first].start, document.pages[last].end))
        return spans


@dataclass(frozen=True, kw_only=True)
class DocumentUnit(ReturnedUnit):
    """The whole document of a passage."""

    def spans(self, documents: Mapping[str, Document], passages: Sequence[Passage]) -> Sequence[Span]:
        """The text of the passage's document, without white space around."""
        span_of = {source: stripped(document.text, 0, len(document.text)) for source, document in documents.items()}
        return [span_of[passage.source] for passage in passages]


@dataclass(frozen=True, kw_only=True)
class ParentUnit(ReturnedUnit):
    """The chunk of a second, larger chunker that holds a passage; if none holds all of it, the chunks that together do.

    Attributes:
        chunker: Cuts the documents into these chunks.
        store: Keeps where it has cut them.
    """

    chunker: Chunker
    store: Store = NO_STORE

    def spans(self, documents: Mapping[str, Document], passages: Sequence[Passage]) -> Sequence[Span]:
        """The first chunk that holds the passage, or from the first to the last chunk that has a part of it."""
        parents_of = dict(zip(documents, cut([*documents.values()], self.chunker, self.store), strict=True))
        starts = {source: [start for start, _ in spans] for source, spans in parents_of.items()}
        ends = {source: [end for _, end in spans] for source, spans in parents_of.items()}
        holders = []
        for passage in passages:
            first = bisect_right(ends[passage.source], passage.start)
            last = bisect_left(starts[passage.source], passage.end)
            parents = parents_of[passage.source][first:last]
            if not parents:
                raise ConfigError(
                    f"returns.chunker: leaves out the passage {passage.chunk_id}; expected one that keeps all"
                )
            holding = (span for span in parents if span[0] <= passage.start and passage.end <= span[1])
            holders.append(next(holding, (min(parents[0][0], passage.start), max(parents[-1][1], passage.end))))
        return holders


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
        spans: list[Span] = []
        for source, group in groupby(passages, key=lambda passage: passage.source):
            spans_of_document = [(passage.start, passage.end) for passage in group]
            if self.of == "sentences":
                spans += self._sentences_around(documents[source].text, spans_of_document)
            else:
                spans += (self._around(spans_of_document, place, place) for place in range(len(spans_of_document)))
        return spans

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
