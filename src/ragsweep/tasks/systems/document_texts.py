"""Finds texts that came from elsewhere in the documents, by their characters."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ragsweep.datasets import Dataset
from ragsweep.datasets.model.collection import PAGE_BREAK
from ragsweep.datasets.model.dataset import Passage
from ragsweep.text.tokens import plain_words

MOST_COMPARED = 3  # pages around which a text is looked for by the likeness of its characters
LEAST_SAME = 8  # characters in a row: fewer can be the same by chance in what stands around a text
FEWEST_CHARACTERS = 20  # of a text that is looked for: a few words can stand anywhere


class Spot(NamedTuple):
    """Where a text stands: the document, and the offsets of its first character and after its last one."""

    source: str
    start: int
    end: int


class DocumentTexts:
    """The texts of the documents of a dataset whose passages are its pages."""

    def __init__(self, dataset: Dataset) -> None:
        self._pages: Sequence[Passage] = dataset.passages
        self._of_document: dict[str, list[int]] = {}
        for number, page in enumerate(dataset.passages):
            self._of_document.setdefault(page.source, []).append(number)
        self._read: dict[str, _Document] = {}
        self._found: dict[tuple[str, float, str], tuple[Spot, ...]] = {}

    def spots(self, text: str, least: float, source: str = "") -> tuple[Spot, ...]:
        """Where a text stands exactly but for white space; where it does not, the place that is most like it.

        Args:
            text: The text.
            least: The likeness that it needs, from 0 to 1: the share of its characters that are the same and in order.
            source: The document; empty for any.
        """
        wanted = " ".join(text.split())
        if len(wanted) < FEWEST_CHARACTERS:
            return ()
        key = (wanted, least, source)
        if key not in self._found:
            names = [source] if source else self._holding(wanted)
            exact = tuple(spot for name in names for spot in self._document(name).spots(wanted))
            self._found[key] = exact or (self._most_alike(wanted, least, source) if least < 1 else ())
        return self._found[key]

    def _holding(self, wanted: str) -> Sequence[str]:
        """The documents that have all words of a text but the first and the last one, of which it may have a part."""
        inner = {*plain_words(" ".join(wanted.split(" ")[1:-1]))}
        documents = [*self._of_document]
        if not inner:
            return documents
        number = self._words.numbers(inner)
        if len(number) < len(inner):
            return []
        held = self._words.in_documents[number].sum(axis=0)
        return [documents[each] for each in np.flatnonzero(held == len(inner))]

    def _most_alike(self, wanted: str, least: float, source: str) -> tuple[Spot, ...]:
        from rapidfuzz.fuzz import partial_ratio_alignment

        of_page = self._words.on_pages[self._words.numbers({*plain_words(wanted)})].sum(axis=0)
        pages = np.array(self._of_document[source]) if source else np.arange(len(self._pages))
        found = []
        for number in pages[np.argsort(-of_page[pages], kind="stable")[:MOST_COMPARED]].tolist():
            page = self._pages[number]
            document = self._document(page.source)
            around = document.around(page.start, page.end, len(wanted))
            text = document.text[around]
            if len(text) >= len(wanted):
                alignment = partial_ratio_alignment(wanted, text, score_cutoff=100 * least)
                if alignment is not None and alignment.dest_end > alignment.dest_start:
                    part = slice(alignment.dest_start, alignment.dest_end)
                    start, end = (around.start + part.start + each for each in _same(wanted, text[part]))
                    found.append((alignment.score, document.spot(start, end)))
        return (max(found, key=lambda each: each[0])[1],) if found else ()

    def _document(self, source: str) -> _Document:
        if source not in self._read:
            pages = [self._pages[number] for number in self._of_document[source]]
            self._read[source] = _Document.of(source, pages)
        return self._read[source]

    @cached_property
    def _words(self) -> _Words:
        return _Words.of([page.text for page in self._pages], [*self._of_document.values()])


def _same(wanted: str, text: str) -> tuple[int, int]:
    """The offsets in a text between which it is the same; what is before and after is of another page, or by chance."""
    from rapidfuzz.distance import LCSseq

    same = [
        (each.dest_start, each.dest_end)
        for each in LCSseq.opcodes(wanted, text)
        if each.tag == "equal" and each.dest_end - each.dest_start >= LEAST_SAME
    ]
    start, end = (same[0][0], same[-1][1]) if same else (0, len(text))
    return start + text.startswith(" ", start), end - text.endswith(" ", start, end)


class _Document(NamedTuple):
    """A document with single spaces for white space, and where its words begin: in this text, and in the document."""

    source: str
    text: str
    here: Sequence[int]
    there: Sequence[int]

    @classmethod
    def of(cls, source: str, pages: Sequence[Passage]) -> _Document:
        """The document of some pages, with page breaks for what is on no page."""
        parts, length = [], 0
        for page in pages:
            parts += [PAGE_BREAK * (page.start - length), page.text]
            length = max(length, page.start) + len(page.text)
        words = [*re.finditer(r"\S+", "".join(parts))]
        lengths = [len(word[0]) + 1 for word in words]
        here = np.concatenate([[0], np.cumsum(lengths[:-1], dtype=np.int64)]).tolist()
        return cls(source, " ".join(word[0] for word in words), here, [word.start() for word in words])

    def spots(self, wanted: str) -> Iterator[Spot]:
        """Everywhere that a text stands."""
        at = self.text.find(wanted)
        while at >= 0:
            yield self.spot(at, at + len(wanted))
            at = self.text.find(wanted, at + 1)

    def spot(self, start: int, end: int) -> Spot:
        """The place in the document of a part of the text."""
        return Spot(self.source, self._offset(start), self._offset(end - 1) + 1)

    def around(self, start: int, end: int, more: int) -> slice:
        """The part of the text between two offsets of the document, and so many more characters on both sides."""
        first, last = (self.here[max(0, bisect_right(self.there, at) - 1)] for at in (start, end))
        return slice(max(0, first - more), last + more)

    def _offset(self, at: int) -> int:
        word = bisect_right(self.here, at) - 1
        return self.there[word] + at - self.here[word]


class _Words(NamedTuple):
    """Which words are where, each as a matrix of shape [words, pages] or [words, documents] of 1 and 0."""

    known: Mapping[str, int]
    on_pages: Any
    in_documents: Any

    @classmethod
    def of(cls, pages: Sequence[str], documents: Sequence[Sequence[int]]) -> _Words:
        """The words of the texts of pages, and of documents as the numbers of their pages."""
        from scipy.sparse import csr_array

        known: dict[str, int] = {}
        on_page = [{known.setdefault(word, len(known)) for word in plain_words(text)} for text in pages]
        in_document = [set().union(*(on_page[number] for number in some)) for some in documents]

        def matrix(parts: Sequence[set[int]]) -> Any:
            words = np.array([word for part in parts for word in part], dtype=np.int64)
            columns = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
            ones = np.ones(len(words), dtype=np.int32)
            return csr_array((ones, (words, columns)), shape=(len(known), len(parts)))

        return cls(known, matrix(on_page), matrix(in_document))

    def numbers(self, words: set[str]) -> npt.NDArray[np.int64]:
        """The rows of those words that are anywhere."""
        return np.array(sorted(self.known[word] for word in words if word in self.known), dtype=np.int64)
