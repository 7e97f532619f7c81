"""Whether the choice of a sweep depends on how answers count that could not be read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ragsweep.core.arrays import Mask
from ragsweep.statistics.intervals import Array
from ragsweep.sweeps.choice import Choice
from ragsweep.sweeps.outcome import Outcome
from ragsweep.sweeps.sweep import Sweep

AS_READ = "right as often as its other answers"  # a guess where it has none


class Recount(NamedTuple):
    """The choice if answers that could not be read counted otherwise.

    Attributes:
        counted_as: What they count as, such as `a guess`.
        choice: The choice then.
        replaces: Whether another configuration would be the best, or the chosen one would not be as good.
    """

    counted_as: str
    choice: Choice
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
        return [recount for recount in self.recounts if recount.replaces]


def unread_answers(sweep: Sweep, choice: Choice) -> UnreadAnswers | None:
    """The responses that could not be read; None if that is not known of every run.

    Args:
        sweep: The runs.
        choice: Between those at the cutoff of the headline.
    """
    unread = {run: unread_queries(run, sweep.decided_by) for run in sweep.outcomes}
    counts = {run: int(queries.sum()) for run, queries in unread.items() if queries is not None}
    causes = {run: _causes(sweep, run) for run in counts}
    return UnreadAnswers(counts, [*recounts(choice)], causes) if len(counts) == len(unread) else None


def _causes(sweep: Sweep, run: Outcome) -> dict[str, int]:
    """For how many queries a run has each cause; a run records the shares."""
    about = run.facts.unread[sweep.decided_by].causes
    counts = {cause: round(len(sweep.queries) * (run.value(name) or 0)) for cause, name in about.items()}
    return {cause: count for cause, count in counts.items() if count}


def unread_queries(run: Outcome, metric: str) -> Mask | None:
    """For which queries a run's response could not be read, shape [queries]; None if it does not say."""
    about = run.facts.unread.get(metric)
    if about is None or about.measure not in run.per_query:
        return None
    return run.per_query[about.measure].to_numpy(dtype=float) > 0


def recounts(choice: Choice) -> Iterator[Recount]:
    """The choice by each way to count what could not be read; none if everything could be read or is not known."""
    level, metric = choice.allowed, choice.allowed.decided_by
    unread = [unread_queries(run, metric) for run in level.outcomes]
    known = [queries for queries in unread if queries is not None]
    if len(known) < len(unread) or len(unread) < 2 or not np.any(known) or not level.is_mean(metric):
        return
    ways = [
        way
        for way in choice.best.facts.unread[metric].otherwise
        if all(run.facts.unread[metric].otherwise.get(way) in run.per_query for run in level.outcomes)
    ]
    for way in (*ways, AS_READ):
        order = sorted(level.outcomes, key=lambda run: run is not choice.best)  # of equal ones, it stands
        counted = {run: _with(run, metric, _otherwise(run, metric, way)) for run in order}
        then = Choice(choice.cutoff, level.only([*counted.values()]), choice.excluded)
        stands = choice.named not in choice.as_good or counted[choice.named] in then.as_good
        chance = choice.undecided == then.undecided == "tied"  # of what is tied either way, any can measure best
        yield Recount(way, then, not stands or (then.best is not counted[choice.best] and not chance))


def _otherwise(run: Outcome, metric: str, way: str) -> Array:
    """The values of a run whose unread answers count otherwise."""
    columns, unread = run.facts.unread[metric].otherwise, unread_queries(run, metric)
    values = run.per_query[metric].to_numpy(dtype=float)
    if way == AS_READ and unread is not None and not unread.all():
        return np.where(unread, values[~unread].mean(), values)
    column = columns.get(way, [*columns.values()][-1] if columns else metric)
    return run.per_query[column].to_numpy(dtype=float)


def _with(run: Outcome, metric: str, values: Array) -> Outcome:
    about = replace(run.facts.metrics[metric], binary=False, wilson=False)
    facts = replace(run.facts, metrics={**run.facts.metrics, metric: about})
    return replace(run, per_query=run.per_query.assign(**{metric: values}), facts=facts)
