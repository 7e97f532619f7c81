"""Whether the choice of a sweep depends on how answers count that could not be read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ragsweep.sweeps.choice import Choice
from ragsweep.sweeps.outcome import Outcome
from ragsweep.sweeps.sweep import Sweep

LEFT_OUT = "left out"  # the queries that not every configuration has answered
LEAST_QUERIES = 2  # of a comparison
SMALLER = 0.5  # of a difference


class Recount(NamedTuple):
    """The choice if answers that could not be read counted otherwise.

    Attributes:
        counted_as: What they count as, such as `a guess`; `LEFT_OUT` without the queries of such answers.
        queries: Number of queries.
        choice: The choice.
        changes: Whether another configuration would be the best, the chosen one would be shown to be worse, or one that
            is shown to be worse now would not be.
    """

    counted_as: str
    queries: int
    choice: Choice
    changes: bool


class UnreadAnswers(NamedTuple):
    """The responses of a sweep that could not be read, which count as the worst value of the deciding metric.

    Attributes:
        counts: Their number for each run.
        recounts: The choice at the cutoff of the headline if they counted otherwise; empty if all could be read there.
    """

    counts: Mapping[Outcome, int]
    recounts: Sequence[Recount]

    @property
    def most(self) -> int:
        """The largest number of a run."""
        return max(self.counts.values())

    @property
    def changing(self) -> list[Recount]:
        """The ways to count by which the choice is another one."""
        return [each for each in self.recounts if each.changes]


def unread_answers(sweep: Sweep, choice: Choice) -> UnreadAnswers | None:
    """The responses that could not be read; None if that is not known of every run.

    Args:
        sweep: The runs.
        choice: Between those at the cutoff of the headline.
    """
    found = {outcome: unread_queries(outcome, sweep.decided_by) for outcome in sweep.outcomes}
    counts = {outcome: int(each.sum()) for outcome, each in found.items() if each is not None}
    return UnreadAnswers(counts, [*recounts(choice)]) if len(counts) == len(found) else None


def unread_queries(outcome: Outcome, metric: str) -> npt.NDArray[np.bool_] | None:
    """For which queries a run's response could not be read, shape [queries]; None if it does not say."""
    about = outcome.facts.unread.get(metric)
    if about is None or about.measure not in outcome.per_query:
        return None
    return outcome.per_query[about.measure].to_numpy(dtype=float) > 0


def recounts(choice: Choice) -> Iterator[Recount]:
    """The choice by each way to count what could not be read; none if everything could be read or is not known."""
    level, metric = choice.allowed, choice.allowed.decided_by
    unread = [unread_queries(outcome, metric) for outcome in level.outcomes]
    known = [each for each in unread if each is not None]
    if len(known) < len(unread) or len(unread) < 2 or not np.any(known) or not level.is_mean(metric):
        return
    ways = [outcome.facts.unread[metric].otherwise for outcome in level.outcomes]
    for words in ways[0]:
        if all(words in way and way[words] in each.per_query for way, each in zip(ways, level.outcomes, strict=True)):
            found = _recounted(choice, partial(_otherwise, metric=metric, words=words))
            yield Recount(words, len(level.queries), found, _changes(choice, found))
    everywhere = ~np.any(known, axis=0)
    if everywhere.sum() >= LEAST_QUERIES:
        found = _recounted(choice, lambda outcome: replace(outcome, per_query=outcome.per_query[everywhere]))
        yield Recount(LEFT_OUT, int(everywhere.sum()), found, _changes(choice, found, fewer=True))


def _otherwise(outcome: Outcome, metric: str, words: str) -> Outcome:
    """A run whose unread answers count otherwise."""
    values = outcome.per_query[outcome.facts.unread[metric].otherwise[words]]
    about = replace(outcome.facts.metrics[metric], binary=False, wilson=False)
    facts = replace(outcome.facts, metrics={**outcome.facts.metrics, metric: about})
    return replace(outcome, per_query=outcome.per_query.assign(**{metric: values}), facts=facts)


def _recounted(choice: Choice, count: Callable[[Outcome], Outcome]) -> Choice:
    outcomes = [count(outcome) for outcome in choice.allowed.outcomes]
    return Choice(choice.cutoff, choice.allowed.only(outcomes), choice.excluded)


def _changes(now: Choice, then: Choice, *, fewer: bool = False) -> bool:
    """Whether one choice is not the other.

    Args:
        now: The choice.
        then: The choice if something counted otherwise, between the same configurations in the same order.
        fewer: Whether it is of fewer queries. Fewer queries show less, so a difference that is no longer shown counts
            only if it is less than `SMALLER` of what it was.
    """
    pairs = dict(zip(now.allowed.outcomes, then.allowed.outcomes, strict=True))
    if then.best.measured != pairs[now.best].measured:
        return True
    if now.named in now.as_good and pairs[now.named] not in then.as_good:
        return True
    return any(
        pairs[outcome] in then.tied and not (fewer and _behind(pairs[outcome], then) >= SMALLER * _behind(outcome, now))
        for outcome in now.allowed.outcomes
        if outcome not in now.tied
    )


def _behind(outcome: Outcome, choice: Choice) -> float:
    """How much worse than the best a configuration is."""
    sweep, metric = choice.allowed, choice.allowed.decided_by
    best, own = (sweep.statistic(each, metric) for each in (choice.best, outcome))
    return sweep.sign(metric) * (best - own)
