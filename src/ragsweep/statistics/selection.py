"""What choosing the best configuration is worth, measured on queries that did not take part in the choice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ragsweep.statistics.intervals import BLOCK, EQUAL, Array, Indices, first_best, resamplings

Members = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Selection:
    """The choice of the configuration with the highest mean, and what it yields on other queries.

    Attributes:
        best: Position of the configuration that all queries choose, the first of equals.
        apparent: Its mean over the same queries that chose it, in the metric's unit: optimistic.
        per_query: Score of each query under the configuration that the other folds chose, mean over the repeats,
            shape [queries].
        wins: How often each configuration was chosen: share of the held-out queries of all repeats, shape
            [configurations].
    """

    best: int
    apparent: float
    per_query: Array
    wins: Array

    @property
    def expected(self) -> float:
        """The mean score on queries that did not take part in the choice.

        A bootstrap interval of `per_query` is a little narrow for it (91 % where 95 % is meant), as the choices share
        queries.
        """
        return float(self.per_query.mean())

    @property
    def optimism(self) -> float:
        """By how much the best configuration's own mean overstates what choosing it yields."""
        return self.apparent - self.expected


@dataclass(frozen=True)
class SelectionByType:
    """One configuration for each type of query, held against one for all, on the same held-out queries.

    Attributes:
        for_all: The selection of one configuration for all queries.
        types: The types, in alphabetical order.
        by_type: The selection from the queries of each type alone, shape [types]; its `per_query` has that type's
            queries in their order.
        per_query: Score of each query under the configuration chosen for its type, shape [queries]; under the one for
            all where the query has no type.
        p: P-value, in (0, 1], of the hypothesis that the types do not differ in what is best for them.
    """

    for_all: Selection
    types: tuple[str, ...]
    by_type: tuple[Selection, ...]
    per_query: Array
    p: float

    @property
    def gain(self) -> float:
        """By how much a configuration for each type beats one for all on held-out queries; below 0 where it loses.

        Whether that is more than chance, `p` says. An interval or a test of the held-out differences does not: their
        choices were made by the same queries (Bengio and Grandvalet 2004), so they see a gain or a loss in 3 of 10
        sweeps that have neither.
        """
        return float(self.per_query.mean()) - self.for_all.expected


def select(
    scores: Array, types: Sequence[str | None] | None = None, *, folds: int = 5, repeats: int = 100, seed: int = 0
) -> Selection:
    """Choose the best configuration, and measure the choice by repeated k-fold cross-validation over queries.

    All folds but one choose the configuration with the highest mean, the first of equals; the one that is left
    measures it (Stone 1974; for a best of many, Varma and Simon 2006). As fewer queries choose than in earnest, the
    expected score is a little low.

    Args:
        scores: One metric of every configuration, shape [configurations, queries]; at least two queries.
        types: Type of each query or None, shape [queries]; each fold gets its share of every type.
        folds: How many parts the queries are split into, at least 2; at most one for each query is used.
        repeats: How many times they are split anew.
        seed: Of the splits.

    Raises:
        ValueError: There are fewer than two queries or folds.
    """
    fold = _folds(_codes(types, scores.shape[1]), folds, repeats, seed)
    return _selection(scores, _chosen(scores, fold))


def select_by_type(
    scores: Array,
    types: Sequence[str | None],
    *,
    folds: int = 5,
    repeats: int = 100,
    resamples: int = 10_000,
    seed: int = 0,
) -> SelectionByType:
    """Choose a configuration for each type of query, and one for all, and measure both on the same held-out queries.

    A type with fewer queries than folds is left out one query at a time. A type with a single query leaves none to
    choose by, so it takes the choice for all.

    Whether the types differ in what is best for them is a permutation test: did types not matter, the best of each
    type would add up to as much after the types are shuffled among the queries. That some types are harder than others
    does not matter to it.

    Args:
        scores: As of `select`.
        types: Type of each query or None, shape [queries].
        folds: As of `select`.
        repeats: As of `select`.
        resamples: How often the types are shuffled for the test.
        seed: Of the splits and of the shuffling.

    Raises:
        ValueError: As of `select`.
    """
    fold = _folds(_codes(types, scores.shape[1]), folds, repeats, seed)
    for_all = _chosen(scores, fold)
    chosen = for_all.copy()
    names = sorted({name for name in types if name is not None})
    of_type = np.array([[name == kind for kind in types] for name in names], dtype=bool).reshape(-1, len(types))
    for members in of_type:
        if members.sum() > 1:
            chosen[:, members] = _chosen(scores[:, members], fold[:, members])
    typed = of_type.any(axis=0)
    return SelectionByType(
        for_all=_selection(scores, for_all),
        types=tuple(names),
        by_type=tuple(_selection(scores[:, members], chosen[:, members]) for members in of_type),
        per_query=_held_out(scores, chosen),
        p=_types_matter(scores[:, typed], of_type[:, typed], resamples, seed),
    )


