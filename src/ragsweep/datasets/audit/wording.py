"""How queries are worded: copied from the judged text, or not understandable on their own."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from ragsweep.datasets.audit.finding import Finding, named, quoted
from ragsweep.datasets.audit.unit_ranks import relevant
from ragsweep.datasets.content_words import WORD
from ragsweep.datasets.dataset import Dataset
from ragsweep.datasets.wording import flaw_of_context

FEWEST_COPIED = 6  # words in a row


def copied_queries(dataset: Dataset, share: float, relevance_level: int) -> Iterator[Finding]:
    """A finding about queries whose words are copied from the text that answers them.

    A query is copied if at least `share` of its words, and at least six, stand in the same order, without a gap, in a
    unit that is relevant for it.

    Args:
        dataset: The dataset.
        share: From 0 to 1.
        relevance_level: The lowest grade that counts as relevant.
    """
    of_query: dict[int, list[int]] = {}
    for row, unit in zip(*(each.tolist() for each in relevant(dataset, relevance_level)), strict=True):
        of_query.setdefault(row, []).append(unit)
    needed = {unit for units in of_query.values() for unit in units}
    texts: dict[int, list[str]] = {}
    for passage, unit in dataset.passages_with_units.tolist():
        if unit in needed:
            words = WORD.findall(dataset.passages[passage].text.lower())
            texts.setdefault(unit, []).append(f" {' '.join(words)} ")
    copied = []
    for row, units in sorted(of_query.items()):
        words = WORD.findall(dataset.queries[row].text.lower())
        length = max(FEWEST_COPIED, ceil(share * len(words) - 1e-9))
        runs = [f" {' '.join(words[start : start + length])} " for start in range(len(words) - length + 1)]
        if any(run in text for unit in units for text in texts.get(unit, ()) for run in runs):
            copied.append(dataset.queries[row])
    if copied:
        yield Finding(
            kind="copied_queries",
            problem=f"{len(copied)} of {len(of_query)} queries are copied from the text that answers them"
            f"{named([quoted(query.text) for query in copied])}.",
            cost="BM25 finds these easily. Users choose other words, so BM25 looks better than it is.",
            advice="Ask in words that a user would choose, or break the results down by such queries.",
            count=len(copied),
            out_of=len(of_query),
            examples=tuple(query.query_id for query in copied),
        )


def dependent_queries(dataset: Dataset) -> Iterator[Finding]:
    """A finding about English queries that nobody can understand on their own, like "What does it say about this?".

    Args:
        dataset: The dataset.
    """
    dependent = [query for query in dataset.queries if flaw_of_context(query.text)]
    if dependent:
        yield Finding(
            kind="dependent_queries",
            problem=f"{len(dependent)} of {len(dataset.queries)} queries cannot be understood on their own"
            f"{named([quoted(query.text) for query in dependent])}.",
            cost="No retriever can know what they ask, so they lower every metric.",
            advice="Name what they are about.",
            count=len(dependent),
            out_of=len(dataset.queries),
            examples=tuple(query.query_id for query in dependent),
        )
