"""Queries that come in groups, such as paraphrases: the groups are independent draws, the queries of one are not."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ragsweep.core.arrays import Indices, Mask

Array = npt.NDArray[np.float64]

EQUAL_VARIANCE = 1e-24  # of values that differ by rounding only


@dataclass(frozen=True, eq=False)
class Groups:
    """The group of each query. Without groups, each query is one of its own, and nothing here changes any number.

    Attributes:
        of: The groups as numbers from 0, in the order of their first queries, shape [queries].
    """

    of: Indices

    @classmethod
    def named(cls, names: Sequence[Hashable]) -> Groups:
        """The groups by their names; a query with the name None or an empty one is a group of its own."""
        keys = [(row,) if name in (None, "") else name for row, name in enumerate(names)]
        numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
        return cls(np.array([numbers[key] for key in keys], dtype=np.int64))

    @classmethod
    def none(cls, queries: int) -> Groups:
        """Each query is a group of its own."""
        return cls(np.arange(queries))

    @cached_property
    def sizes(self) -> Indices:
        """The number of queries of each group, shape [groups]."""
        return np.bincount(self.of)

    @property
    def number(self) -> int:
        """How many groups there are."""
        return len(self.sizes)

    @property
    def effective(self) -> float:
        """How many groups of equal sizes would tell as much, if the queries of a group agreed (Kish 1965)."""
        return float(self.queries**2 / (self.sizes**2).sum())

    @property
    def queries(self) -> int:
        """How many queries there are."""
        return len(self.of)

    @property
    def in_use(self) -> bool:
        """Whether any group has several queries."""
        return self.number < self.queries

    @cached_property
    def first(self) -> Indices:
        """Position of the first query of each group, shape [groups]."""
        return np.unique(self.of, return_index=True)[1]

    def only(self, chosen: Mask) -> Groups:
        """The groups of some of the queries."""
        return Groups.named(self.of[chosen].tolist())

    def totals(self, values: Array) -> Array:
        """The sum of the values of each group, in units of the mean size of a group: their mean is that of the queries.

        A test of independent values is a test by groups if it is given these.

        Args:
            values: Shape [..., queries].

        Returns:
            Shape [..., groups].
        """
        if not self.in_use:
            return values
        order = np.argsort(self.of, kind="stable")
        starts = np.cumsum(self.sizes) - self.sizes
        return np.add.reduceat(values[..., order], starts, axis=-1) * (self.number / self.queries)

    def widest(self, span: float) -> float:
        """The largest possible size of one of the `totals` of such groups if that of a value is `span`."""
        return span * float(self.sizes.max() * self.number / self.queries)

    def queries_in(self, groups: int) -> int:
        """How many queries there are in so many groups like these."""
        return -(-groups * self.queries // self.number)

    def design_effect(self, values: Array) -> Array:
        """The variance of the mean by groups, as a multiple of that by queries (Kish 1965).

        Where all values are equal, they say nothing of it: it is then the largest that is likely, that of groups in
        which all queries have the same value.

        Args:
            values: Shape [..., queries].

        Returns:
            Shape [...]. Below 1 where the queries of a group differ more than others do.
        """
        if not self.in_use:
            return np.ones(values.shape[:-1])
        off = values - values.mean(axis=-1, keepdims=True)
        by_query = (off**2).sum(axis=-1) / (self.queries * (self.queries - 1))
        by_group = (self.totals(off) ** 2).sum(axis=-1) / (self.number * max(1, self.number - 1))
        varies = (by_query > EQUAL_VARIANCE) & (self.number > 1)
        return np.where(varies, by_group / np.where(varies, by_query, 1.0), self.queries / self.effective)
