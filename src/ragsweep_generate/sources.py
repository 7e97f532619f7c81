"""The passages that questions are made from: cut from the documents, and spread over them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, islice, zip_longest

import numpy as np

from ragsweep.core.errors import DatasetError
from ragsweep.datasets import Document, RecursiveChunker
from ragsweep.datasets.readers.fields import flaw_of_text
from ragsweep.text.tokens import count_of_words
from ragsweep_generate.drafts import Source


def sources_of(documents: Sequence[Document], size: int, shortest: int) -> list[Source]:
    """The passages of all documents, in their order.

    Args:
        documents: The corpus.
        size: The most characters of a passage. No passage crosses the border of a page.
        shortest: The fewest words; shorter passages, such as titles, are left out.

    Raises:
        DatasetError: A text is not valid, or no passage is long enough.
    """
    chunker = RecursiveChunker(size, 0)
    sources = []
    for document in documents:
        if flaw := flaw_of_text(document.text):
            raise DatasetError(f"corpus: the text of document {document.source!r} {flaw}")
        for page in document.pages:
            text = document.text[page.start : page.end]
            for start, end in chunker.split(text):
                if count_of_words(text[start:end]) >= shortest:
                    places = page.start + start, page.start + end
                    sources.append(Source(document.source, page.page_number, *places, text[start:end]))
    if not sources:
        raise DatasetError(
            f"corpus: no passage of {len(documents)} documents has {shortest} words or more (shortest_passage); "
            "expected documents with text"
        )
    return sources


def spread(sources: Sequence[Source], most: int, seed: int) -> list[Source]:
    """At most `most` passages, in a random order in which the documents take turns.

    Args:
        sources: The passages.
        most: How many passages are needed.
        seed: Of the order.
    """
    by_document: dict[str, list[Source]] = {}
    for place in np.random.default_rng(seed).permutation(len(sources)).tolist():
        by_document.setdefault(sources[place].document, []).append(sources[place])
    turns = chain.from_iterable(zip_longest(*by_document.values()))
    return list(islice((source for source in turns if source is not None), most))
