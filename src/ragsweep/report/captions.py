"""What each figure of the report shows, in one sentence: its caption, and its text for whoever cannot see it."""

from __future__ import annotations

from ragsweep.core.terminal import counted

bought, of_which = (lambda decision: decision.bought), (lambda decision: "")
from ragsweep.report.decision_charts import differences_of, other_than_best, outcomes_of
from ragsweep.report.report_charts import (
    AGAINST,
    BY_CUTOFF,
    FRONT,
    HEAT_MAP,
    ONE_SETTING,
    THRESHOLDS,
)
from ragsweep.report.report_tables import three_digits
from ragsweep.report.value_words import at, cutoffs_in_words
from ragsweep.sweeps import Decision


def captions_of(decision: Decision) -> dict[str, str]:
    """The caption of every figure that a report can have, by file name."""
    return {
        BY_CUTOFF: _by_cutoff(decision),
        FRONT: _fronts(decision),
        THRESHOLDS: _thresholds(decision),
        HEAT_MAP: _ties(decision),
        ONE_SETTING: _ties(decision),
        AGAINST: _against(decision),
    }


def _by_cutoff(decision: Decision) -> str:
    sweep = decision.sweep
    points = bought(decision)
    if not decision.gain or not points:
        return ""
    cutoff, value, _ = points[0]
    rest = ", ".join(f"{value:.2f} at {cutoff:,}" for cutoff, value, _ in points[1:])
    title = f"{sweep.title(decision.gain)}{of_which(decision)}"
    return f"{title} is {value:.2f} at {cutoffs_in_words(sweep, cutoff)}{f', {rest}' if rest else ''}."


def _fronts(decision: Decision) -> str:
    sentences = []
    for front in decision.fronts:
        cheapest, number = front.members[0], len(front.members)
        configurations = counted(len(front.sweep.outcomes), "configuration")
        sentences.append(
            f"{front.sweep.title(front.cost)}: {number} of {configurations} may be worth it; the lowest is "
            f"{cheapest.name} with {three_digits(cheapest.value(front.cost) or 0)} "
            f"{front.sweep.metric_info[front.cost].unit}."
        )
    return " ".join(sentences)


def _thresholds(decision: Decision) -> str:
    measured = decision.named.facts.false_finds
    if measured is None:
        return ""
    words = measured.words
    right, wrong = (sum(score is not None for score in some) / len(some) for some in (measured.found, measured.scores))
    return (
        f"Without a lowest {words.scale}, {100 * wrong:.0f} % of the questions without an answer {words.get}, and "
        f"{100 * right:.0f} % of the others {words.get_right}."
    )


def _ties(decision: Decision) -> str:
    choice, sweep = decision.headline, decision.sweep
    best = f"{sweep.label(choice.best)} has the best {sweep.metric_title}{at(sweep, choice)}"
    if len(choice.tied) == 1:
        return f"{best}; every other configuration is worse."
    tied, others = len(choice.tied) - 1, len(choice.allowed.outcomes) - 1
    some = f"{tied} of the other {others}" if tied < others else f"the other {'one' if others == 1 else others}"
    return f"{best}; {some} cannot be told apart from it."


def _against(decision: Decision) -> str:
    level = decision.headline.allowed
    if len(level.outcomes) < 2 or not level.is_mean(level.decided_by):
        return ""
    best, other = level.outcomes[level.best], level.outcomes[other_than_best(level)]
    better, equal, worse = outcomes_of(differences_of(level))
    counts = f"{counted(better, 'query')}, worse on {worse}, equal on {equal}"
    return f"{best.name} is better than {other.name} on {counts}."
