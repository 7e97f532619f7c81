"""Splits queries into folds, so that what is used for a query is learnt from other queries."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ragsweep.core.arrays import Indices
from ragsweep.statistics.groups import Groups


def same_text(queries: Sequence[str]) -> Indices:
    """A number per query, the same for queries that differ in case and white space only, shape [queries]."""
    texts = [" ".join(query.casefold().split()) for query in queries]
    return np.unique(np.array(texts, dtype=object), return_inverse=True)[1]


def of_one_kind(queries: Sequence[str], groups: Sequence[str | None]) -> Indices:
    """A number per query, the same for queries of the same text or group, over any number of steps, shape [queries]."""
    kind = text = same_text(queries)
    group = Groups.named(groups or [None] * len(queries)).of
    while True:
        joined = _least_of(_least_of(kind, group), text)
        if np.array_equal(joined, kind):
            return np.unique(kind, return_inverse=True)[1]
        kind = joined


def _least_of(numbers: Indices, group: Indices) -> Indices:
    """The least number of the queries that are in a query's group."""
    least = np.full(len(numbers), len(numbers))
    np.minimum.at(least, group, numbers)
    return least[group]


def numbered(types: Sequence[str | None]) -> tuple[tuple[str, ...], Indices]:
    """The names of the types in alphabetical order, and the number of each query's type, -1 for one without."""
    names = tuple(sorted({each for each in types if each is not None}))
    return names, np.array([names.index(each) if each is not None else -1 for each in types])


def folds_of(
    queries: Sequence[str], types: Indices, folds: int, seed: int, groups: Sequence[str | None] = ()
) -> Indices:
    """The fold of each query, with as many queries of each type in every fold as possible.

    Queries of the same text or group share a fold, or their classifier would know the answer. Texts are dealt out one
    after the other, sorted by type, in random order within a type, as scikit-learn's `StratifiedKFold` does. A query's
    fold does not depend on the order of the queries.

    Args:
        queries: The texts.
        types: The type of each query, -1 for one without, shape [queries]. Equal texts go by the type of the first one.
        folds: How many.
        seed: Of the order.
        groups: The group of each query, None for one that is alone, shape [queries]; empty if all are.

    Returns:
        Shape [queries], 0 to folds - 1.
    """
    text = of_one_kind(queries, groups)
    _, first = np.unique(text, return_index=True)
    shuffled = np.random.default_rng(seed).permutation(len(first))
    order = shuffled[np.argsort(types[first][shuffled], kind="stable")]
    fold = np.empty(len(first), dtype=np.int64)
    fold[order] = np.arange(len(order)) % folds
    return fold[text]
