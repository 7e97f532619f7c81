"""What a decision says beyond these queries and beyond this judge's answers, in sentences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ragsweep.core.terminal import counted
from ragsweep_audit.judging.journal import Journal
from ragsweep_audit.judging.judge_errors import error_rate, kappa, loss_by_the_truth


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
        str(grade): {"judged": sum(each == grade for each, _ in both), "same": both.count((grade, grade))}
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
