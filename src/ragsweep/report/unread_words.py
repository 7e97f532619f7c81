"""What a decision says of responses that could not be read, and of texts that a model did not read to their end."""

from __future__ import annotations

from collections.abc import Mapping

from ragsweep.core.terminal import counted
from ragsweep.report.settings_words import tied_in_words
from ragsweep.report.value_words import listed
from ragsweep.sweeps import SHIPPED, Decision, Outcome, Recount, Sweep, not_shipped, unread_texts
from ragsweep.sweeps.unread import LEFT_OUT

MOST_UNREAD_NAMED = 4  # configurations of which the number is said
MOST_WAYS = 3  # to count, of which the result is said


def unread_texts_in_words(decision: Decision) -> str:
    """That nothing is shipped since a model does not read the queries or passages of a comparison; empty if it does."""
    if not_shipped(decision) != "unread texts":
        return ""
    most_first = sorted(unread_texts(decision).items(), key=lambda item: -item[0].share)
    unread = listed([f"{texts.in_words} ({listed(labels)})" for texts, labels in most_first])
    advice = " ".join(dict.fromkeys(texts.advice for texts, _ in most_first))
    return f"Nothing to ship yet: {unread}. {advice} Or leave these configurations out."


def unread_in_words(decision: Decision) -> str:
    """How many responses could not be read, and whether the choice depends on how they count; empty if there are none.

    Of one configuration, its own report says what the metric would be otherwise.
    """
    found = decision.unread
    if found is None or not found.most:
        return ""
    sweep = decision.sweep
    queries = counted(len(sweep.queries), "query")
    about = decision.named.facts.unread[sweep.decided_by]
    value = "count as wrong" if about.otherwise else f"have the worst {sweep.metric_title}"
    said = f"Answers that could not be read, and {value}: {_numbers(decision, found.counts)} of {queries}."
    said += _because(decision, found.causes)
    if not found.recounts:
        return said
    if not found.changing:
        ways = [each.counted_as for each in found.recounts if each.counted_as != LEFT_OUT]
        counted_as = [f"counted as {' or '.join(ways)}"] if ways else []
        left_out = ["were left out"] if len(ways) < len(found.recounts) else []
        return f"{said} The choice would be the same if they {', or '.join([*counted_as, *left_out])}."
    named = [_instead(each, sweep) for each in found.changing[:MOST_WAYS]]
    more = [f"and {len(found.changing) - MOST_WAYS} more"] if len(found.changing) > MOST_WAYS else []
    stands = "The choice stands" if not_shipped(decision) in SHIPPED else "What measures best stays the same"
    what = "The choice depends" if found.replacing else f"{stands}, but not what it is better than: that depends"
    return f"{said} {what} on how they count: {'; '.join([*named, *more])}."


def _because(decision: Decision, causes: Mapping[Outcome, Mapping[str, int]]) -> str:
    """What servers say of responses without a usable text, the configurations with the most first."""
    order = sorted((outcome for outcome in causes if causes[outcome]), key=lambda each: -sum(causes[each].values()))
    named = [
        f"{_name(decision, outcome)} {' and '.join(f'{cause} {count}' for cause, count in causes[outcome].items())}"
        for outcome in order[:MOST_UNREAD_NAMED]
    ]
    named += [f"{len(order) - MOST_UNREAD_NAMED} more"] if len(order) > MOST_UNREAD_NAMED else []
    return f" What the server says of responses, not what the model knows: {'; '.join(named)}." if named else ""


def lost_in_words(decision: Decision) -> str:
    """How many responses were read without some of their fields; empty if there are none."""
    sweep = decision.sweep
    names = {
        outcome: outcome.facts.unread[sweep.decided_by].lost
        for outcome in (decision.unread.counts if decision.unread else ())
    }
    queries = len(sweep.queries)
    counts = {outcome: round(queries * (outcome.value(name) or 0)) for outcome, name in names.items()}
    if not any(counts.values()):
        return ""
    return (
        "A field of the response, such as the confidence, was out of range or missing, and the rest of it was read: "
        f"{_numbers(decision, counts)} of {counted(queries, 'query')}. The report of each run names the fields."
    )


def _numbers(decision: Decision, numbers: Mapping[Outcome, int]) -> str:
    """The number of each configuration, those with the most first."""
    counts = sorted(numbers.items(), key=lambda each: -each[1])
    if len(counts) == 1:
        return str(counts[0][1])
    named = [f"{_name(decision, outcome)} {number}" for outcome, number in counts[:MOST_UNREAD_NAMED]]
    if others := [number for _, number in counts[MOST_UNREAD_NAMED:]]:
        named.append(f"the other {len(others)} {f'at most {others[0]} each' if others[0] else 'none'}")
    return ", ".join(named)


def _name(decision: Decision, outcome: Outcome) -> str:
    """A configuration, with its cutoff if there are several."""
    return outcome.name if len(decision.choices) > 1 else decision.sweep.label(outcome)


def _instead(recount: Recount, sweep: Sweep) -> str:
    """What would be chosen."""
    choice, level = recount.choice, recount.choice.allowed
    if recount.counted_as == LEFT_OUT:
        best, rival = level.outcomes
        measured = [f"{level.statistic(each, level.decided_by):.3f}" for each in (rival, best)]
        labels = [level.label(each) for each in (rival, best)]
        return (
            f"on the {counted(recount.queries, 'query')} that both have answered, {labels[0]} has {measured[0]} and "
            f"{labels[1]} {measured[1]}"
        )
    tied = f", and could not be told apart: {tied_in_words(level, sweep)}" if len(choice.tied) > 1 else ""
    best_value = level.statistic(choice.best, level.decided_by)
    return f"counted as {recount.counted_as}, {level.label(choice.best)} would be the best ({best_value:.3f}){tied}"
