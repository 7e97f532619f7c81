"""Sparse retrieval: BM25 as `rank_bm25` or `bm25s` define it, for all queries at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal

import numpy as np

from ragsweep.core.digest import digest_texts, version
from ragsweep.core.errors import ConfigError
from ragsweep.core.limits import Between, Text
from ragsweep.core.progress import progress
from ragsweep.core.timing import timed
from ragsweep.retrieval.bm25 import Bm25Index, lucene_weighting, rank_bm25_weighting
from ragsweep.retrieval.kinds import Method, Thresholded, Trace, Words
from ragsweep.retrieval.ranking import Ranking, Search, searching
from ragsweep.retrieval.term_counts import TermCounts
from ragsweep.store.code import code_of
from ragsweep.store.identity import own_settings
from ragsweep.store.stage_store import Store
from ragsweep.text.tokens import Tokenizer, words


@dataclass(frozen=True)
class SparseRetriever(Thresholded):
    """Ranks passages by BM25. A passage is retrieved if it shares a term with the query whose weight is not 0.

    With `rank_bm25`, a term in exactly half of the passages has a weight of 0.

    Attributes:
        store: Keeps the term counts of a corpus, and rankings.
        k1: Term frequency saturation: the lower, the sooner repeating a term stops helping.
        b: Length normalisation: 0 ignores a passage's length, 1 normalises fully.
        backend: The library whose scores are reproduced: `rank_bm25` (its `BM25Okapi`) or `bm25s` (its `lucene`).
        epsilon: `rank_bm25` gives a term in more than half of the passages this share of the mean IDF.
        stop_words: `english` drops frequent function words; None keeps all words.
        stemmer: A Snowball language, such as `english`; None leaves words as they are.
    """

    role: ClassVar[str] = "sparse"

    store: Store
    k1: Annotated[float, Between(0, 1_000_000)] = 1.5
    b: Annotated[float, Between(0, 1)] = 0.75
    backend: Literal["rank_bm25", "bm25s"] = "rank_bm25"
    epsilon: Annotated[float, Between(0, 1_000_000)] = 0.25
    stop_words: Literal["english"] | None = None
    stemmer: Text | None = None

    def __post_init__(self) -> None:
        self._tokens.stems([])  # refuses an unknown language now, before anything runs

    @property
    def without_effect(self) -> tuple[str, ...]:
        """Settings that have no effect with this backend."""
        return () if self.backend == "rank_bm25" else ("epsilon",)

    @property
    def method(self) -> Method:
        """For reports: the usual baseline."""
        title = f"pure {self.role} retrieval"
        vary = "sweep stemmer and stop_words of the sparse retriever instead"
        return Method("", title, "needs no encoder", is_baseline=True, stands_for={"alpha": 0}, vary=vary)

    def trace(self, search: Search, query: int) -> Trace:
        """What each word of a query adds to the score of each passage."""
        index = self.index(search.passages)
        counts = Counter(words(search.queries[query]))
        scores = index.scores(list(counts))
        added = {word: count * score for (word, count), score in zip(counts.items(), scores, strict=True)}
        return Trace(words=Words("", added))

    @property
    def libraries(self) -> tuple[str, ...]:
        """Packages whose versions can change the ranking."""
        return ("PyStemmer", "rank-bm25") if self.backend == "rank_bm25" else ("PyStemmer",)

    def rank(self, search: Search, depth: int) -> Ranking:
        """Rank the passages for every query, at most `depth` of them."""
        index = self.index(search.passages)
        queries = search.queries
        latency_ms = timed(lambda row: index.search([queries[row]], depth), len(queries))
        with progress(searching(search.passages, queries), len(queries)):
            ranking = index.search(queries, depth)
        return replace(ranking, latency_ms=latency_ms, index_bytes=np.array([index.nbytes]))

    def index(self, passages: Sequence[str]) -> Bm25Index:
        """Weigh every term of every passage."""
        tokens = [self.stop_words, self.stemmer, version("PyStemmer"), own_settings(self, SparseRetriever)]
        inputs = [code_of(self), digest_texts(passages), *tokens]
        kept = self.store.get("terms", inputs, lambda: vars(TermCounts.of(passages, self._tokens)))
        counts = TermCounts(**kept)
        if not len(counts.frequency):
            reason = "stop_words leaves" if self.stop_words else "there is"
            raise ConfigError(f"{reason} no word in any passage, so that BM25 finds nothing")
        if self.backend == "rank_bm25":
            weighting = rank_bm25_weighting(counts, self.k1, self.b, self.epsilon)
        else:
            weighting = lucene_weighting(counts, self.k1, self.b)
        return Bm25Index.of(counts, weighting, self._tokens)

    @property
    def _tokens(self) -> Tokenizer:
        return Tokenizer(self.stop_words, self.stemmer)
