"""The decision of a sweep: which configuration to take at each cutoff, and what a larger cutoff buys and costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import starmap
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ragsweep.core.arrays import Indices
from ragsweep.core.style import is_number
from ragsweep.statistics import LEVEL, holm, mcnemar_of_pairs
from ragsweep.sweeps.choice import Choice, at_worst, choose, settled
from ragsweep.sweeps.configuration_names import as_text
from ragsweep.sweeps.outcome import Outcome
from ragsweep.sweeps.promises import Promise, ThresholdPromise, promises, threshold_promise
from ragsweep.sweeps.sweep import Sweep
from ragsweep.sweeps.tradeoff import CostFront, fronts
from ragsweep.sweeps.unread_answers import UnreadAnswers, unread_answers

if TYPE_CHECKING:
    import pandas as pd


class AgainstGuessing(NamedTuple):
    """A run compared with guessing.

    Attributes:
        value: What guessing reaches in the deciding metric.
        p: Two-sided p-value with Holm's correction for the number of runs.
        p_worse: P-value of being worse than guessing, with the same correction; 1 if responses that could not be read
            could explain it.
        better: Whether the run is better than guessing (p <= 0.05).
        worse: Whether it is worse (p_worse <= 0.05).
    """

    value: float
    p: float
    p_worse: float
    better: bool
    worse: bool


MOST_IN_PAIRS = 200  # configurations; all pairs of more are too many to list


class Compared(NamedTuple):
    """A run compared with the best one at its cutoff.

    Attributes:
        difference: Run minus best, in the unit of the deciding metric.
        low: Lower bound of its 95 % interval.
        high: Upper bound.
        tied: Whether the two cannot be told apart.
        p: P-value of the hypothesis that the run is one of the best.
        wins: How often the run is the best when the queries are resampled.
    """

    difference: float
    low: float
    high: float
    tied: bool
    p: float
    wins: float


@dataclass(frozen=True, eq=False)  # a decision is equal to itself alone
class Decision:
    """The decision of a sweep.

    Attributes:
        sweep: Its runs on one dataset.
        choices: The choice at each cutoff, in ascending order of the cutoffs.
    """

    sweep: Sweep
    choices: Mapping[int | None, Choice]

    @cached_property
    def headline(self) -> Choice:
        """The choice that the headline is about: at the configured cutoff, or at the middle one of those swept.

        Only cutoffs at which a configuration meets the requirements count, if there are any; of these, `settled` ones
        at which most configurations were measured: where jobs have failed, what is left has won nothing. Of these,
        those at which quality chooses, if it does anywhere, or at which configurations differ at all.
        """
        if (asked := self.sweep.settings.at) is not None and asked in self.choices:
            return self.choices[asked]
        meeting = settled([choice for choice in self.choices.values() if choice.meets] or [*self.choices.values()])
        measured = [len(self.sweep.at(choice.cutoff).outcomes) for choice in meeting]
        fullest = [choice for choice, number in zip(meeting, measured, strict=True) if number == max(measured)]
        by_reason = {why: [choice for choice in fullest if choice.undecided == why] for why in (None, "tied")}
        telling = by_reason[None] or by_reason["tied"] or fullest
        return telling[(len(telling) - 1) // 2]

    @property
    def headline_cutoffs(self) -> list[int | None]:
        """The cutoffs that the headline is about: that of its choice alone, if it is none of the `settled` ones."""
        cutoffs = [choice.cutoff for choice in settled([*self.choices.values()])]
        return cutoffs if self.headline.cutoff in cutoffs else [self.headline.cutoff]

    @property
    def allowed(self) -> list[Outcome]:
        """The runs that meet the requirements, at every cutoff; all of a cutoff if none does there."""
        return [run for choice in self.choices.values() for run in choice.allowed.outcomes]

    @property
    def named(self) -> Outcome:
        """The configuration to take at the cutoff of the headline."""
        return self.headline.named

    @cached_property
    def best(self) -> pd.Series:
        """The row of the named configuration in the sweep's table."""
        return self.sweep.row(self.named)

    @cached_property
    def fronts(self) -> list[CostFront]:
        """The front of quality and each cost."""
        return list(fronts(self.sweep, self.headline.allowed))

    @cached_property
    def promises(self) -> list[Promise]:
        """The result for each promise of `decision.target`, for the named configuration."""
        return list(promises(self.sweep, self.named))

    @cached_property
    def threshold(self) -> ThresholdPromise | None:
        """The result for the promise about questions that should find nothing; None without one."""
        return threshold_promise(self.sweep, self.named)

    @cached_property
    def gain(self) -> str | None:
        """The first metric of `decision.gains` that was measured: what a larger cutoff buys."""
        return self._first_measured(self.sweep.settings.gains)

    @cached_property
    def cost(self) -> str | None:
        """The first cost of `decision.costs` that was measured: what a larger cutoff costs."""
        return self._first_measured(self.sweep.settings.costs)

    @cached_property
    def bought(self) -> list[tuple[int, float, float | None]]:
        """The gain and the cost of the named configuration at each swept cutoff at which it meets the requirements.

        Of one configuration: between the choices at two cutoffs, other settings differ as well. A budget that it could
        not spend is left out, and so is a cutoff before which its rankings end.
        """
        meeting = [run for choice in self.choices.values() for run in choice.allowed.outcomes if choice.meets]
        runs = [run for run in meeting if run.configuration == self.named.configuration and self.sweep.spends(run)]
        return [
            (run.cutoff, value, run.value(self.cost or ""))
            for run in runs
            if run.cutoff is not None and not run.ends_early and (value := run.value(self.gain or "")) is not None
        ]

    def _first_measured(self, names: Sequence[str]) -> str | None:
        return next((name for name in names if self.named.value(name) is not None), None)

    @cached_property
    def at_edge(self) -> list[str]:
        """Swept numeric settings of which the named configuration has the smallest or the largest value."""
        if self.headline.excluded:  # perhaps only because of a requirement
            return []
        axes = {name: values for name, values in self.sweep.axes.items() if name != self.sweep.cutoff}
        numeric = {name: own for name, own in axes.items() if len(own) > 2 and all(map(is_number, own))}
        return [name for name, values in numeric.items() if self.best[name] in (values[0], values[-1])]

    @cached_property
    def unanswered(self) -> Indices:
        """Positions of the queries for which every configuration has the worst possible value of the metric."""
        return np.flatnonzero(at_worst(self.sweep).all(axis=0))

    @cached_property
    def compared(self) -> dict[Outcome, Compared]:
        """The comparison of each run that meets the requirements with the best one at its cutoff."""
        rows: dict[Outcome, Compared] = {}
        for choice in self.choices.values():
            standings = choice.allowed.standings
            differences = (standings.difference, standings.difference_low, standings.difference_high)
            columns = (*differences, standings.with_best.tied, standings.with_best.p, standings.wins)
            values = zip(*(column.tolist() for column in columns), strict=True)
            rows |= dict(zip(choice.allowed.outcomes, starmap(Compared, values), strict=True))
        return rows

    @cached_property
    def pairs(self) -> pd.DataFrame | None:
        """McNemar's exact test of every pair of configurations at the cutoff of the headline, the best ones first.

        None if the deciding metric is no share of the queries, and for more than `MOST_IN_PAIRS` configurations.
        """
        import pandas as pd

        level, metric = self.headline.allowed, self.sweep.decided_by
        is_share = all(run.metrics[metric].binary for run in level.outcomes) and self.sweep.is_mean(metric)
        if not is_share or not 1 < len(level.outcomes) <= MOST_IN_PAIRS:
            return None
        order = level.table["outcome"].to_numpy()
        pairs = mcnemar_of_pairs(level.scores(metric)[order], level.groups)
        names = np.array([level.outcomes[position].name for position in order], dtype=object)
        return pd.DataFrame(pairs._asdict() | {"first": names[pairs.first], "second": names[pairs.second]})

    @cached_property
    def against_guessing(self) -> dict[Outcome, AgainstGuessing]:
        """The comparison of each run with guessing; empty if it is not known for all of them."""
        sweep, metric = self.sweep, self.sweep.decided_by
        guesses = [run.facts.guessing[metric] for run in sweep.outcomes if metric in run.facts.guessing]
        if len(guesses) < len(sweep.outcomes):
            return {}
        p, p_worse = (holm(np.array(values)).tolist() for values in zip(*(guess[1:] for guess in guesses), strict=True))
        compared = {}
        for run, guess, *ps in zip(sweep.outcomes, guesses, p, p_worse, strict=True):
            gain, (either, worse) = sweep.sign(metric) * (sweep.statistic(run, metric) - guess.value), ps
            signs = gain > 0 and either <= LEVEL, gain < 0 and worse <= LEVEL
            compared[run] = AgainstGuessing(guess.value, either, worse, *signs)
        return compared

    @cached_property
    def unread(self) -> UnreadAnswers | None:
        """The responses that could not be read; None if that is not known of every run."""
        return unread_answers(self.sweep, self.headline)

    @cached_property
    def methods(self) -> pd.DataFrame:
        """One configuration per method, with the other settings of the named one, in the order of `Outcome.order`."""
        rows = self.like_named(*self.sweep.method_settings).drop_duplicates("method")
        order = rows["outcome"].map(lambda position: self.sweep.outcomes[position].order)
        return rows.loc[order.sort_values(kind="stable").index]  # methods without one come last

    def fixed_settings(self, *free: str | None, like: Outcome | None = None) -> str:
        """The swept settings, except `free`, that a chart fixes at the values of the named one, for its subtitle."""
        row = self.sweep.row(like or self.named)
        settings = [
            f"{self.sweep.short(name)}={as_text(row[name])}"
            for name in self.sweep.axes
            if name not in free and row[name] == row[name]  # not NaN: it has the setting
        ]
        return f"; at {' '.join(settings)}" if settings else ""

    def like_named(self, *free: str | None, like: Outcome | None = None) -> pd.DataFrame:
        """The configurations with the settings of the named one, except `free` and settings that they do not have."""
        return self.sweep.like(self.sweep.row(like or self.named), *free)

    def best_with(self, setting: str) -> Outcome:
        """The named configuration; if it was not swept over a setting, the best one at its cutoff that was, if any."""
        level = self.headline.allowed
        ordered = [self.named, *(level.outcomes[position] for position in level.table["outcome"])]
        return next((run for run in ordered if setting in run.swept), self.named)


