"""The state of a race, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ragsweep.core.terminal import counted
from ragsweep_audit.judging.journal import Journal
from ragsweep_audit.judging.pooling import POOLING
from ragsweep_audit.judging.wider_claims import agreement_with_guesses, of_guesses, of_this_judge, on_new_queries

NAMED = 5  # configurations in a sentence


def state_line(journal: Journal, out: Sequence[int] = ()) -> str:
    """What is known after the last judgment, in one line.

    Args:
        journal: The race.
        out: The configurations that dropped out by it.
    """
    if journal.strategy == POOLING:
        return f"after {len(journal.grades)}: {journal.race.differing:,} left"
    labels = journal.pool.labels
    parts = [f"{_named(journal, out)} {'is' if len(out) == 1 else 'are'} out"] if out else []
    running = np.flatnonzero(journal.race.running)
    if not journal.race.learnt:
        parts.append(f"{len(running)} configurations open")
    elif len(running) == 1:
        parts.append(f"{labels[running[0]]} is the best")
    else:
        parts.append(f"{labels[journal.race.leader]} leads, {counted(len(running) - 1, 'other')} open")
    return f"after {len(journal.grades)}: {'; '.join(parts)}"


def is_decided(journal: Journal) -> bool:
    """Whether the race names a configuration, or all that measure the same."""
    race = journal.race
    return int(race.running.sum()) == 1 or (race.margin > 0 and race.is_close_enough) or race.is_told


def verdicts(journal: Journal) -> list[str]:
    """What is decided of each configuration: `chosen`, `tied` (it measures the same), `open` or `worse`."""
    race = journal.race
    rest = "tied" if race.is_told else "open"
    found = [rest if running else "worse" for running in race.running.tolist()]
    if is_decided(journal):
        found[race.leader] = "chosen"
    return found


def as_record(journal: Journal) -> dict[str, Any]:
    """The state of a race for programs. `docs/judge.md` documents the fields."""
    race, pool, grades = journal.race, journal.pool, [*journal.grades.values()]
    decided = is_decided(journal)
    rows = [
        {"label": label, "verdict": verdict, "out_after": journal.dropped.get(place)}
        for place, (label, verdict) in enumerate(zip(pool.labels, verdicts(journal), strict=True))
    ]
    return {
        "headline": [*decision(journal)],
        "decided": decided,
        "choice": pool.labels[race.leader] if decided else None,
        "configurations": rows,
        "metric": pool.metric,
        "at": pool.k,
        "queries": pool.queries,
        "judgments": len(grades),
        "could_not_tell": grades.count(None),
        "asked_twice": len(journal.repeats),
        "differed": [*journal.repeats.values()].count(False),
        "pairs": len(pool.pairs),
        "could_still_tell": race.differing,
        "level": race.level,
        "margin": race.margin,
        "guesses": agreement_with_guesses(journal),
        "pool": pool.digest,
    }


def decision(journal: Journal) -> Iterator[str]:
    """What is decided, and with which error, in sentences; or what was judged, where nothing is decided."""
    if journal.strategy == POOLING:
        yield from _pooled(journal)
        return
    race, pool = journal.race, journal.pool
    all_judged = race.differing == 0
    leader, judged = pool.labels[race.leader], counted(len(journal.grades), "judgment")
    others = [each for each in np.flatnonzero(race.running).tolist() if each != race.leader]
    about = f"on {'this query' if pool.queries == 1 else f'these {pool.queries:,} queries'} by {pool.metric_at_k}"
    at = f"decided after {judged} at {race.level * 100:g} %"
    if not others:
        yield f"Ship {leader}: the best {about}, {at}."
    elif race.is_told:
        same = f"{leader} and {_named(journal, others)} measure the same {about}"
        yield f"{same}: every pair that could tell is judged ({judged})."
    elif race.is_close_enough:
        yield f"Ship {leader}: it loses less than {race.margin:g} to the best {about}, {at}."
        yield f"Still open: {_named(journal, others)}."
    elif all_judged:
        untold = sum(grade is None for grade in journal.grades.values())
        yield f"Not decided: nothing is left to judge, and {counted(untold, 'pair')} could not be told."
        yield f"Still open: {_named(journal, [race.leader, *others])}."
    else:
        open_ones = _named(journal, others)
        leads = (
            f"{leader} leads {about}; still open: {open_ones}" if race.learnt else f"still open: {leader}; {open_ones}"
        )
        yield f"Not decided after {judged}: {leads}."
    if journal.dropped:
        yield f"Out: {_named(journal, [*journal.dropped])}."
    if left := race.differing:
        yield f"{left:,} more pairs could be judged that tell between what is open."
    yield on_new_queries(journal)
    yield from of_this_judge(journal, decided=is_decided(journal))
    yield from of_guesses(journal)


def _pooled(journal: Journal) -> Iterator[str]:
    """What was judged by pooling."""
    grades = [*journal.grades.values()]
    unsure, irrelevant = grades.count(None), grades.count(0)
    relevant = len(grades) - unsure - irrelevant
    yield f"{counted(len(grades), 'judgment')}: {relevant} relevant, {irrelevant} not, {unsure} could not be told."
    yield f"{counted(journal.race.differing, 'pair')} left that nobody judged."
    yield from of_this_judge(journal, decided=False)
    yield from of_guesses(journal)


def _named(journal: Journal, configurations: Sequence[int]) -> str:
    """The names of configurations, at most five."""
    names = [journal.pool.labels[each] for each in configurations]
    more = f" and {counted(len(names) - NAMED, 'other')}" if len(names) > NAMED else ""
    return "; ".join(names[:NAMED]) + more
