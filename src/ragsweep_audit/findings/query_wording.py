"""How queries are worded: copied from the judged text, or not understandable on their own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil

import numpy as np
import numpy.typing as npt

from ragsweep.core.terminal import named, quoted, verb
from ragsweep.datasets.model.dataset import Dataset
from ragsweep.tasks.ranking.coverage import relevant
from ragsweep.text.dependent_questions import flaw_of_context
from ragsweep.text.tokens import has_spaceless, words
from ragsweep_audit.findings.finding import Finding

FEWEST_COPIED = 6  # words in a row
BIGRAMS_A_WORD = 2  # about so many has a word in a script without spaces
BASE = 0x9E3779B97F4A7C15  # of the digests of runs of words; odd, so that it can be divided by


def copied_queries(dataset: Dataset, share: float, relevance_level: int) -> Iterator[Finding]:
    """A finding about queries whose words are copied from the text that answers them.

    A query is copied if at least `share` of its words, and at least six, stand in the same order, without a gap, in a
    unit that is relevant for it. In scripts without spaces, two bigrams count as a word.

    Args:
        dataset: The dataset.
        share: From 0 to 1.
        relevance_level: The lowest grade that counts as relevant.
    """
    of_query: dict[int, list[int]] = {}
    for row, unit in zip(*(each.tolist() for each in relevant(dataset, relevance_level)), strict=True):
        of_query.setdefault(row, []).append(unit)
    needed = {unit for units in of_query.values() for unit in units}
    texts: dict[int, list[list[str]]] = {}
    for passage, unit in dataset.passages_with_units.tolist():
        if unit in needed:
            texts.setdefault(unit, []).append(words(dataset.passages[passage].text))
    copied = []
    for row, units in sorted(of_query.items()):
        asked = words(dataset.queries[row].text)
        fewest = FEWEST_COPIED * (BIGRAMS_A_WORD if has_spaceless(dataset.queries[row].text) else 1)
        length = max(fewest, ceil(share * len(asked) - 1e-9))
        if any(_share_a_run(asked, text, length) for unit in units for text in texts.get(unit, ())):
            copied.append(dataset.queries[row])
    if copied:
        yield Finding(
            kind="copied_queries",
            problem=f"{len(copied)} of {len(of_query)} queries {verb(len(copied), 'are')} copied from the text "
            f"that answers them{named([quoted(query.text) for query in copied])}.",
            cost="BM25 finds these easily. Users choose other words, so BM25 looks better than it is.",
            advice="Ask in words that a user would choose, or break the results down by such queries.",
            count=len(copied),
            out_of=len(of_query),
            examples=tuple(query.query_id for query in copied),
        )


def _share_a_run(one: Sequence[str], other: Sequence[str], length: int) -> bool:
    """Whether two texts have a run of so many words in common, in time and memory linear in their lengths."""
    if length > min(len(one), len(other)):
        return False
    digests = _digests_of_runs(one, length)
    start_of = dict(zip(digests.tolist(), range(len(digests)), strict=True))
    theirs = _digests_of_runs(other, length)
    for at in np.flatnonzero(np.isin(theirs, digests)).tolist():
        start = start_of[int(theirs[at])]
        if one[start : start + length] == other[at : at + length]:
            return True
    return False


def _digests_of_runs(text: Sequence[str], length: int) -> npt.NDArray[np.uint64]:
    """A number for each run of so many words, equal for equal runs (Karp and Rabin, 1987), modulo 2**64."""
    hashes = np.array([hash(word) for word in text], dtype=np.int64).view(np.uint64)
    sums = np.cumsum(hashes * np.cumprod(np.full(len(text), BASE, np.uint64)), dtype=np.uint64)
    of_runs: npt.NDArray[np.uint64] = sums[length - 1 :] - np.concatenate([np.zeros(1, np.uint64), sums[:-length]])
    of_runs[1:] *= np.cumprod(np.full(len(of_runs) - 1, pow(BASE, -1, 2**64), np.uint64))
    return of_runs


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
