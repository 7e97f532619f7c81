"""Which configuration to take at one cutoff."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from ragsweep.core.arrays import Mask
from ragsweep.statistics import LEVEL, least_margin, least_queries, not_worse_than_best
from ragsweep.statistics.intervals import Array
from ragsweep.sweeps.outcome import Outcome
from ragsweep.sweeps.sweep import Sweep

Undecided = Literal["requirements", "one configuration", "same values", "tied"]

EQUAL_TIME = 1.5  # times as long, besides `slowed_by`: the speed of a processor changes with its neighbours
SLOWED = 1.3  # the `slowed_by` of a time of which it is not known
MILLISECONDS = "ms"
EQUAL_COST = 0.02  # share of a cost that counts as nothing: no two configurations cost exactly the same
UNASKED_SAVING = 0.1  # share of a cost that nobody asked to save: passages of one size differ by as much


def units(sweep: Sweep, metric: str) -> Array:
    """A metric of the independent units of tests, queries or groups; higher is better; shape [outcomes, units]."""
    return sweep.groups.totals(sweep.sign(metric) * sweep.scores(metric))


def span(sweep: Sweep, metric: str) -> float:
    """The largest possible difference between two of these values."""
    return sweep.groups.widest(sweep.metric_info[metric].span)


def about_the_same(sweep: Sweep, cost: str, one: Outcome, other: Outcome, share: float) -> bool:
    """Whether two configurations cost about the same; a time, whether load can explain that one took longer.

    Args:
        sweep: Describes the cost.
        cost: Its name; both have been measured.
        one: A configuration.
        other: Another one.
        share: What counts as nothing of a cost that is no time.
    """
    (low, _), (high, dearer) = sorted((abs(run.value(cost) or 0.0), place) for place, run in enumerate((one, other)))
    if sweep.metric_info[cost].unit != MILLISECONDS:
        return high - low <= share * high
    measure = (one, other)[dearer].facts.measures.get(cost)
    return high <= EQUAL_TIME * ((measure and measure.slowed_by) or SLOWED) * low


@dataclass(frozen=True)
class Choice:
    """The configurations at one cutoff, and the one to take.

    Attributes:
        cutoff: The cutoff; None if the task has none.
        allowed: The configurations that meet all requirements. All of them if none does.
        excluded: Names of the configurations that do not, each with the first requirement that it does not meet.
        barred: How many of them are no controls.
        by_cost: The cost that chooses, because the queries cannot; None if they can, or a preference is configured.
        of_headline: The run of the configuration that the headline names, where it is as good here.
    """

    cutoff: int | None
    allowed: Sweep
    excluded: Mapping[str, str]
    barred: int = 0
    by_cost: str | None = None
    of_headline: Outcome | None = None

    @property
    def prefer(self) -> str | None:
        """The cost or score that chooses among equally good configurations: the configured one, or `by_cost`."""
        return self.allowed.settings.prefer or self.by_cost

    @property
    def meets(self) -> bool:
        """Whether any configuration meets all requirements."""
        return not any(outcome.name in self.excluded for outcome in self.allowed.outcomes)

    @cached_property
    def undecided(self) -> Undecided | None:
        """Why quality does not choose here; None if it does, or if one configuration alone meets the requirements."""
        if not self.meets:
            return "requirements"
        if self.dropped:
            return None
        if len(self.allowed.outcomes) == 1:
            return None if self.barred else "one configuration"
        if self.distinct == 1:
            return "same values"
        return None if self.worse else "tied"

    @property
    def dropped(self) -> int:
        """How many configurations dropped out of a race for this cutoff, shown to be worse."""
        race = self.allowed.race
        return sum(racer.cutoff == self.cutoff for racer in race.dropped) if race else 0

    @property
    def best(self) -> Outcome:
        """The configuration with the best value of the deciding metric. Of equal ones, the first of `allowed`."""
        return self.allowed.outcomes[self.allowed.best]

    @cached_property
    def tied(self) -> list[Outcome]:
        """The configurations that cannot be told apart from the best, including the best."""
        return self._where(self.allowed.standings.with_best.tied)

    @cached_property
    def not_worse(self) -> list[Outcome] | None:
        """The configurations that are shown not to be worse than the best by the margin. None without a margin.

        A configuration is never better than the true best, so these are also the ones that are equivalent to it.
        """
        margin, metric = self.allowed.settings.margin, self.allowed.decided_by
        if margin is None or not self.allowed.is_mean(metric):
            return None
        return self._where(
            not_worse_than_best(units(self.allowed, metric), margin, span(self.allowed, metric)) <= LEVEL
        )

    @property
    def showable(self) -> tuple[float, int] | None:
        """The smallest margin that these queries can show if none differs, and how many can show the configured one.

        None without a margin or a rival.
        """
        margin, widest = self.allowed.settings.margin, span(self.allowed, self.allowed.decided_by)
        if self.not_worse is None or margin is None or self.distinct < 2:
            return None
        level = LEVEL / (self.distinct - 1)  # Holm's, of the first claim
        groups, least = self.allowed.groups, least_queries(margin, widest, level)
        return least_margin(groups.number, widest, level), groups.queries_in(least)

    @cached_property
    def named(self) -> Outcome:
        """The configuration to take: the best, or the cheapest of those that are as good if a cost is to choose.

        Of those that cost nearly as little as the cheapest one, the best is taken. `of_headline` comes before both.
        """
        if self.of_headline:
            return self.of_headline
        prefer = self.prefer
        as_good = [outcome for outcome in self.as_good if prefer and outcome.value(prefer) is not None]
        if not prefer or not as_good:
            return self.best
        sign, metric = self.allowed.sign(prefer), self.allowed.decided_by
        least = max(as_good, key=lambda run: sign * (run.value(prefer) or 0))
        close = [run for run in as_good if about_the_same(self.allowed, prefer, run, least, self._equal_cost)]
        return max(close, key=lambda run: (self.allowed.sign(metric) * (run.value(metric) or 0), run is self.best))

    def costs_the_same(self, cost: str) -> bool:
        """Whether the configurations that are as good cost about the same."""
        least, most = (end(self.as_good, key=lambda run: run.value(cost) or 0) for end in (min, max))
        measured = all(run.value(cost) is not None for run in self.as_good)
        return measured and about_the_same(self.allowed, cost, least, most, self._equal_cost)

    @property
    def _equal_cost(self) -> float:
        return EQUAL_COST if self.allowed.settings.prefer else UNASKED_SAVING

    @property
    def as_good(self) -> list[Outcome]:
        """The configurations among which a cost may decide. Without a margin, those that cannot be told apart.

        One that found nothing for any query costs least, and few queries cannot tell it apart: it is never among them.
        """
        if self.not_worse is not None:
            return self.not_worse or [self.best]
        empty = self._where(np.asarray(at_worst(self.allowed).all(axis=1)))
        return [outcome for outcome in self.tied if outcome not in empty] or self.tied

    @property
    def rivals(self) -> list[Outcome]:
        """The configurations that cannot be told apart from the best, without the named one."""
        return [outcome for outcome in self.tied if outcome is not self.named]

    @cached_property
    def distinct(self) -> int:
        """How many configurations there are, where those that measure the same count once."""
        return len({outcome.measured for outcome in self.allowed.outcomes})

    @cached_property
    def worse(self) -> int:
        """How many configurations are shown to be worse than the best; those that measure the same count once."""
        return self.distinct - len({outcome.measured for outcome in self.tied})

    @property
    def expected(self) -> float | None:
        """The value of the metric to expect on other queries. None if the named configuration is not the best."""
        selection = self.allowed.standings.selection
        return selection.expected if selection and self.named is self.best else None

    def _where(self, chosen: Mask) -> list[Outcome]:
        return [self.allowed.outcomes[position] for position in np.flatnonzero(chosen).tolist()]


def at_worst(sweep: Sweep) -> Mask:
    """Where the deciding metric has its worst possible value, shape [outcomes, queries]; nowhere if it is no mean."""
    if not sweep.is_mean(sweep.decided_by):
        return np.zeros((len(sweep.outcomes), len(sweep.queries)), dtype=bool)
    return np.array([run.at_worst(sweep.decided_by) for run in sweep.outcomes])


def choose(sweep: Sweep, cutoff: int | None) -> Choice:
    """Choose among the configurations at one cutoff."""
    level = sweep.at(cutoff)
    excluded = {outcome.name: why for outcome in level.outcomes for why in _unmet(sweep, outcome)}
    allowed = [outcome for outcome in level.outcomes if outcome.name not in excluded]
    barred = sum(outcome.name in excluded and not outcome.facts.control for outcome in level.outcomes)
    return Choice(cutoff, level.only(allowed) if allowed else level, excluded, barred)


def settled(choices: Sequence[Choice]) -> Sequence[Choice]:
    """The choices that a headline can be about: several configurations compete, and each spends its budget.

    Where there are none, those that are nearest to that.
    """
    spent = [choice for choice in choices if all(map(choice.allowed.spends, choice.allowed.outcomes))] or choices
    return [choice for choice in spent if len(choice.allowed.outcomes) > 1 or choice.excluded] or spent


def _unmet(sweep: Sweep, outcome: Outcome) -> Iterator[str]:
    """The first requirement that a configuration does not meet, in words."""
    if outcome.facts.control:
        yield outcome.facts.control
        return
    for name, bound in (sweep.settings.require or {}).items():
        value, higher = outcome.value(name), sweep.metric_info[name].higher_is_better
        if value is None:
            yield f"{name} was not measured"
            return
        if value < bound if higher else value > bound:
            yield f"{name} {value:.4g}, required {'at least' if higher else 'at most'} {bound:g}"
            return
