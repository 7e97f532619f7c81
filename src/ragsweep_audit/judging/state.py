"""The state of a race, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ragsweep.core.terminal import counted
from ragsweep_audit.judging.journal import Journal
from ragsweep_audit.judging.wider_claims import of_this_judge, on_new_queries

NAMED = 5  # configurations in a sentence


def state_line(journal: Journal, out: Sequence[int]) -> str:
    """What is known after the last judgment, in one line.

    Args:
        journal: The race.
        out: The configurations that dropped out by it.
    """
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


def decision(journal: Journal, *, all_judged: bool) -> Iterator[str]:
    """What is decided, and with which error, in sentences.

    Args:
        journal: The race.
        all_judged: Whether nothing is left that could change it.
    """
    race, pool = journal.race, journal.pool
    leader, judged = pool.labels[race.leader], counted(len(journal.grades), "judgment")
    others = [each for each in np.flatnonzero(race.running).tolist() if each != race.leader]
    about = f"on {'this query' if pool.queries == 1 else f'these {pool.queries:,} queries'} by {pool.metric_at_k}"
    at = f"decided after {judged} at {race.level:.0%}"
    if not others:
        yield f"Ship {leader}: the best {about}, {at}."
    elif all_judged and None not in journal.grades.values():
        yield f"{leader} and {_named(journal, others)} measure the same {about}: every pair that could tell is judged."
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
    decided = not others or race.is_close_enough or (all_judged and None not in journal.grades.values())
    yield from of_this_judge(journal, decided=decided)


def _named(journal: Journal, configurations: Sequence[int]) -> str:
    """The names of configurations, at most five."""
    names = [journal.pool.labels[each] for each in configurations]
    more = f" and {counted(len(names) - NAMED, 'other')}" if len(names) > NAMED else ""
    return "; ".join(names[:NAMED]) + more
