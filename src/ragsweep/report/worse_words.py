"""What a decision says of the configurations that are worse than the best."""

from __future__ import annotations

from collections.abc import Sequence

from ragsweep.report.value_words import queries_in_words
from ragsweep.sweeps import Choice


def worse_in_words(choice: Choice) -> str:
    """How many configurations are worse than the best, after a space."""
    p = f"p <= 0.05{_if_symmetric(choice)}"
    worse = len(choice.allowed.outcomes) - len(choice.tied)
    if len(choice.tied) == 1:
        others = "the other one" if worse == 1 else f"each of the other {worse}"
        return f" Better than {others}{_by_how_much(choice)} ({p})."
    return f" The other {'one is' if worse == 1 else f'{worse} are'} worse ({p})."


def worse_everywhere(choices: Sequence[Choice]) -> str:
    """That one configuration is better than all others at every cutoff, after a space; empty if it is not."""
    others = {len(choice.allowed.outcomes) - 1 for choice in choices}
    if any(len(choice.tied) > 1 for choice in choices) or 0 in others:
        return ""
    assumed = next(filter(None, map(_if_symmetric, choices)), "")
    at_each = " at each" if len(choices) > 1 else ""
    return f" Better than the other{'s' if max(others) > 1 else ' one'}{at_each} (p <= 0.05{assumed})."


def _by_how_much(choice: Choice) -> str:
    """How far the next one is behind, after a space."""
    level = choice.allowed
    best, others = (
        level.statistic(choice.best, level.decided_by),
        [level.statistic(each, level.decided_by) for each in level.outcomes if each.measured != choice.best.measured],
    )
    behind = min(abs(best - value) for value in others)
    return f" by {'at least ' if choice.worse > 1 else ''}{behind:.3f} {level.metric_title}"


def _if_symmetric(choice: Choice) -> str:
    """What a comparison assumes, if its queries are too few to do without."""
    level = choice.allowed
    if len(choice.worse_for_any_spread) == len(level.outcomes) - len(choice.tied) or not level.is_mean(
        level.decided_by
    ):
        return ""
    return f"; {queries_in_words(level)} may lack the few that would reverse it"
