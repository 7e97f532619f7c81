"""Why the choice of a sweep is not shown to be one: nothing is shipped then."""

from __future__ import annotations

from typing import Literal

from ragsweep.sweeps.choice import Choice
from ragsweep.sweeps.decision import Decision
from ragsweep.sweeps.equal_cost import sizes_in_question
from ragsweep.tasks.unread_text import UnreadText

Undecided = Literal["requirements", "one configuration", "same values", "tied"]
NotShipped = Undecided | Literal["unread texts", "guessing", "unread answers", "unequal text", "doubtful data"]
UNREAD_VETOES = 0.05  # of the queries or passages: where a model does not read so many to their end, nothing is shipped
MOST_UNANSWERED = 0.5  # of the queries; with more, that is the news
SHIPPED = (None, "tied", "one configuration", "same values")  # what `not_shipped` says where the choice can be taken


def not_shipped(decision: Decision) -> NotShipped | None:
    """Why the choice of the headline should not be shipped for what these queries show; None if it should.

    The first reason of these: no configuration meets the requirements there, a model does not read the texts
    (`unread_texts`), the choice is not better than guessing, it depends on how answers count that could not be read,
    chunks of other sizes are compared at the same cutoff by what cannot choose a size, quality does not choose
    (`undecided`), or the data is doubtful.
    """
    guessing = decision.against_guessing.get(decision.named)
    if not decision.headline.meets:
        return "requirements"
    if unread_texts(decision):
        return "unread texts"
    if guessing and not guessing.better:
        return "guessing"
    if decision.unread and decision.unread.replacing:
        return "unread answers"
    if sizes_in_question(decision.sweep):
        return "unequal text"
    return undecided(decision) or ("doubtful data" if doubted(decision) else None)


def unread_texts(decision: Decision) -> dict[UnreadText, list[str]]:
    """Texts that a model does not read to their end, if they are many, and the compared configurations of the model."""
    labels: dict[UnreadText, list[str]] = {}
    for outcome in decision.headline.allowed.outcomes:
        for texts in outcome.facts.unread_texts:
            if texts.share >= UNREAD_VETOES:
                labels.setdefault(texts, []).append(decision.sweep.label(outcome))
    return labels


def undecided(decision: Decision) -> Undecided | None:
    """Why quality does not choose: nothing meets the requirements, there is only one besides controls, or all tie."""
    choices = [choice for choice in decision.choices.values() if choice.meets]
    if not choices:
        return "requirements"
    if sum(not outcome.facts.control for outcome in decision.sweep.outcomes) == 1:
        return "one configuration"
    if any(choice.worse or alone_meets(decision, choice) for choice in choices):
        return None
    return "tied" if any(choice.distinct > 1 for choice in choices) else "same values"


def doubted(decision: Decision) -> bool:
    """Whether the data comes first: most queries fail, or the judgments cannot compare what was swept."""
    sweep, blind = decision.sweep, decision.named.facts.if_swept
    axes = [name for name in sweep.axes if name != sweep.cutoff]
    unseen = bool(axes) and all(name in blind or name.partition(".")[0] in blind for name in axes)
    return unseen or most_fail(decision) or sizes_in_question(decision.sweep) is not None


def most_fail(decision: Decision) -> bool:
    """Whether every configuration fails for most queries, for another reason than that all guess."""
    if len(decision.unanswered) <= MOST_UNANSWERED * len(decision.sweep.queries):
        return False
    guessing = decision.against_guessing.values()
    return not guessing or any(each.better for each in guessing) or unread_explains(decision)


def unread_explains(decision: Decision) -> bool:
    """Whether every configuration has as many responses that could not be read as queries for which all fail."""
    return decision.unread is not None and min(decision.unread.counts.values()) >= len(decision.unanswered)


def alone_meets(decision: Decision, choice: Choice) -> bool:
    """Whether only one configuration of several meets the requirements at a cutoff."""
    return choice.meets and len(choice.allowed.outcomes) == 1 and requirements_exclude(decision, choice)


def requirements_exclude(decision: Decision, *choices: Choice) -> bool:
    """Whether any configuration is left out that is not a control."""
    excluded = {name for choice in choices for name in choice.excluded}
    return any(outcome.name in excluded and not outcome.facts.control for outcome in decision.sweep.outcomes)
