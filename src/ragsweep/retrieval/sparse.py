"""Sparse retrieval: BM25 as `rank_bm25.BM25Okapi` defines it, for all queries at once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import sparse

from ragsweep.errors import ConfigError
from ragsweep.retrieval.ranking import NOTHING, Indices, Ranking, Scores, Task, ranked, sample, timed
from ragsweep.store import Store

WORD = re.compile(r"\w+")

# The stop words of Lucene's StandardAnalyzer, which most BM25 baselines use.
ENGLISH_STOP_WORDS = frozenset(
    "a an and are as at be but by for if in into is it no not of on or such that the their then there these they "
    "this to was will with".split()
)


@dataclass(frozen=True)
class SparseRetriever:
    """Ranks passages by BM25; a passage that scores 0 is not retrieved.

    Attributes:
        k1: How soon repeating a term stops helping.
        b: How much a long passage is held against it, from 0 to 1.
        epsilon: A term in more than half of the passages has a negative IDF; it gets this share of the mean IDF instead.
        stop_words: `english` drops the words that carry no meaning; None keeps them.
        stemmer: A Snowball language, such as `english`; None leaves words as they are.
    """

    store: Store
    k1: float = 1.5
    b: float = 0.75
    epsilon: float = 0.25
    stop_words: Literal["english"] | None = None
    stemmer: str | None = None

    def retrieve(self, task: Task, depth: int) -> Ranking:
        """Rank the passages for every query, at most `depth` of them."""
        settings = [self.k1, self.b, self.epsilon, self.stop_words, self.stemmer]
        inputs = [settings, task.digest, depth]
        return Ranking(**self.store.get("sparse-1", inputs, lambda: vars(self._search(task, depth))))

    def scores(self, task: Task) -> sparse.csr_array:
        """BM25 of every query and passage, shape [queries, passages]; equal to `BM25Okapi.get_scores`."""
        weights, vocabulary = self._index(task.passages)
        return self._counts(task.queries, vocabulary) @ weights

    def _search(self, task: Task, depth: int) -> Ranking:
        weights, vocabulary = self._index(task.passages)
        scores = self._counts(task.queries, vocabulary) @ weights
        latency_ms = timed(
            lambda row: _top(self._counts([task.queries[row]], vocabulary) @ weights, depth),
            sample(len(task.queries)).tolist(),
        )
        passages, best = _top(scores, depth)
        return ranked(passages, best, depth, latency_ms)

    def _index(self, passages: Sequence[str]) -> tuple[sparse.csr_array, dict[str, int]]:
        """What each term adds to each passage's score, shape [terms, passages], and the terms' rows."""
        from rank_bm25 import BM25Okapi

        tokens = list(self._tokens(passages))
        if not any(tokens):
            raise ConfigError("retriever.stop_words leaves no token in any passage")
        bm25 = BM25Okapi(tokens, k1=self.k1, b=self.b, epsilon=self.epsilon)
        vocabulary = {term: row for row, term in enumerate(bm25.idf)}
        counts = bm25.doc_freqs  # how often each term is in each passage
        passage = np.repeat(np.arange(len(counts)), [len(terms) for terms in counts])
        term = np.fromiter((vocabulary[term] for terms in counts for term in terms), dtype=np.int64)
        frequency = np.fromiter((count for terms in counts for count in terms.values()), dtype=np.float64)
        idf = np.fromiter(bm25.idf.values(), dtype=np.float64)
        length = np.array(bm25.doc_len)[passage] / bm25.avgdl
        weight = idf[term] * frequency * (self.k1 + 1) / (frequency + self.k1 * (1 - self.b + self.b * length))
        return sparse.csr_array((weight, (term, passage)), shape=(len(vocabulary), len(counts))), vocabulary

    def _counts(self, queries: Sequence[str], vocabulary: dict[str, int]) -> sparse.csr_array:
        """How often each query asks for each term, shape [queries, terms]."""
        known = [[vocabulary[term] for term in terms if term in vocabulary] for terms in self._tokens(queries)]
        row = np.repeat(np.arange(len(known)), [len(terms) for terms in known])
        term = np.fromiter((term for terms in known for term in terms), dtype=np.int64)
        shape = (len(queries), len(vocabulary))
        return sparse.csr_array(sparse.coo_array((np.ones(len(row)), (row, term)), shape=shape))

    def _tokens(self, texts: Sequence[str]) -> Iterator[list[str]]:
        stem = _stemmer(self.stemmer).stemWords if self.stemmer else list
        dropped = ENGLISH_STOP_WORDS if self.stop_words else frozenset()
        for text in texts:
            yield stem([word for word in WORD.findall(text.lower()) if word not in dropped])


def _stemmer(language: str):  # noqa: ANN202
    import Stemmer

    return Stemmer.Stemmer(language)


def _top(scores: sparse.csr_array, depth: int) -> tuple[Indices, Scores]:
    """Each query's best `depth` and whatever ties with the last, in corpus order; shape [queries, most of a row]."""
    rows = []
    for start, end in zip(scores.indptr, scores.indptr[1:], strict=False):
        passages, values = scores.indices[start:end], scores.data[start:end]
        keep = values != 0
        if keep.sum() > depth:
            keep &= values >= np.partition(values[keep], -depth)[-depth]
        rows.append((passages[keep], values[keep]))
    width = max(1, *(len(passages) for passages, _ in rows))
    found = np.full((len(rows), width), NOTHING, dtype=np.int64)
    best = np.full((len(rows), width), -np.inf)
    for row, (passages, values) in enumerate(rows):
        found[row, : len(passages)], best[row, : len(passages)] = passages, values
    return found, best
