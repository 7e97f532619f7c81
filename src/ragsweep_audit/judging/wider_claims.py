"""What a decision says beyond these queries and beyond this judge's answers, in sentences."""

from __future__ import annotations

from collections.abc import Iterator

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