def decide(sweep: Sweep) -> Decision:
    """Decide a sweep: its runs must be on the same data, and at least one must have finished.

    Where nothing can be told apart, the cheapest is named, also if no cost is preferred: by the first that differs.
    What the headline names is named at every cutoff where it is as good.
    """
    decision = Decision(sweep, {cutoff: choose(sweep, cutoff) for cutoff in sweep.cutoffs})
    settings, headline = sweep.settings, decision.headline
    costs = () if settings.prefer or settings.margin is not None else costs_of_all(sweep)
    cost = next((name for name in costs if not headline.costs_the_same(name)), None)
    if cost and headline.undecided == "tied":
        by_cost = {
            cutoff: choice if choice.costs_the_same(cost) else replace(choice, by_cost=cost)
            for cutoff, choice in decision.choices.items()
        }
        decision = replace(decision, choices=by_cost)
    if settings.prefer:
        return decision
    named = sweep.label(decision.named)
    of_headline = {
        cutoff: next((run for run in choice.tied if choice.meets and sweep.label(run) == named), None)
        for cutoff, choice in decision.choices.items()
    }
    choices = {cutoff: replace(choice, of_headline=of_headline[cutoff]) for cutoff, choice in decision.choices.items()}
    return replace(decision, choices=choices)


def decide_each(sweep: Sweep) -> list[Decision]:
    """Decide a sweep on each of its datasets."""
    return [decide(one) for one in sweep.by_dataset]


def costs_of_all(sweep: Sweep) -> list[str]:
    """The costs in `decision.costs` that were measured for every configuration."""
    return [name for name in sweep.settings.costs if all(run.value(name) is not None for run in sweep.outcomes)]
