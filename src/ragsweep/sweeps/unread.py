"""Whether the choice of a sweep depends on how answers count that could not be read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ragsweep.core.arrays import Mask
from ragsweep.statistics.intervals import EQUAL
from ragsweep.sweeps.choice import Choice
from ragsweep.sweeps.outcome import Outcome
from ragsweep.sweeps.sweep import Sweep

LEFT_OUT = "left out"  # the queries that one of two configurations has not answered
LEAST_QUERIES = 2  # of a comparison
SMALLER = 0.5  # of a difference


class Recount(NamedTuple):
    """The choice if answers that could not be read counted otherwise.

    Attributes:
        counted_as: What they count as, such as `a guess`. `LEFT_OUT` is a comparison of the best configuration with
            another one, on the queries that both have answered.
        queries: Number of queries.
        choice: The choice; between two configurations, the best one first, if they are left out.
        changes: Whether another configuration would be the best, the chosen one would be shown to be worse, or one that
            is shown to be worse now would not be.
        replaces: Whether the chosen one would be another, or would not stand: what is only told apart from fewer others
            does stand.
    """

    counted_as: str
    queries: int
    choice: Choice
    changes: bool
    replaces: bool


class UnreadAnswers(NamedTuple):
    """The responses of a sweep that could not be read, which count as the worst value of the deciding metric.

    Attributes:
        counts: Their number for each run.
        recounts: The choice at the cutoff of the headline if they counted otherwise; empty if all could be read there.
        causes: For how many queries of each run the server says why the response has no usable text, by the cause, such
            as `cut off`; without those that no query has.
    """

    counts: Mapping[Outcome, int]
    recounts: Sequence[Recount]
    causes: Mapping[Outcome, Mapping[str, int]]

    @property
    def most(self) -> int:
        """The largest number of a run."""
        return max(self.counts.values())

    @property
    def replacing(self) -> list[Recount]:
        """The ways to count by which the chosen configuration would not stand."""
        return [each for each in self.recounts if each.replaces]

    @property
    def changing(self) -> list[Recount]:
        """The ways to count by which the choice is another one, or is told apart from fewer configurations."""
        return [each for each in self.recounts if each.changes]


def unread_answers(sweep: Sweep, choice: Choice) -> UnreadAnswers | None:
    """The responses that could not be read; None if that is not known of every run.

    Args:
        sweep: The runs.
        choice: Between those at the cutoff of the headline.
    """
    found = {outcome: unread_queries(outcome, sweep.decided_by) for outcome in sweep.outcomes}
    counts = {outcome: int(each.sum()) for outcome, each in found.items() if each is not None}
    causes = {outcome: _causes(sweep, outcome) for outcome in counts}
    return UnreadAnswers(counts, [*recounts(choice)], causes) if len(counts) == len(found) else None


def _causes(sweep: Sweep, outcome: Outcome) -> dict[str, int]:
    """For how many queries a run has each cause; a run records the shares."""
    about = outcome.facts.unread[sweep.decided_by].causes
    counts = {cause: round(len(sweep.queries) * (outcome.value(name) or 0)) for cause, name in about.items()}
    return {cause: count for cause, count in counts.items() if count}


def unread_queries(outcome: Outcome, metric: str) -> Mask | None:
    """For which queries a run's response could not be read, shape [queries]; None if it does not say."""
    about = outcome.facts.unread.get(metric)
    if about is None or about.measure not in outcome.per_query:
        return None
    return outcome.per_query[about.measure].to_numpy(dtype=float) > 0


def recounts(choice: Choice) -> Iterator[Recount]:
    """The choice by each way to count what could not be read; none if everything could be read or is not known.

    Where they are left out, no test is made: it would find less on fewer queries, whatever they say. There, one that is
    shown to be worse now would not be if less than `SMALLER` of the difference is left.
    """
    level, metric = choice.allowed, choice.allowed.decided_by
    found = {outcome: unread_queries(outcome, metric) for outcome in level.outcomes}
    unread = {outcome: each for outcome, each in found.items() if each is not None}
    if len(unread) < len(found) or len(found) < 2 or not np.any([*unread.values()]) or not level.is_mean(metric):
        return
    ways = {outcome: outcome.facts.unread[metric].otherwise for outcome in level.outcomes}
    for words in ways[choice.best]:
        if all(way.get(words) in outcome.per_query for outcome, way in ways.items()):
            order = sorted(level.outcomes, key=lambda outcome: outcome is not choice.best)  # of equal ones, it stands
            counted = {outcome: _otherwise(outcome, metric, words) for outcome in order}
            then = Choice(choice.cutoff, level.only([*counted.values()]), choice.excluded)
            replaces = _replaces(choice, then, counted)
            yield Recount(words, len(level.queries), then, replaces or _ties_more(choice, then, counted), replaces)
    for rival in level.outcomes:
        answered = ~(unread[choice.best] | unread[rival])
        if rival is not choice.best and LEAST_QUERIES <= answered.sum() < len(answered):
            both = [replace(each, per_query=each.per_query[answered]) for each in (choice.best, rival)]
            then = Choice(choice.cutoff, level.only(both), choice.excluded)
            before, after = _lead(choice.allowed, choice.best, rival), _lead(then.allowed, *both)
            replaces = after < -EQUAL  # of two equal ones, the chosen one stands
            shrinks = rival not in choice.tied and after < SMALLER * before
            yield Recount(LEFT_OUT, int(answered.sum()), then, replaces or shrinks, replaces)


def _otherwise(outcome: Outcome, metric: str, words: str) -> Outcome:
    """A run whose unread answers count otherwise."""
    values = outcome.per_query[outcome.facts.unread[metric].otherwise[words]]
    about = replace(outcome.facts.metrics[metric], binary=False, wilson=False)
    facts = replace(outcome.facts, metrics={**outcome.facts.metrics, metric: about})
    return replace(outcome, per_query=outcome.per_query.assign(**{metric: values}), facts=facts)


def _replaces(now: Choice, then: Choice, counted: Mapping[Outcome, Outcome]) -> bool:
    """Whether another configuration is better than the best, or the chosen one is no longer as good."""
    return then.best is not counted[now.best] or (now.named in now.as_good and counted[now.named] not in then.as_good)


def _ties_more(now: Choice, then: Choice, counted: Mapping[Outcome, Outcome]) -> bool:
    """Whether a configuration cannot be told apart from the best that is shown to be worse now."""
    return any(counted[outcome] in then.tied for outcome in now.allowed.outcomes if outcome not in now.tied)


def _lead(level: Sweep, first: Outcome, second: Outcome) -> float:
    """By how much one configuration is better than another one."""
    metric = level.decided_by
    return level.sign(metric) * (level.statistic(first, metric) - level.statistic(second, metric))
