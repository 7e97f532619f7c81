"""The spans of the passages of every document. Those of the chunkers of ragsweep are cached."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from numbers import Integral

import numpy as np

from ragsweep.core.digest import digest_texts
from ragsweep.core.errors import DatasetError
from ragsweep.core.plugins import is_ours
from ragsweep.datasets.model.collection import Document
from ragsweep.store.code import kind_of
from ragsweep.store.component import Component
from ragsweep.store.identity import identity
from ragsweep.store.stage_store import Arrays, Store
from ragsweep.text.tokens import Span


class Chunker(Component, ABC):
    """Splits the text of a page into passages. To add one, write a subclass with `split`."""

    @property
    def across_pages(self) -> bool:
        """Whether it gets the text of a whole document, with a form feed between pages."""
        return False

    @property
    def longest(self) -> int | None:
        """The size of the longest passage, in characters or, with `unit = "tokens"`, in tokens; None if any can be."""
        return None

    @abstractmethod
    def split(self, text: str) -> Sequence[Span]:
        """Spans `(start, end)` of the passages in `text`, in order. Empty for a blank text."""

    def split_all(self, texts: Sequence[str]) -> Iterable[Sequence[Span]]:
        """The spans of each text, as `split` returns them. All texts are given at once."""
        return map(self.split, texts)


def cut(documents: Sequence[Document], chunker: Chunker, store: Store) -> Iterator[list[Span]]:
    """The spans of the passages of each document, in its text."""
    places = [_places(document, chunker.across_pages) for document in documents]
    given = zip(documents, places, strict=True)
    texts = [document.text[start:end] for document, spans in given for start, end in spans]

    def build() -> Arrays:
        spans = [_valid_spans(*of_text, chunker) for of_text in zip(chunker.split_all(texts), texts, strict=True)]
        flat = np.array([span for text in spans for span in text], dtype=np.int64).reshape(-1, 2)
        return {"spans": flat, "ends": np.cumsum([len(text) for text in spans], dtype=np.int64)}

    ours = is_ours(type(chunker).__module__)
    kept = store.get("spans", [identity(chunker), digest_texts(texts)], build) if ours else build()
    flat, ends = [(start, end) for start, end in kept["spans"].tolist()], kept["ends"].tolist()
    parts = iter(zip([0, *ends], ends, strict=False))
    for spans in places:
        yield [
            (place + start, place + end)
            for (place, _), (first, last) in zip(spans, parts, strict=False)
            for start, end in flat[first:last]
        ]


def _places(document: Document, across_pages: bool) -> list[Span]:
    """What a chunker gets of a document: each page, or everything from the first page on."""
    if not across_pages:
        return [(page.start, page.end) for page in document.pages]
    return [(document.pages[0].start, len(document.text))] if document.pages else []


def _valid_spans(spans: object, text: str, chunker: Chunker) -> Sequence[Span]:
    """Check the spans that a chunker returned. Raises `DatasetError` if one is not within the text."""
    wanted = f"expected (start, end) with 0 <= start < end <= {len(text)}, whole numbers"
    for span in spans if isinstance(spans, Sequence | np.ndarray) else [spans]:
        pair = tuple(span) if isinstance(span, Sequence | np.ndarray) else ()
        is_pair = len(pair) == 2 and all(isinstance(offset, Integral) for offset in pair)
        if not is_pair or not 0 <= pair[0] < pair[1] <= len(text):
            raise DatasetError(f"chunker: {kind_of(chunker)}.split: found {span!r:.80}, {wanted}")
    return spans  # type: ignore[return-value]
