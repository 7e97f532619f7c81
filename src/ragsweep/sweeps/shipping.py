"""Why the choice of a sweep is not shown to be one: nothing is shipped then."""

from __future__ import annotations

from typing import Literal

from ragsweep.sweeps.decision import Decision

NotShipped = Literal["requirements", "one configuration", "same values", "tied", "guessing", "unread answers"]


def not_shipped(decision: Decision) -> NotShipped | None:
    """Why the choice of the headline should not be shipped for what these queries show; None if it should.

    The first reason of these: no configuration meets the requirements, there is only one, all measure the same, they
    cannot be told apart at any cutoff, the choice is not better than guessing, or it depends on how answers count that
    could not be read.
    """
    choices, guessing = decision.choices.values(), decision.against_guessing.get(decision.named)
    if not any(choice.meets for choice in choices):
        return "requirements"
    if len(decision.sweep.outcomes) == 1:
        return "one configuration"
    several = any(choice.distinct > 1 for choice in choices)
    if not any(choice.worse or choice.excluded for choice in choices):
        return "tied" if several else "same values"
    if guessing and not guessing.better:
        return "guessing"
    return "unread answers" if decision.unread and decision.unread.replacing else None