def win_frequency(scores: Array, *, resamples: int = 10_000, seed: int = 0) -> Array:
    """How often each configuration would be the best, had other queries been drawn: bootstrap over queries.

    Args:
        scores: One metric of every configuration, shape [configurations, queries].
        resamples: How many times the queries are drawn, with replacement.
        seed: Of the draws.

    Returns:
        Shares of the resamples, shape [configurations]; equals share theirs. The best by these very queries is
        favoured: of two equal configurations, the one that has had more luck wins more often than not.
    """
    shares = np.zeros(len(scores))
    for weights in resamplings(scores.shape[1], resamples, seed):
        means = scores @ weights
        is_best = means >= means.max(axis=0) - EQUAL
        shares += (is_best / is_best.sum(axis=0)).sum(axis=1)
    return shares / resamples


def _types_matter(scores: Array, of_type: Members, resamples: int, seed: int) -> float:
    """P-value of the best of each type, added up, when types are shuffled; `of_type` is [types, queries]."""
    rng = np.random.default_rng(seed)
    kinds, queries = of_type.shape
    observed = (scores @ of_type.T).max(axis=0).sum() - EQUAL * queries
    step = max(1, BLOCK // max(1, kinds * max(scores.shape)))
    as_much = 0
    for start in range(0, resamples, step):
        size = min(step, resamples - start)
        order = rng.permuted(np.tile(np.arange(queries), (size, 1)), axis=1)
        sums = np.tensordot(scores, of_type[:, order].astype(float), axes=(1, 2))  # [configurations, types, shuffles]
        as_much += int((sums.max(axis=0).sum(axis=0) >= observed).sum())
    return (1 + as_much) / (1 + resamples)


def _selection(scores: Array, chosen: Indices) -> Selection:
    means = scores.mean(axis=1)
    best = int(first_best(means))
    return Selection(best, float(means[best]), _held_out(scores, chosen), _shares(chosen, len(scores)))


def _chosen(scores: Array, fold: Indices) -> Indices:
    """The configuration that the other folds choose for each query, shape [repeats, queries], as `fold`."""
    in_fold = fold[:, :, None] == np.arange(fold.max() + 1)
    # Each fold's part of the mean, [configurations, repeats, folds]; what is left ranks as the other folds' mean does.
    part = np.tensordot(scores, in_fold / scores.shape[1], axes=(1, 1))
    best = first_best(scores.mean(axis=1)[:, None, None] - part)
    return np.take_along_axis(best, fold, axis=1)


def _held_out(scores: Array, chosen: Indices) -> Array:
    """Mean over repeats of each query's score under what was chosen for it, shape [queries]."""
    means: Array = scores[chosen, np.arange(scores.shape[1])].mean(axis=0)
    return means


def _shares(chosen: Indices, configurations: int) -> Array:
    return np.bincount(chosen.ravel(), minlength=configurations) / chosen.size


def _codes(types: Sequence[str | None] | None, queries: int) -> Indices:
    """A number for each type, shape [queries]."""
    if types is None:
        return np.zeros(queries, dtype=np.int64)
    return np.unique(["" if kind is None else kind for kind in types], return_inverse=True)[1]


def _folds(codes: Indices, folds: int, repeats: int, seed: int) -> Indices:
    """The fold of each query, dealt out type by type in random order, shape [repeats, queries]."""
    queries = len(codes)
    if min(queries, folds) < 2:
        raise ValueError(f"{queries} queries cannot be split into {folds} folds, expected at least 2 of each")
    shuffled = np.random.default_rng(seed).random((repeats, queries))
    order = np.lexsort((shuffled, np.broadcast_to(codes, shuffled.shape)), axis=1)
    fold = np.empty_like(order)
    np.put_along_axis(fold, order, (np.arange(queries) % folds)[None], axis=1)
    return fold
