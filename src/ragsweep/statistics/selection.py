"""Score after choosing the best configuration, measured on queries that were not used for the choice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ragsweep.core.arrays import Mask
from ragsweep.statistics.groups import Groups
from ragsweep.statistics.intervals import EQUAL, WEIGHTS_AT_ONCE, Array, Indices, affordable_resamples, first_best

FOLDS = 5


@dataclass(frozen=True)
class Selection:
    """The best configuration, and the score to expect on other queries after this choice.

    Attributes:
        best: Position of the configuration with the best mean over all queries. Of equal ones, the first.
        apparent: Its mean over all queries, in the metric's unit. Optimistic, because the same queries chose it.
        per_query: Score of each query under the configuration that the other folds chose, mean over the repeats,
            shape [queries].
    """

    best: int
    apparent: float
    per_query: Array

    @property
    def expected(self) -> float:
        """The mean score on queries that were not used for the choice.

        A bootstrap interval of `per_query` is a little too narrow for this mean (it covers 91 % instead of 95 %),
        because the choices share queries.
        """
        return float(self.per_query.mean())


@dataclass(frozen=True)
class SelectionByType:
    """One configuration for each type of query, compared with one for all types on the same held-out queries.

    Attributes:
        for_all: The selection of one configuration for all queries.
        types: The types, in alphabetical order.
        by_type: The selection within the queries of each type, shape [types], with the scores of these queries only.
        per_query: Score of each query under the configuration chosen for its type, shape [queries]. A query without a
            type uses the configuration for all queries.
        p: P-value, in (0, 1], of the hypothesis that the same configuration is best for all types.
    """

    for_all: Selection
    types: tuple[str, ...]
    by_type: tuple[Selection, ...]
    per_query: Array
    p: float

    @property
    def gain(self) -> float:
        """Mean score of a configuration for each type minus that of one for all, on held-out queries.

        `p` tells whether the gain is more than chance. An interval or a test of the held-out differences does not:
        the choices share queries (Bengio and Grandvalet 2004), so it finds a gain or a loss in 3 of 10 sweeps that have
        neither.
        """
        return float(self.per_query.mean()) - self.for_all.expected


def select(
    scores: Array,
    types: Sequence[str | None] | None = None,
    *,
    groups: Groups | None = None,
    folds: int = FOLDS,
    repeats: int = 100,
    seed: int = 0,
    sign: int = 1,
) -> Selection:
    """Choose the best configuration, and estimate its score by repeated k-fold cross-validation over queries.

    All folds but one choose the configuration with the best mean, and the remaining fold measures it (Stone 1974; for
    the best of many, Varma and Simon 2006). The expected score is a little too poor, because fewer queries take part in
    each choice than in the real one.

    Args:
        scores: One metric of every configuration, shape [configurations, queries]. At least two queries.
        types: Type of each query or None, shape [queries]. The folds are stratified by type.
        groups: Those of the queries; a fold holds whole groups. The type of a group is that of its first query.
        folds: Number of folds, at least 2. If there are fewer queries than folds, each query is a fold.
        repeats: How many times the queries are split.
        seed: Seed of the splits.
        sign: 1 if a higher score is better, -1 if a lower one is.

    Raises:
        ValueError: There are fewer than two queries (or groups) or folds.
    """
    queries = scores.shape[1]
    fold = _folds(types or [None] * queries, groups or Groups.none(queries), folds, repeats, seed)
    return _selection(scores, _chosen(sign * scores, fold), sign)


def select_by_type(
    scores: Array,
    types: Sequence[str | None],
    *,
    groups: Groups | None = None,
    repeats: int = 100,
    resamples: int = 10_000,
    seed: int = 0,
    sign: int = 1,
) -> SelectionByType:
    """Choose a configuration for each type of query and one for all types, and measure both on held-out queries.

    If a type has fewer queries than folds, its queries are held out one at a time. A type with a single query uses the
    configuration for all types.

    A permutation test tells whether different types need different configurations. It adds up the best score of each
    type, and compares the sum with the sums after shuffling the types among the queries. Types that are harder than
    others do not affect the test. With groups, it shuffles the types of whole groups, or of the parts of a group that
    have one type.

    Args, and what is raised, are those of `select`; `resamples` is how often the types are shuffled for the test.
    """
    signed, groups = sign * scores, groups or Groups.none(len(types))
    fold = _folds(types, groups, FOLDS, repeats, seed)
    for_all = _chosen(signed, fold)
    chosen = for_all.copy()
    names = sorted({name for name in types if name is not None})
    of_type = np.array([[name == kind for kind in types] for name in names], dtype=bool).reshape(-1, len(types))
    for mask in of_type:
        of_fold = fold[:, mask]
        several = (of_fold != of_fold[:, :1]).any(axis=1)  # not where one fold holds all queries of the type
        if several.any():
            chosen[np.ix_(several, mask)] = _chosen(signed[:, mask], of_fold[several])
    typed = of_type.any(axis=0)
    parts = Groups.named([(groups.of[row], types[row]) for row in np.flatnonzero(typed).tolist()])
    return SelectionByType(
        for_all=_selection(scores, for_all, sign),
        types=tuple(names),
        by_type=tuple(_selection(scores[:, mask], chosen[:, mask], sign) for mask in of_type),
        per_query=_held_out(scores, chosen),
        p=_types_matter(parts.totals(signed[:, typed]), of_type[:, typed][:, parts.first], resamples, seed),
    )


def _types_matter(scores: Array, of_type: Mask, resamples: int, seed: int) -> float:
    """P-value of the permutation test of `select_by_type`. `of_type` has shape [types, queries]."""
    rng = np.random.default_rng(seed)
    kinds, queries = of_type.shape
    if not kinds:
        return 1.0
    observed = (scores @ of_type.T).max(axis=0).sum() - EQUAL * queries
    codes = of_type.argmax(axis=0)
    resamples = affordable_resamples(resamples, queries)
    step = max(1, WEIGHTS_AT_ONCE // max(1, kinds * max(scores.shape)))
    as_much = 0
    for start in range(0, resamples, step):
        size = min(step, resamples - start)
        shuffled = codes[rng.permuted(np.tile(np.arange(queries), (size, 1)), axis=1)]
        sums = [((shuffled == kind) @ scores.T).max(axis=1) for kind in range(kinds)]  # each of shape [shuffles]
        as_much += int((np.sum(sums, axis=0) >= observed).sum())
    return (1 + as_much) / (1 + resamples)


def _selection(scores: Array, chosen: Indices, sign: int) -> Selection:
    means = scores.mean(axis=1)
    best = int(first_best(sign * means))
    return Selection(best, float(means[best]), _held_out(scores, chosen))


def _chosen(scores: Array, fold: Indices) -> Indices:
    """The configuration that the other folds choose for each query, shape [repeats, queries], like `fold`."""
    in_fold = fold[:, :, None] == np.arange(fold.max() + 1)
    # The contribution of each fold to the mean, [configurations, repeats, folds]. Subtracting it leaves the sum of the
    # other folds, which orders configurations like their mean.
    part = np.tensordot(scores, in_fold / scores.shape[1], axes=(1, 1))
    best = first_best(scores.mean(axis=1)[:, None, None] - part)
    return np.take_along_axis(best, fold, axis=1)


def _held_out(scores: Array, chosen: Indices) -> Array:
    """Score of each query under the configuration chosen for it, mean over repeats, shape [queries]."""
    means: Array = scores[chosen, np.arange(scores.shape[1])].mean(axis=0)
    return means


def _folds(types: Sequence[str | None], groups: Groups, folds: int, repeats: int, seed: int) -> Indices:
    """The fold of each query, assigned type by type in random order, shape [repeats, queries]."""
    names = ["" if kind is None else kind for kind in types]
    codes = np.unique(names, return_inverse=True)[1][groups.first]
    if min(groups.number, folds) < 2:
        raise ValueError(f"{groups.number} queries cannot be split into {folds} folds, expected at least 2 of each")
    shuffled = np.random.default_rng(seed).random((repeats, groups.number))
    order = np.lexsort((shuffled, np.broadcast_to(codes, shuffled.shape)), axis=1)
    fold = np.empty_like(order)
    np.put_along_axis(fold, order, (np.arange(groups.number) % folds)[None], axis=1)
    return fold[:, groups.of] if groups.in_use else fold
