"""The sections of a report that runs bring: what their tasks say of them."""

from __future__ import annotations

from collections.abc import Sequence

from ragsweep.sweeps import Decision
from ragsweep.tasks.systems.about_answers import RETURNED

SYSTEMS_SHOWN = 10


def run_sections(decision: Decision) -> dict[str, Sequence[str]]:
    """The sections of the choice; those that only others have, such as routing, from the best one that has them.

    What a system returned is shown for each: it says whether its numbers can be trusted.
    """
    level, own = decision.headline.allowed, decision.named.facts.sections
    runs = [level.outcomes[position] for position in level.table["outcome"]]
    others = {heading: run for run in reversed(runs) for heading in run.facts.sections if heading not in own}
    systems = [run for run in runs if RETURNED in run.facts.sections and run is not decision.named]
    named = [*((RETURNED, run) for run in systems[:SYSTEMS_SHOWN]), *others.items()]
    shown = {f"{heading} ({run.name})": run.facts.sections[heading] for heading, run in named}
    if len(systems) > SYSTEMS_SHOWN:
        shown[f"{RETURNED} ({len(systems) - SYSTEMS_SHOWN} more)"] = ["results/evaluation.json of each run has it."]
    return {**own, **shown}


def about_sections(decision: Decision) -> str:
    """A note on the sections."""
    sentences = [f"These sentences are about {decision.named.name} alone, where a heading names no other."]
    if (among := len(decision.headline.allowed.outcomes)) > 1:
        sentences.append(f"It was chosen among {among} by the same queries, which favours it.")
        if decision.against_guessing:
            sentences.append("The comparison with guessing at the top of this report is corrected for that.")
    return " ".join(sentences)
