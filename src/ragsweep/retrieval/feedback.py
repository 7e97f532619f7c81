"""Relevance feedback: changes a query by passages that are taken as relevant to it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property

import numpy as np
import numpy.typing as npt

from ragsweep.core.digest import digest


@dataclass(frozen=True, eq=False)
class Feedback:
    """Passages that are taken as relevant, and how a ranker uses them.

    Attributes:
        passages: Position in the corpus, shape [queries, passages]; -1 after the last one.
        scores: How relevant each is taken to be, same shape; -inf where there is no passage.
        terms: How many terms of the passages a sparse query gets.
        common: A term in more than this share of the corpus is not one of them.
        weight: Of the original query; the passages have the rest of 1.
    """

    passages: npt.NDArray[np.int64]
    scores: npt.NDArray[np.float64]
    terms: int
    common: float
    weight: float

    @cached_property
    def digest(self) -> str:
        """Part of what names a search in the store."""
        return digest([self.passages.tolist(), self.scores.tolist(), self.terms, self.common, self.weight])

    def rows(self, queries: npt.NDArray[np.int64]) -> Feedback:
        """The feedback of some queries."""
        return replace(self, passages=self.passages[queries], scores=self.scores[queries])

    def row(self, query: int) -> Feedback:
        """The feedback of one query alone."""
        return self.rows(np.array([query]))

    def of(self, query: int) -> dict[int, float]:
        """The passages of a query with their weights: their scores, or the same for all if no score is above 0."""
        found = self.passages[query] >= 0
        scores = np.maximum(self.scores[query][found], 0)
        weights = scores if scores.any() else np.ones(len(scores))
        return dict(zip(self.passages[query][found].tolist(), weights.tolist(), strict=True))


def rm3(
    feedback: Feedback,
    queries: Sequence[str],
    passages: Sequence[str],
    tokens: Callable[[str], list[str]],
    share: Callable[[str], float],
) -> list[Mapping[str, float]]:
    """The weights of terms for every query: its own, and the most probable ones of its feedback passages.

    This is RM3 (Lavrenko and Croft, 2001; Abdul-Jaleel et al., 2004) as Anserini defines it. A passage stands
    for its most frequent terms, without those that many passages of the corpus have. The probability of a term is the
    sum of its shares in the passages, weighted by their scores. The most probable terms get `1 - weight` among them,
    and the terms of the query get `weight`. Anserini also leaves out terms that are not ASCII, which this does not.

    Args:
        feedback: The passages. A query without any has the weights of its own terms alone.
        queries: The texts of the queries.
        passages: The texts of the corpus.
        tokens: Takes a text apart into terms.
        share: The share of the passages of the corpus that have a term.
    """

    @cache
    def shares(passage: int) -> Mapping[str, float]:
        counts = Counter(term for term in tokens(passages[passage]) if share(term) <= feedback.common)
        return _scaled(_largest(counts, feedback.terms), 1.0)

    weighted: list[Mapping[str, float]] = []
    for row, text in enumerate(queries):
        model: defaultdict[str, float] = defaultdict(float)
        for passage, score in feedback.of(row).items():
            for term, in_passage in shares(passage).items():
                model[term] += score * in_passage
        added = _scaled(_largest(model, feedback.terms), 1 - feedback.weight)
        own = _scaled(Counter(tokens(text)), feedback.weight if added else 1.0)
        weights = {term: own.get(term, 0.0) + added.get(term, 0.0) for term in own | added}
        weighted.append({term: weight for term, weight in weights.items() if weight})
    return weighted


def _largest(weights: Mapping[str, float], most: int) -> Mapping[str, float]:
    """The terms of the largest weights, and by alphabet among equal ones."""
    return dict(sorted(weights.items(), key=lambda each: (-each[1], each[0]))[:most])


def _scaled(weights: Mapping[str, float], total: float) -> dict[str, float]:
    """The weights with this sum."""
    by = total / sum(weights.values()) if weights else 0.0
    return {term: weight * by for term, weight in weights.items()}


def rocchio(
    feedback: Feedback, queries: npt.NDArray[np.float32], passages: npt.NDArray[np.float32], *, length_1: bool
) -> npt.NDArray[np.float32]:
    """The embeddings of the queries, moved to the mean of their feedback passages.

    `weight * query + (1 - weight) * mean of the passages`: Rocchio's formula (1971) for dense vectors, as Li et al. use
    it (arXiv:2108.11044).

    Args:
        feedback: The passages. Without one, a query stays as it is.
        queries: Shape [queries, dimensions].
        passages: Of the whole corpus, shape [passages, dimensions].
        length_1: Whether the result is of length 1 again, as it is for embeddings that are compared by cosine.
    """
    moved = queries.copy()
    for row, query in enumerate(queries.astype(np.float64)):
        found = [*feedback.of(row)]
        if found:
            mean = passages[found].mean(axis=0, dtype=np.float64)
            added = feedback.weight * query + (1 - feedback.weight) * mean
            length = np.linalg.norm(added) if length_1 else 1.0
            moved[row] = added / length if length else query
    return moved
