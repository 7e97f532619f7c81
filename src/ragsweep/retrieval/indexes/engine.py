"""Engines: vector databases that keep the passages of a corpus on disk or on a server, and search them there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np

from ragsweep.core.arrays import NOTHING, Indices
from ragsweep.core.capability import Capability, offered_with
from ragsweep.core.errors import RetrieverError
from ragsweep.models.encoders.encoder import Embeddings
from ragsweep.retrieval.indexes.exact import canonical_scores, longest_of
from ragsweep.retrieval.indexes.index import Nearest
from ragsweep.retrieval.ranking import Ranking, ranked

Ask = Callable[[Embeddings, int], Indices]  # (queries, how many) -> passages in any order, `NOTHING` for none


@dataclass(frozen=True)
class Corpus:
    """The passages that an engine stores.

    Attributes:
        embeddings: Shape [passages, dimensions]; of length 1 if they are compared by cosine. Engines compare them by
            inner products, which is the same then.
        digest: Of the texts and of the encoder. A collection of another digest holds another corpus.
        texts: The text of each passage.
        documents: The document of each passage, for payload and filters; None if the search has no names.
    """

    embeddings: Embeddings
    digest: str
    texts: tuple[str, ...]
    documents: tuple[str, ...] | None = None

    @cached_property
    def longest(self) -> float:
        """The largest length of an embedding."""
        return longest_of(self.embeddings)


@runtime_checkable
class OpensCorpus(Capability, Protocol):
    """An index that is handed the corpus itself, not only the embeddings."""

    def open_corpus(self, corpus: Corpus) -> Nearest:
        """Make a corpus searchable: build what is absent, and reuse what has the same digest."""
        ...


@runtime_checkable
class Engine(OpensCorpus, Protocol):
    """An index that keeps a corpus itself; write your own as one class with these members.

    An engine may also be a `DeletesCorpus` and a `ChecksItself`. Its rankings may have `index_bytes`, what the
    collection takes on disk.

    Attributes:
        name: For messages and names of files.
    """

    name: ClassVar[str]


@offered_with("open_corpus")
@runtime_checkable
class DeletesCorpus(Capability, Protocol):
    """An engine that keeps collections outside of the store, each until it is deleted."""

    def delete(self, corpus_digest: str) -> None:
        """Delete what the engine has built for this corpus, and nothing else."""
        ...


def ranked_by_engine(ask: Ask, passages: Embeddings, queries: Embeddings, depth: int, longest: float = 1.0) -> Ranking:
    """Rank what an engine finds by scores that are computed here, so that they are the same for every engine.

    Which of several passages with the same score an engine returns last is chance. So it is asked for more until the
    last one is worse than what is kept.

    Args:
        ask: Searches the engine; what it returns has shape [queries, how many].
        passages: Embeddings of the corpus, shape [passages, dimensions].
        queries: Embeddings of the queries, shape [queries, dimensions].
        depth: The most passages to return for a query.
        longest: The largest length of an embedding of a passage.

    Raises:
        RetrieverError: The engine has returned another number of passages, or one that the corpus does not have.
    """
    rounding = np.finfo(np.float32).eps * queries.shape[1] * longest * np.linalg.norm(queries, axis=1)
    depth = wanted = min(depth, len(passages))
    best = Ranking(np.full((len(queries), depth), NOTHING), np.full((len(queries), depth), -np.inf))
    rows = np.arange(len(queries))  # a query is asked again by itself: its ranking must not depend on the others
    while len(rows):
        wanted = min(2 * wanted if wanted > depth else depth + 1, len(passages))
        found = np.asarray(ask(queries[rows], wanted))
        if found.dtype.kind not in "iu":
            raise RetrieverError(f"index: the engine returned {found.dtype}, expected the numbers of passages")
        if found.shape != (len(rows), wanted):
            raise RetrieverError(
                f"index: the engine returned passages of shape {list(found.shape)}, expected {[len(rows), wanted]}; "
                "-1 stands for none"
            )
        if found.min() < NOTHING or found.max() >= len(passages):
            wrong = found[(found < NOTHING) | (found >= len(passages))][0]
            expected = f"expected 0 to {len(passages) - 1}"
            raise RetrieverError(f"index: the engine returned passage {wrong}, {expected}; its collection was changed")
        ranking = ranked(found, canonical_scores(queries[rows], passages, found), wanted)
        best.passages[rows], best.scores[rows] = ranking.passages[:, :depth], ranking.scores[:, :depth]
        last = ranking.scores[:, -1]
        tied = np.isfinite(last) & (last >= best.scores[rows, -1] - rounding[rows])
        rows = rows[tied] if wanted < len(passages) else rows[:0]
    return best
