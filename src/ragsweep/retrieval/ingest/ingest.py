"""What is indexed for the passages of a corpus, where that is not their own text alone."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

from ragsweep.core.digest import digest_texts
from ragsweep.core.errors import RetrieverError
from ragsweep.core.plugins import is_ours
from ragsweep.datasets import Chunker, Collection, Dataset, DatasetError, DatasetFormat, Document, Passage
from ragsweep.datasets.model.collection import digest_of_documents
from ragsweep.store.code import kind_of
from ragsweep.store.component import Component, expect_kind
from ragsweep.store.identity import identity
from ragsweep.store.stage_store import NO_STORE, Arrays, Store, packed, unpacked

OWN = "…"  # stands for the passage's own text


class Ingest(Component, ABC):
    """Says what is indexed for each passage; write your own as a class that inherits from this one.

    What is returned, judged, counted in tokens, reranked and read is the passage itself.
    """

    @abstractmethod
    def index_texts(self, documents: Sequence[Document], passages: Sequence[Passage]) -> Sequence[str]:
        """A text for every passage, in the same order."""


def dataset_of(
    dataset: DatasetFormat,
    chunker: Chunker,
    ingest: Ingest | None,
    store: Store,
    *,
    keep_documents: bool = False,
    **how: Any,
) -> Dataset:
    """Read and cut the documents. What is indexed for the passages is computed when it is asked for first.

    Args:
        dataset: Reads the documents, and may know their headings.
        chunker: Cuts them into passages.
        ingest: Says what is indexed; None indexes the passages alone.
        store: As of `Dataset.from_collection`.
        keep_documents: Whether the dataset has the documents.
        how: Further arguments of that.
    """
    expect_kind(dataset, DatasetFormat, "dataset")
    expect_kind(chunker, Chunker, "chunker")
    collection = dataset.load()
    if not isinstance(collection, Collection):
        kind = type(collection).__name__
        raise DatasetError(f"dataset: {kind_of(dataset)}.load() returned {kind}, expected a Collection")
    if not is_ours(type(dataset).__module__):
        dataset.expect_selected(collection)
    items = Dataset.from_collection(collection, chunker, store, **how)
    if keep_documents:
        items = replace(items, documents=collection.documents)
    if ingest is None:
        return items
    expect_kind(ingest, Ingest, "ingest")
    corpus = dataset.documents_alone()
    titled = corpus.with_headings(collection.documents) if corpus else collection.documents
    texts = cache(partial(indexed, ingest, titled, items.passages))
    headings = _digest_of_headings(titled) if any(document.headings for document in titled) else ""
    return replace(items, digest_of_headings=headings, indexed=texts)


def indexed(
    ingest: Ingest,
    documents: Sequence[Document],
    passages: Sequence[Passage],
    *,
    texts: Sequence[str] | None = None,
) -> tuple[str, ...]:
    """What is indexed for each passage, from the store of the component if that has it.

    The `texts`, if given, are put into the store instead of being made. The documents are given with their headings.

    Raises:
        RetrieverError: The component returned something else than a text for each passage.
    """

    def build() -> Arrays:
        made = ingest.index_texts(documents, passages) if texts is None else texts
        if not isinstance(made, list | tuple) or not all(isinstance(text, str) for text in made):
            raise RetrieverError(f"{kind_of(ingest)}: returned {type(made).__name__}, expected a list of texts")
        if len(made) != len(passages):
            raise RetrieverError(f"{kind_of(ingest)}: returned {len(made)} texts, expected {len(passages)}")
        try:
            return packed(made)
        except UnicodeEncodeError as error:
            raise RetrieverError(f"{kind_of(ingest)}: returned a string with an invalid surrogate") from error

    store: Store = getattr(ingest, "store", NO_STORE)
    places = [[passage.source, passage.start, passage.end] for passage in passages]
    of_corpus = [digest_of_documents(documents), digest_texts(map(repr, places)), _digest_of_headings(documents)]
    return tuple(unpacked(store.get("ingest", [identity(ingest), *of_corpus], build)))


def _digest_of_headings(documents: Sequence[Document]) -> str:
    return digest_texts(repr([*map(list, document.headings)]) for document in documents)


def besides(text: str, own: str) -> str:
    """What is indexed, with an ellipsis for the passage's own text; empty if that is all."""
    return "" if text == own else text.replace(own, OWN, 1) if own else text
