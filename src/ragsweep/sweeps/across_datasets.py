"""One decision over several datasets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Literal

import numpy as np

from ragsweep.core.arrays import Mask
from ragsweep.statistics import (
    FEW_QUERIES,
    LEVEL,
    Regrets,
    Transfer,
    compare_with_best,
    disagreement,
    in_one,
    least_regret,
    leave_one_out,
    mean_interval,
    regrets,
    select,
)
from ragsweep.statistics.intervals import EQUAL, Array, Indices, first_best
from ragsweep.sweeps.choice import EQUAL_COST, UNASKED_SAVING
from ragsweep.sweeps.dataset_names import shared_queries
from ragsweep.sweeps.deciding import cost_of_all
from ragsweep.sweeps.measured_on_all import MeasuredOnAll
from ragsweep.sweeps.outcome import Outcome

Standing = Literal["best", "tied", "worse"]


class AcrossDatasets(MeasuredOnAll):
    """What the decisions on several datasets say together."""

    @cached_property
    def means(self) -> Array:
        """The metric of each configuration on each dataset as it was measured, shape [datasets, configurations]."""
        return self.sweeps[0].sign(self.metric) * np.array([own.mean(axis=1) for own in self.scores])

    @cached_property
    def regrets(self) -> Regrets:
        """What each configuration loses against the best of each dataset, of those that take part."""
        found = regrets(self.scores, resamples=self.sweeps[0].resamples, seed=self.sweeps[0].seed)
        return replace(found, high=np.minimum(found.high, self.sweeps[0].metric_info[self.metric].span))

    @cached_property
    def as_good(self) -> Mask:
        """Which configurations a cost may choose on each dataset, shape [datasets, configurations]."""
        return self._of_each([choice.as_good for choice in self.choices])

    @cached_property
    def tied(self) -> Mask:
        """Which configurations cannot be told apart from the best of each dataset, shape [datasets, configurations]."""
        return self._of_each([choice.tied for choice in self.choices])

    def _of_each(self, chosen: Sequence[Sequence[Outcome]]) -> Mask:
        return np.array([[run in some for run in runs] for runs, some in zip(self.runs_of_each, chosen, strict=True)])

    @cached_property
    def tied_in_mean(self) -> Mask:
        """Which configurations cannot be told apart from that with the best mean over datasets, [configurations]."""
        first = self.sweeps[0]
        return compare_with_best(in_one(self.scores), resamples=first.resamples, seed=first.seed).tied

    @property
    def same_values(self) -> bool:
        """Whether all configurations measure the same on every query."""
        return all(len({run.measured for run in runs}) == 1 for runs in self.runs_of_each)

    @property
    def told_apart(self) -> bool:
        """Whether any configuration is told apart from another one, on a dataset or in the mean over all of them."""
        return not (self.tied.all() and self.tied_in_mean.all())

    @cached_property
    def by_cost(self) -> str | None:
        """The cost that chooses; None if the metric does."""
        settings, of_all = self.sweeps[0].settings, {cost_of_all(sweep) for sweep in self.sweeps}
        undecided = not self.told_apart and settings.margin is None and len(of_all) == 1
        cost = settings.prefer or (of_all.pop() if undecided else None)
        measured = cost and all(run.value(cost) is not None for runs in self.runs.values() for run in runs)
        return cost if measured and self.as_good.all(axis=0).any() else None

    def cost_of(self, label: str, cost: str) -> float:
        """The mean of a cost over the datasets."""
        return float(np.mean([run.value(cost) or 0 for run in self.runs[label]]))

    @cached_property
    def costs_the_same(self) -> bool:
        """Whether the cost that chooses is the same, or nearly so, for all configurations."""
        costs = [self.cost_of(label, self.by_cost) for label in self.labels if self.by_cost]
        return bool(costs) and max(costs) - min(costs) <= self._equal_cost * max(map(abs, costs))

    @property
    def _equal_cost(self) -> float:
        return EQUAL_COST if self.sweeps[0].settings.prefer else UNASKED_SAVING

    @cached_property
    def place(self) -> int:
        """Position of the configuration to take on all datasets.

        Of those that may be the best on each dataset, if there are any, the one whose largest regret is the smallest;
        the cheapest where a cost chooses.
        """
        regret, possible = self.regrets.measured, self.as_good
        if self.by_cost:
            open_to_cost: Indices = np.flatnonzero(self.as_good.all(axis=0))
            sign = self.sweeps[0].sign(self.by_cost)
            costs = np.array([sign * self.cost_of(self.labels[each], self.by_cost) for each in open_to_cost])
            cheap = open_to_cost[costs >= costs.max() - self._equal_cost * abs(costs.max())]
            return int(cheap[least_regret(regret[:, cheap])])
        if self.as_good.all():  # no dataset alone tells anything apart: all of them together may
            possible = self.as_good & self.tied_in_mean
        return least_regret(regret, possible)

    @property
    def named(self) -> str:
        """The configuration to take on all datasets."""
        return self.labels[self.place]

    @cached_property
    def least(self) -> int:
        """Position of the configuration whose largest measured regret is the smallest, whatever can be told apart."""
        return least_regret(self.regrets.measured)

    @cached_property
    def standings(self) -> list[Standing]:
        """How the named configuration stands on each dataset."""
        return [
            "best" if regret[self.place] <= EQUAL else "tied" if tied[self.place] else "worse"
            for regret, tied in zip(self.regrets.measured, self.tied, strict=True)
        ]

    @cached_property
    def cannot_choose(self) -> list[str]:
        """The datasets that tell nothing apart by themselves; of those with few queries, also where any are tied."""
        return [
            name
            for name, choice in zip(self.names, self.choices, strict=True)
            if choice.distinct > 1 and (not choice.worse or (self.has_few(name) and choice.worse < choice.distinct - 1))
        ]

    @cached_property
    def in_common(self) -> dict[tuple[str, str], int]:
        """How many queries two datasets share, of those that share many."""
        return shared_queries(self.sweeps, self.names)

    def has_few(self, name: str) -> bool:
        """Whether a dataset has so few queries that tests are not reliable."""
        return self.sweeps[self.names.index(name)].groups.number < FEW_QUERIES

    @cached_property
    def queries(self) -> Mapping[str, int]:
        """The number of queries of each dataset."""
        return {name: len(sweep.queries) for name, sweep in zip(self.names, self.sweeps, strict=True)}

    @cached_property
    def best_mean(self) -> int:
        """Position of the configuration with the best mean over the datasets."""
        return int(first_best(np.mean([own.mean(axis=1) for own in self.scores], axis=0)))

    @cached_property
    def mean_intervals(self) -> tuple[Array, Array]:
        """95 % intervals of the mean over these datasets, bounds of shape [configurations]."""
        sweep = self.sweeps[0]
        low, high = mean_interval(self.scores, resamples=sweep.resamples, seed=sweep.seed)
        return (low, high) if sweep.higher_is_better else (-high, -low)

    @cached_property
    def expected(self) -> float | None:
        """The mean to expect of the choice by the best mean on new queries of these datasets, by cross-validation."""
        if min(own.shape[1] for own in self.scores) < 2 or len(self.labels) < 2:
            return None
        of_dataset = [str(place) for place, own in enumerate(self.scores) for _ in range(own.shape[1])]
        sign = self.sweeps[0].sign(self.metric)
        return sign * select(in_one(self.scores), of_dataset, seed=self.sweeps[0].seed).expected

    @cached_property
    def disagreement(self) -> float | None:
        """P-value of the hypothesis that the configurations differ by the same amounts on all datasets."""
        if len(self.labels) < 2:
            return None
        return disagreement(self.scores, resamples=self.sweeps[0].resamples, seed=self.sweeps[0].seed)

    @property
    def differ(self) -> bool:
        """Whether the configurations are shown to differ by other amounts on some dataset."""
        return self.disagreement is not None and self.disagreement <= LEVEL

    @cached_property
    def transfer(self) -> Transfer | None:
        """What the choice loses on a dataset that took no part in it; None of fewer than three datasets."""
        return leave_one_out(self.regrets.measured, self.as_good) if len(self.labels) > 1 else None
