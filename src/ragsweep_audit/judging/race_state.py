"""The state of a race in sentences: what is decided, and what that says of other queries and of the judge."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
from scipy.stats import beta, norm

from ragsweep.core.terminal import counted
from ragsweep.report.sentences import Claim, sentences
from ragsweep.statistics.intervals import LEVEL
from ragsweep_audit.judging.journal import Journal
from ragsweep_audit.judging.judging_race import Race

NAMED = 5  # configurations in a sentence


def state_line(journal: Journal, out: Sequence[int] = ()) -> str:
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


def is_decided(journal: Journal) -> bool:
    """Whether the race names a configuration, or all that measure the same."""
    race = journal.race
    return int(race.running.sum()) == 1 or (race.margin > 0 and race.is_close_enough) or race.is_settled


def verdicts(journal: Journal) -> list[str]:
    """What is decided of each configuration: `chosen`, `tied` (it measures the same), `open` or `worse`."""
    race = journal.race
    rest = "tied" if race.is_settled else "open"
    verdict_of = [rest if running else "worse" for running in race.running.tolist()]
    if is_decided(journal):
        verdict_of[race.leader] = "chosen"
    return verdict_of


def as_record(journal: Journal) -> dict[str, Any]:
    """The state of a race for programs. `docs/questions.md` documents the fields."""
    race, pool, grades = journal.race, journal.pool, [*journal.grades.values()]
    decided = is_decided(journal)
    rows = [
        {"label": label, "verdict": verdict, "out_after": journal.dropped.get(place)}
        for place, (label, verdict) in enumerate(zip(pool.labels, verdicts(journal), strict=True))
    ]
    return {
        "headline": decision(journal),
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


class JudgedClaim(Claim):
    """What is known of a race; its sentence is in the `claims.toml` beside this file."""

    package: ClassVar[str] = __package__


def decision(journal: Journal) -> list[str]:
    """What is decided, and with which error, in sentences."""
    return sentences([*_race_claims(journal), *_judge_claims(journal), *_guess_claims(journal)])


def _race_claims(journal: Journal) -> Iterator[Claim]:
    race, pool = journal.race, journal.pool
    rivals = [place for place in np.flatnonzero(race.running).tolist() if place != race.leader]
    open_ones = _named(journal, rivals)
    untold = race.differing == 0
    states = {"best": not rivals, "same": race.is_settled, "close": race.is_close_enough, "untold": untold}
    state = next((name for name, holds in states.items() if holds), "open")
    choice = {
        "state": state,
        "leader": pool.labels[race.leader],
        "others": open_ones,
        "judgments": len(journal.grades),
        "untold": [*journal.grades.values()].count(None),
        "learnt": race.learnt,
        "queries": pool.queries,
        "metric": pool.metric_at_k,
        "level": f"{race.level * 100:g}",
        "margin": f"{race.margin:g}",
    }
    yield JudgedClaim("choice", choice)
    if state in ("close", "untold"):
        names = open_ones if state == "close" else _named(journal, [race.leader, *rivals])
        yield JudgedClaim("still_open", {"names": names})
    if journal.dropped:
        yield JudgedClaim("out", {"names": _named(journal, [*journal.dropped])})
    if race.differing:
        yield JudgedClaim("more_pairs", {"pairs": race.differing})
    loss = race.loss_on_new_queries
    is_bounded = loss is not None and loss < race.largest_value
    yield JudgedClaim("new_queries", {**choice, "loss": loss, "known": is_bounded})


def _named(journal: Journal, configurations: Sequence[int]) -> str:
    """The names of configurations, at most five."""
    names = [journal.pool.labels[place] for place in configurations]
    more = f" and {counted(len(names) - NAMED, 'other')}" if len(names) > NAMED else ""
    return "; ".join(names[:NAMED]) + more


def agreement_with_guesses(journal: Journal) -> dict[str, Any] | None:
    """How often the guesses of a language model are what the judge said; None if nothing is guessed."""
    pool, highest = journal.pool, journal.highest
    if pool.guessed is None:
        return None
    guesses = {(pair.query_id, pair.unit): guess for pair, guess in zip(pool.pairs, pool.guessed, strict=True)}
    pairs = [
        (grade, round(guess * highest))
        for number, grade in journal.grades.items()
        if grade is not None
        and not np.isnan(guess := guesses[journal.asked_pairs[number].query_id, journal.asked_pairs[number].unit])
    ]
    of_grades = {
        str(grade): {"judged": sum(judged == grade for judged, _ in pairs), "same": pairs.count((grade, grade))}
        for grade in range(highest + 1)
    }
    agreement = kappa(*map(list, zip(*pairs, strict=True))) if pairs else None
    return {"judged": len(pairs), "same": sum(a == b for a, b in pairs), "kappa": agreement, "by_grade": of_grades}


def _guess_claims(journal: Journal) -> Iterator[Claim]:
    """How often the guesses of a language model were right, where there are some."""
    if (agreement := agreement_with_guesses(journal)) and agreement["judged"]:
        yield JudgedClaim("guesses", agreement)


def _judge_claims(journal: Journal) -> Iterator[Claim]:
    """How often judgments differed where a pair was asked twice, and what that leaves of the decision."""
    first = [journal.grades[number] for number in journal.repeats]
    if not first:
        return
    differed = [*journal.repeats.values()].count(False)
    rate, most = error_rate(differed, len(first))
    agreement = kappa(first, [journal.again[number] for number in journal.repeats])
    errors = {"judgments": len(first), "differed": differed, "kappa": agreement, "rate": rate, "most": most}
    yield JudgedClaim("asked_twice", errors)
    if is_decided(journal):
        loss = loss_by_the_truth(journal.race, most)
        if loss < journal.race.largest_value:
            leader, metric = journal.pool.labels[journal.race.leader], journal.pool.metric_at_k
            yield JudgedClaim("wrong_judgments", {"most": most, "leader": leader, "loss": loss, "metric": metric})


def kappa(first: Sequence[object], second: Sequence[object]) -> float | None:
    """Cohen's kappa of two series of judgments; None where chance alone makes all of them agree."""
    count = len(first)
    equal = sum(one == other for one, other in zip(first, second, strict=True)) / count
    by_chance = sum(first.count(grade) * second.count(grade) for grade in {*first, *second}) / count**2
    return None if by_chance == 1 else (equal - by_chance) / (1 - by_chance)


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
