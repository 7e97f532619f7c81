"""Finds texts that came from elsewhere in the documents, by their characters."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

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
        self._pages: dict[str, list[Passage]] = {}
        for page in dataset.passages:
            self._pages.setdefault(page.source, []).append(page)
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
            exact = tuple(self._exact(wanted, source))
            self._found[key] = exact or (self._most_alike(wanted, least, source) if least < 1 else ())
        return self._found[key]

    def _exact(self, wanted: str, source: str) -> Iterator[Spot]:
        """Everywhere that a text stands. All documents are one text, with a page break between them."""
        documents = self._documents
        first, last = (documents.begins[source], documents.ends[source]) if source else (0, len(documents.text))
        at = documents.text.find(wanted, first, last)
        while at >= 0:
            name = documents.names[bisect_right(documents.starts, at) - 1]
            yield documents.spot(name, at, at + len(wanted))
            at = documents.text.find(wanted, at + 1, last)

    def _most_alike(self, wanted: str, least: float, source: str) -> tuple[Spot, ...]:
        from rapidfuzz.fuzz import partial_ratio_alignment

        shared = Counter(page for word in {*plain_words(wanted)} for page in self._pages_with.get(word, ()))
        pages = [page for page in shared if source in ("", page[0])]
        found = []
        for name, number in sorted(pages, key=lambda page: -shared[page])[:MOST_COMPARED]:
            around = self._documents.around(name, self._pages[name][number], len(wanted))
            text = self._documents.text[around]
            alignment = partial_ratio_alignment(wanted, text, score_cutoff=100 * least) if text else None
            if len(text) >= len(wanted) and alignment is not None and alignment.dest_end > alignment.dest_start:
                part = slice(alignment.dest_start, alignment.dest_end)
                start, end = (around.start + part.start + each for each in _same(wanted, text[part]))
                found.append((alignment.score, self._documents.spot(name, start, end)))
        return (max(found, key=lambda each: each[0])[1],) if found else ()

    @cached_property
    def _documents(self) -> _Joined:
        return _Joined(self._pages)

    @cached_property
    def _pages_with(self) -> dict[str, list[tuple[str, int]]]:
        """The pages on which each word is."""
        found: dict[str, list[tuple[str, int]]] = {}
        for name, pages in self._pages.items():
            for number, page in enumerate(pages):
                for word in {*plain_words(page.text)}:
                    found.setdefault(word, []).append((name, number))
        return found


class _Joined:
    """All documents as one text with single spaces for white space, and where each word of it is in its document.

    Args:
        pages: Those of each document, by its name.
    """

    def __init__(self, pages: dict[str, list[Passage]]) -> None:
        self.names, self.starts = [*pages], list[int]()
        self.begins: dict[str, int] = {}
        self.ends: dict[str, int] = {}
        self._here: list[int] = []  # where words begin in this text
        self._there: list[int] = []  # where they begin in the text of their document
        texts: list[str] = []
        for name, its in pages.items():
            parts, length = [], 0
            for page in its:  # with page breaks for what is on no page
                parts += [PAGE_BREAK * (page.start - length), page.text]
                length = max(length, page.start) + len(page.text)
            words = [*re.finditer(r"\S+", "".join(parts))]
            at = self.begins[name] = self.ends[self.names[len(texts) - 1]] + 1 if texts else 0
            self.starts.append(at)
            for word in words:
                self._here.append(at)
                self._there.append(word.start())
                at += len(word[0]) + 1
            texts.append(" ".join(word[0] for word in words))
            self.ends[name] = self.begins[name] + len(texts[-1])
        self.text = PAGE_BREAK.join(texts)

    def spot(self, name: str, start: int, end: int) -> Spot:
        """The place in a document of a part of the text."""
        return Spot(name, self._offset(start), self._offset(end - 1) + 1)

    def around(self, name: str, page: Passage, more: int) -> slice:
        """The part of the text of a page, and so many more characters on both sides within its document."""
        first = bisect_right(self._here, self.begins[name] - 1)
        last = bisect_right(self._here, self.ends[name])
        at = [max(first, bisect_right(self._there, offset, first, last) - 1) for offset in (page.start, page.end)]
        begin, end = (self._here[word] if word < last else self.ends[name] for word in at)
        return slice(max(self.begins[name], begin - more), min(self.ends[name], end + more))

    def _offset(self, at: int) -> int:
        word = bisect_right(self._here, at) - 1
        return self._there[word] + at - self._here[word]


def _same(wanted: str, text: str) -> tuple[int, int]:
    """The offsets in a text between which it is the same; what is before and after is of another page, or by chance."""
    from rapidfuzz.distance import LCSseq

    same: Sequence[tuple[int, int]] = [
        (part.dest_start, part.dest_end)
        for part in LCSseq.opcodes(wanted, text)
        if part.tag == "equal" and part.dest_end - part.dest_start >= LEAST_SAME
    ]
    start, end = (same[0][0], same[-1][1]) if same else (0, len(text))
    return start + text.startswith(" ", start), end - text.endswith(" ", start, end)
