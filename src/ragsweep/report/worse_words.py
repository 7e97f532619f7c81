"""What a decision says of the configurations that are worse than the best."""

from __future__ import annotations

from ragsweep.core.terminal import counted
from ragsweep.sweeps import Choice


def worse_in_words(choice: Choice) -> str:
    """How many configurations are worse than the best, after a space."""
    p = f"p <= 0.05{_if_symmetric(choice)}"
    if len(choice.tied) == 1:
        return f" Better than {'the other one' if choice.worse == 1 else f'each of the other {choice.worse}'} ({p})."
    once = len(choice.allowed.outcomes) - len(choice.tied) > choice.worse
    return (
        f" The other {'one is' if choice.worse == 1 else f'{choice.worse} are'} worse ({p})"
        f"{'; those that measure the same count once' if once else ''}."
    )


def _if_symmetric(choice: Choice) -> str:
    """What a comparison assumes, if its queries are too few to do without."""
    level = choice.allowed
    if len(choice.worse_for_any_spread) == len(level.outcomes) - len(choice.tied) or not level.is_mean(
        level.decided_by
    ):
        return ""
    queries = counted(len(level.queries), "query")
    return f" if differences are about symmetric; {queries} may lack the few that would reverse it"
