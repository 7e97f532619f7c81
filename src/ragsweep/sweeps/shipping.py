"""Why the choice of a sweep is not shown to be one: nothing is shipped then."""

from __future__ import annotations

from typing import Literal

from ragsweep.sweeps.choice import Choice
from ragsweep.sweeps.decision import Decision

NotShipped = Literal["requirements", "one configuration", "same values", "tied", "guessing", "unread answers"]
SHIPPED = (None, "tied", "one configuration", "same values")  # what `not_shipped` says where the choice can be taken


def not_shipped(decision: Decision) -> NotShipped | None:
    """Why the choice of the headline should not be shipped for what these queries show; None if it should.

    The first reason of these: no configuration meets the requirements, there is only one besides controls, all measure
    the same, they cannot be told apart at any cutoff, the choice is not better than guessing, or it depends on how
    answers count that could not be read.
    """
    guessing = decision.against_guessing.get(decision.named)
    choices = [choice for choice in decision.choices.values() if choice.meets]
    if not choices:
        return "requirements"
    if sum(not outcome.facts.control for outcome in decision.sweep.outcomes) == 1:
        return "one configuration"
    if not any(choice.worse or alone_meets(decision, choice) for choice in choices):
        return "tied" if any(choice.distinct > 1 for choice in choices) else "same values"
    if guessing and not guessing.better:
        return "guessing"
    return "unread answers" if decision.unread and decision.unread.replacing else None


def alone_meets(decision: Decision, choice: Choice) -> bool:
    """Whether only one configuration of several meets the requirements at a cutoff."""
    return choice.meets and len(choice.allowed.outcomes) == 1 and requirements_exclude(decision, choice)


def requirements_exclude(decision: Decision, *choices: Choice) -> bool:
    """Whether any configuration is left out that is not a control."""
    excluded = {name for choice in choices for name in choice.excluded}
    return any(outcome.name in excluded and not outcome.facts.control for outcome in decision.sweep.outcomes)
