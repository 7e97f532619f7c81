"""The spans of the passages of every page. Those of the chunkers of ragsweep are cached."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from numbers import Integral
from typing import Protocol

import numpy as np

from ragsweep.core.code import code_of, kind_of
from ragsweep.core.digest import digest_texts
from ragsweep.core.errors import DatasetError
from ragsweep.core.store import Arrays, Store
from ragsweep.datasets.collection import Collection

Span = tuple[int, int]


class Chunker(Protocol):
    """Splits the text of a page into passages."""

    def split(self, text: str) -> Sequence[Span]:
        """Spans `(start, end)` of the passages in `text`, in order. Empty for a blank text."""
        ...


def spans_of(collection: Collection, chunker: Chunker, store: Store) -> Iterator[Sequence[Span]]:
    """The spans of the passages of each page."""
    pages = [document.text[page.start : page.end] for document in collection.documents for page in document.pages]

    def build() -> Arrays:
        spans = [_checked_spans(chunker.split(page), page, chunker) for page in pages]
        flat = np.array([span for page in spans for span in page], dtype=np.int64).reshape(-1, 2)
        return {"spans": flat, "ends": np.cumsum([len(page) for page in spans], dtype=np.int64)}

    ours = type(chunker).__module__.startswith("ragsweep.")
    kept = store.get("spans", [repr(chunker), code_of(chunker), digest_texts(pages)], build) if ours else build()
    flat, ends = [(start, end) for start, end in kept["spans"].tolist()], kept["ends"].tolist()
    for start, end in zip([0, *ends], ends, strict=False):
        yield flat[start:end]


def _checked_spans(spans: object, page: str, chunker: Chunker) -> Sequence[Span]:
    """Check the spans that a chunker returned. Raises `DatasetError` if one is not within the text of the page."""
    wanted = f"expected (start, end) with 0 <= start < end <= {len(page)}, whole numbers"
    for span in spans if isinstance(spans, Sequence | np.ndarray) else [spans]:
        pair = tuple(span) if isinstance(span, Sequence | np.ndarray) else ()
        whole = len(pair) == 2 and all(isinstance(each, Integral) for each in pair)
        if not whole or not 0 <= pair[0] < pair[1] <= len(page):
            raise DatasetError(f"chunker: {kind_of(chunker)}.split: found {span!r:.80}, {wanted}")
    return spans  # type: ignore[return-value]
