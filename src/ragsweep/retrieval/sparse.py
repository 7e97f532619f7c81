"""Sparse retrieval: BM25 as `rank_bm25.BM25Okapi` defines it, for all queries at once."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from typing import Any, Literal

import numpy as np
from scipy import sparse

from ragsweep.errors import ConfigError
from ragsweep.retrieval.ranking import NOTHING, Indices, Ranking, Scores, Task, kind_of, ranked, sample, timed
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
        epsilon: A term in more than half of the passages has a negative IDF; it gets this share of the mean.
        stop_words: `english` drops the words that carry no meaning; None keeps them.
        stemmer: A Snowball language, such as `english`; None leaves words as they are.
    """

    store: Store
    k1: float = 1.5
    b: float = 0.75
    epsilon: float = 0.25
    stop_words: Literal["english"] | None = None
    stemmer: str | None = None

    def __post_init__(self) -> None:
        if self.stemmer:
            _stemmer(self.stemmer)  # a language that does not exist is better known now

    def retrieve(self, task: Task, depth: int) -> Ranking:
        """Rank the passages for every query, at most `depth` of them."""
        settings = [self.k1, self.b, self.epsilon, self.stop_words, self.stemmer, version("PyStemmer")]
        inputs = [kind_of(self), settings, task.digest, depth]
        return Ranking(**self.store.get("sparse-1", inputs, lambda: vars(self._search(task, depth))))

    def _search(self, task: Task, depth: int) -> Ranking:
        index = self.index(task.passages)
        found, scores = _top(index.scores(task.queries), depth)
        latency_ms = timed(
            lambda row: _top(index.scores([task.queries[row]]), depth), sample(len(task.queries)).tolist()
        )
        return ranked(found, scores, depth, latency_ms)

    def index(self, passages: Sequence[str]) -> Bm25Index:
        """Weigh every term of every passage, with the statistics that `BM25Okapi` keeps."""
        from rank_bm25 import BM25Okapi

        tokens = [self._tokens(text) for text in passages]
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
        weights = sparse.csr_array((weight, (term, passage)), shape=(len(vocabulary), len(counts)))
        return Bm25Index(weights, vocabulary, self._tokens)

    def _tokens(self, text: str) -> list[str]:
        dropped = ENGLISH_STOP_WORDS if self.stop_words else frozenset()
        words = [word for word in WORD.findall(text.lower()) if word not in dropped]
        return _stemmer(self.stemmer).stemWords(words) if self.stemmer else words


@dataclass(frozen=True)
class Bm25Index:
    """The corpus as a matrix, so that scoring is one sparse product.

    Attributes:
        weights: What each term adds to each passage's score, shape [terms, passages].
        vocabulary: Row of each term.
        tokens: Takes a text apart into terms.
    """

    weights: sparse.csr_array
    vocabulary: Mapping[str, int]
    tokens: Callable[[str], list[str]]

    def scores(self, queries: Sequence[str]) -> sparse.csr_array:
        """BM25 of every query and passage, shape [queries, passages]; equal to `BM25Okapi.get_scores`."""
        known = [[self.vocabulary[term] for term in self.tokens(text) if term in self.vocabulary] for text in queries]
        row = np.repeat(np.arange(len(known)), [len(terms) for terms in known])
        term = np.fromiter((term for terms in known for term in terms), dtype=np.int64)
        shape = (len(queries), len(self.vocabulary))
        counts = sparse.csr_array(sparse.coo_array((np.ones(len(row)), (row, term)), shape=shape))
        scores: sparse.csr_array = counts @ self.weights
        return scores


@cache
def _stemmer(language: str) -> Any:
    import Stemmer

    try:
        return Stemmer.Stemmer(language)
    except KeyError as error:
        known = ", ".join(Stemmer.algorithms())
        raise ConfigError(f"stemmer: found {language!r}, expected null or one of {known}") from error


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
