"""The state of a race in sentences: what is decided, and what that says of other queries and of the judge."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy.stats import beta, norm

from ragsweep.core.terminal import counted
from ragsweep.statistics.intervals import LEVEL
from ragsweep_audit.judging.journal import Journal
from ragsweep_audit.judging.race import POOLING, Race

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
    others = [place for place in np.flatnonzero(race.running).tolist() if place != race.leader]
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
    names = [journal.pool.labels[place] for place in configurations]
    more = f" and {counted(len(names) - NAMED, 'other')}" if len(names) > NAMED else ""
    return "; ".join(names[:NAMED]) + more


def on_new_queries(journal: Journal) -> str:
    """What holds for other queries like these."""
    loss = journal.race.loss_on_new_queries
    if loss is None:
        return "Nothing is said about other queries like these: there are too few queries or judgments."
    leader, metric = journal.pool.labels[journal.race.leader], journal.pool.metric_at_k
    at = f"with an error of at most {journal.race.level * 100:g} %"
    if loss >= journal.race.largest_value:
        return "What the leader loses on other queries like these is not known yet: it could be anything."
    if loss < 0:
        return f"On new queries like these, {leader} is the best as well, by at least {-loss:.3f} {metric}, {at}."
    return f"On new queries like these, {leader} loses at most {loss:.3f} {metric} to the best, {at}."


def agreement_with_guesses(journal: Journal) -> dict[str, Any] | None:
    """How often the guesses of a language model are what the judge said; None if nothing is guessed."""
    pool, highest = journal.pool, journal.highest
    if pool.guessed is None:
        return None
    guesses = {(pair.query_id, pair.unit): guess for pair, guess in zip(pool.pairs, pool.guessed, strict=True)}
    both = [
        (grade, round(guess * highest))
        for number, grade in journal.grades.items()
        if grade is not None
        and not np.isnan(guess := guesses[journal.asked_pairs[number].query_id, journal.asked_pairs[number].unit])
    ]
    of_grades = {
        str(grade): {"judged": sum(judged == grade for judged, _ in both), "same": both.count((grade, grade))}
        for grade in range(highest + 1)
    }
    agreement = kappa(*map(list, zip(*both, strict=True))) if both else None
    return {"judged": len(both), "same": sum(a == b for a, b in both), "kappa": agreement, "by_grade": of_grades}


def of_guesses(journal: Journal) -> Iterator[str]:
    """How often the guesses of a language model were right, where there are some."""
    if (found := agreement_with_guesses(journal)) and found["judged"]:
        measured = "" if found["kappa"] is None else f" (kappa {found['kappa']:.2f})"
        grades = (f"{its['same']} of {its['judged']} of grade {grade}" for grade, its in found["by_grade"].items())
        said = f"{found['same']} of {counted(found['judged'], 'case')}{measured}: {', '.join(grades)}"
        yield f"The language model's guess equals the judgment in {said}. Its guesses only chose what was asked."


def of_this_judge(journal: Journal, *, decided: bool) -> Iterator[str]:
    """How often judgments differed where a pair was asked twice, and what that leaves of the decision."""
    first = [journal.grades[number] for number in journal.repeats]
    second = [journal.again[number] for number in journal.repeats]
    if not first:
        return
    differed = [*journal.repeats.values()].count(False)
    agreement = kappa(first, second)
    measured = "" if agreement is None else f" (kappa {agreement:.2f})"
    rate, most = error_rate(differed, len(first))
    yield (
        f"Asked for twice: {counted(len(first), 'judgment')}, of which {differed} differed{measured}: "
        f"{100 * rate:.1f} % errors if they are independent, at most {100 * most:.1f} %."
    )
    if decided:
        leader, loss = journal.pool.labels[journal.race.leader], loss_by_the_truth(journal.race, most)
        if loss < journal.race.largest_value:
            most_lost = f"{leader} loses at most {loss:.3f} {journal.pool.metric_at_k} to the best on these queries"
            yield f"If {100 * most:.1f} % of the judgments are wrong, {most_lost}."


def kappa(first: Sequence[object], second: Sequence[object]) -> float | None:
    """Cohen's kappa of two series of judgments; None where chance alone makes all of them agree."""
    count = len(first)
    same = sum(one == other for one, other in zip(first, second, strict=True)) / count
    by_chance = sum(first.count(grade) * second.count(grade) for grade in {*first, *second}) / count**2
    return None if by_chance == 1 else (same - by_chance) / (1 - by_chance)


def error_rate(differed: float, repeats: int) -> tuple[float, float]:
    """The share of wrong answers, and what it is at most at 5 %, by Clopper and Pearson.

    Two answers that are wrong independently with a share e differ with a share 2e(1 - e).
    """
    at_most = float(beta.ppf(1 - LEVEL, differed + 1, repeats - differed)) if differed < repeats else 1.0
    rate, most = ((1 - np.sqrt(max(1 - 2 * share, 0))) / 2 for share in (differed / repeats, at_most))
    return float(rate), float(most)


def loss_by_the_truth(race: Race, errors: float) -> float:
    """What a leader that loses less than the margin by the judgments loses at most by the truth, at the level.

    A judge who takes relevant for not relevant, and the other way, with a share `errors` makes each difference smaller
    by a factor of 1 - 2 `errors`, adds what the leader ranks more of, and adds noise.
    """
    apart = race.weights[race.leader] - race.weights
    favoured = errors * max(float(apart.sum(axis=1).max()), 0.0)
    variance = errors * (1 - errors) * float((apart**2).sum(axis=1).max())
    noise = float(norm.isf(race.level / (len(apart) - 1))) * np.sqrt(variance)
    return float((race.margin + favoured + noise) / (1 - 2 * errors)) if errors < 1 / 2 else np.inf
