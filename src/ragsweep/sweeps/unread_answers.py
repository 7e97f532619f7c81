"""Whether the choice of a sweep depends on how answers count that could not be read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from ragsweep.core.arrays import Mask
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
    metric, counts, causes = sweep.decided_by, dict[Outcome, int](), dict[Outcome, Mapping[str, int]]()
    for run in sweep.outcomes:
        about = run.facts.unread.get(metric)
        if about is None or about.measure not in run.per_query:
            return None
        shares = {cause: run.value(name) or 0 for cause, name in about.causes.items()}  # a run records shares
        queries = {cause: round(len(sweep.queries) * share) for cause, share in shares.items()}
        counts[run] = int(_unread(run, metric).sum())
        causes[run] = {cause: number for cause, number in queries.items() if number}
    return UnreadAnswers(counts, [*_recounts(choice)], causes)


def _unread(run: Outcome, metric: str) -> Mask:
    """For which queries a run's response could not be read, shape [queries]."""
    return run.per_query[run.facts.unread[metric].measure].to_numpy(dtype=float) > 0


def _recounts(choice: Choice) -> Iterator[Recount]:
    """The choice by each way to count what could not be read; none if everything could be read."""
    level, metric = choice.allowed, choice.allowed.decided_by
    if (
        len(level.outcomes) < 2
        or not level.is_mean(metric)
        or not any(_unread(run, metric).any() for run in level.outcomes)
    ):
        return
    columns = {run: run.facts.unread[metric].otherwise for run in level.outcomes}
    ways = [way for way in columns[choice.best] if all(own.get(way) in run.per_query for run, own in columns.items())]
    order = sorted(level.outcomes, key=lambda run: run is not choice.best)  # of equal ones, it stands
    for way in (*ways, AS_READ):
        counted = {run: _counting(run, metric, way) for run in order}
        then = Choice(choice.cutoff, level.only([*counted.values()]), choice.excluded)
        stands = choice.named not in choice.as_good or counted[choice.named] in then.as_good
        chance = choice.undecided == then.undecided == "tied"  # of what is tied either way, any can measure best
        yield Recount(way, then, not stands or (then.best is not counted[choice.best] and not chance))


def _counting(run: Outcome, metric: str, way: str) -> Outcome:
    """The run if its unread answers counted in this way."""
    columns, unread, values = run.facts.unread[metric].otherwise, _unread(run, metric), run.per_query[metric]
    if way == AS_READ and not unread.all():
        values = values.where(~unread, values[~unread].mean())
    else:
        values = run.per_query[columns.get(way, [metric, *columns.values()][-1])]
    about = replace(run.facts.metrics[metric], binary=False, wilson=False)
    facts = replace(run.facts, metrics={**run.facts.metrics, metric: about})
    return replace(run, per_query=run.per_query.assign(**{metric: values.astype(float)}), facts=facts)
