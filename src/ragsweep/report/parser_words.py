"""What a report says of configurations whose documents were read by different parsers."""

from __future__ import annotations

from collections.abc import Iterator

from ragsweep.core.terminal import counted
from ragsweep.report.value_words import listed
from ragsweep.sweeps import Decision, parsers_of
from ragsweep.tasks.ranking.lost_references import LOST


def parsers_in_words(decision: Decision) -> Iterator[str]:
    """On which questions parsers are compared, and how many references each has lost; nothing for a single parser."""
    parsers = parsers_of(decision.sweep.outcomes)
    if not parsers:
        return
    asked = counted(len(decision.sweep.queries), "question")
    references = max(run.facts.references for run in parsers.values())
    if not references:
        compared = f"Read by {listed([*parsers])}, and compared on the same {asked}"
        yield f"{compared}: pages and documents are the same for every parser."
        return
    runs = decision.sweep.outcomes  # those of a parser lose other numbers at other similarities
    lost = {parser: [run.value(LOST.name) or 0 for run in runs if run.facts.parser == parser] for parser in parsers}
    ends = {parser: sorted({min(numbers), max(numbers)}) for parser, numbers in lost.items()}
    said = {parser: " to ".join(f"{number:.0f}" for number in some) for parser, some in ends.items()}
    losing = [f"{parser} loses {number} of {references}" for parser, number in said.items() if number != "0"]
    whole = [parser for parser, number in said.items() if number == "0"]
    of_others = f"; {listed(whole)} {'loses' if len(whole) == 1 else 'lose'} none" if whole else ""
    of_references = f"References: {'; '.join(losing)}{of_others}. " if losing else ""
    yield f"{of_references}Compared on {asked}, those whose references are all in the text of every parser."
