"""Finds texts that came from elsewhere in the documents, by their characters."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator
from functools import cached_property
from typing import NamedTuple

from ragsweep.datasets import Dataset
from ragsweep.datasets.model.collection import PAGE_BREAK
from ragsweep.datasets.model.dataset import Passage
from ragsweep.text.tokens import Span, plain_words

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

    def spots(self, text: str, least: float, source: str = "") -> tuple[Spot, ...]:
        """Where a text stands exactly but for white space; where it does not, the place that is most like it.

        Args:
            text: The text.
            least: The likeness that it needs, from 0 to 1: the share of its characters that are the same and in order.
            source: The document; empty for any.
        """
        words = text.split()
        if len(" ".join(words)) < FEWEST_CHARACTERS:
            return ()
        exact = tuple(self._exact(words, source))
        return exact or (self._most_alike(" ".join(words), least, source) if least < 1 else ())

    def _exact(self, words: list[str], source: str) -> Iterator[Spot]:
        """Everywhere that these words follow each other; the first and the last may be parts of words."""
        pattern = re.compile(r"\s+".join(map(re.escape, words)))
        of_words: list[Collection[str]] = [self._documents_with.get(word, ()) for word in words[1:-1]]
        for name in min(of_words, key=len, default=self._texts):
            match = pattern.search(self._texts[name]) if source in ("", name) else None
            while match:
                yield Spot(name, *match.span())
                match = pattern.search(self._texts[name], match.start() + 1)

    def _most_alike(self, text: str, least: float, source: str) -> tuple[Spot, ...]:
        """The place around one of the pages with most words of a text that is most like it; none without one."""
        from rapidfuzz.fuzz import partial_ratio_alignment

        shared = Counter(page for word in {*plain_words(text)} for page in self._pages_with.get(word, ()))
        pages = [page for page in shared if source in ("", page[0])]
        best, spots = 100 * least, tuple[Spot, ...]()
        for name, number in sorted(pages, key=lambda page: -shared[page])[:MOST_COMPARED]:
            page = self._pages[name][number]
            first = max(0, page.start - 2 * len(text))
            spaced = [*re.finditer(r"\S+", self._texts[name][first : page.end + 2 * len(text)])]
            around = " ".join(word[0] for word in spaced)
            places = [first + at for word in spaced for at in range(word.start(), word.end() + 1)]
            alignment = partial_ratio_alignment(text, around, score_cutoff=best) if len(around) >= len(text) else None
            if alignment and alignment.dest_end > alignment.dest_start and (alignment.score > best or not spots):
                part = around[alignment.dest_start : alignment.dest_end]
                start, end = (alignment.dest_start + at for at in _span_in_common(text, part))
                best, spots = alignment.score, (Spot(name, places[start], places[end - 1] + 1),)
        return spots

    @cached_property
    def _texts(self) -> dict[str, str]:
        """The text of each document, with page breaks for what is on no page."""
        texts = {}
        for name, pages in self._pages.items():
            parts, length = list[str](), 0
            for page in pages:
                parts += [PAGE_BREAK * (page.start - length), page.text]
                length = max(length, page.start) + len(page.text)
            texts[name] = "".join(parts)
        return texts

    @cached_property
    def _documents_with(self) -> dict[str, dict[str, None]]:
        """The documents in which each word stands, as it is written."""
        documents: dict[str, dict[str, None]] = {}
        for name, text in self._texts.items():
            for word in {*text.split()}:
                documents.setdefault(word, {})[name] = None
        return documents

    @cached_property
    def _pages_with(self) -> dict[str, list[tuple[str, int]]]:
        """The pages on which each word is."""
        pages_with: dict[str, list[tuple[str, int]]] = {}
        for name, pages in self._pages.items():
            for number, page in enumerate(pages):
                for word in {*plain_words(page.text)}:
                    pages_with.setdefault(word, []).append((name, number))
        return pages_with


def _span_in_common(text: str, other: str) -> Span:
    """The offsets in another text between which it is the same; the rest is of another page, or alike by chance."""
    from rapidfuzz.distance import LCSseq

    equal_parts = [
        (part.dest_start, part.dest_end)
        for part in LCSseq.opcodes(text, other)
        if part.tag == "equal" and part.dest_end - part.dest_start >= LEAST_SAME
    ]
    start, end = (equal_parts[0][0], equal_parts[-1][1]) if equal_parts else (0, len(other))
    return start + other.startswith(" ", start), end - other.endswith(" ", start, end)
