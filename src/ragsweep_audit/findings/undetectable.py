"""What the audit could find in a dataset at all: shifts and swaps are put into it, and looked for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ragsweep.core.terminal import counted
from ragsweep.datasets.model.dataset import Dataset, Qrels
from ragsweep_audit.findings.finding import Finding
from ragsweep_audit.findings.shifted import FROM_0, shifted_pages
from ragsweep_audit.findings.swapped import swapped_judgments
from ragsweep_audit.findings.unit_ranks import UnitRanks

TRIALS, TRIALS_OF_MANY = 20, 5
MANY_QUERIES = 300  # of more, a trial takes longer, and swaps are seen in all trials or in none
SWAPPED = 0.2  # of the queries
ENOUGH_POWER = 0.8  # of the trials: the usual power of a test
LARGER_LEVEL = 0.05


def undetectable(dataset: Dataset, ranks: UnitRanks, relevance_level: int, level: float) -> Iterator[str]:
    """Which faults would be missed in this dataset, or are too unsure to be findings, one sentence each.

    Args:
        dataset: The dataset.
        ranks: Those of its queries.
        relevance_level: The lowest grade that counts as relevant.
        level: The probability of an alarm in a clean dataset.
    """
    queries = len(ranks.queries)
    trials = TRIALS if queries <= MANY_QUERIES else TRIALS_OF_MANY
    asked = counted(queries, "query")
    swapped = [_with_swaps(dataset, ranks, trial) for trial in range(trials)]
    times_found = sum(any(True for _ in swapped_judgments(trial, ranks, relevance_level, level)) for trial in swapped)
    if times_found < ENOUGH_POWER * trials:
        yield (
            f"With {asked}, few swapped judgments can be seen: swaps put into {100 * SWAPPED:.0f} % of them "
            f"were found in {times_found} of {trials} trials{_enough(queries, 100)}."
        )
    if dataset.unit != "page":
        return
    hint = _hint(dataset, ranks, relevance_level, level)
    if hint is not None:
        yield f"With {asked}, this may be chance, but {hint.problem[0].lower()}{hint.problem[1:]}"
    is_shifted = hint is not None and hint.details["offset"] == FROM_0  # then the dataset itself is a trial
    if is_shifted or not _finds_shift(dataset, ranks, relevance_level, level):
        larger = is_shifted or _finds_shift(dataset, ranks, relevance_level, LARGER_LEVEL)
        advice = f"audit.level={LARGER_LEVEL} sees it" if larger else "compare some judged pages with the documents"
        advice += _enough(queries, 20)
        yield f"With {asked}, pages counted from 0 cannot be seen, even if all of them are; {advice}."


def _hint(dataset: Dataset, ranks: UnitRanks, relevance_level: int, level: float) -> Finding | None:
    """A shift that is found at `LARGER_LEVEL`, if none is at the level."""
    if level >= LARGER_LEVEL or any(True for _ in shifted_pages(dataset, ranks, relevance_level, level)):
        return None
    return next(shifted_pages(dataset, ranks, relevance_level, LARGER_LEVEL), None)


def _enough(queries: int, needed: int) -> str:
    """How many queries of the bundled manual were enough (docs/questions.md), if these are fewer."""
    return f". Of the bundled manual, {needed} queries were enough" if queries < needed else ""


def _with_swaps(dataset: Dataset, ranks: UnitRanks, trial: int) -> Dataset:
    """The dataset with the judgments of some queries exchanged in pairs."""
    pairs = max(1, round(SWAPPED * len(ranks.queries) / 2))
    chosen = np.random.default_rng(trial).permutation(ranks.queries)[: 2 * pairs]
    other = np.arange(len(dataset.queries))
    other[chosen] = np.roll(chosen, len(chosen) // 2)
    return replace(dataset, qrels=replace(dataset.qrels, query=other[dataset.qrels.query]))


def _finds_shift(dataset: Dataset, ranks: UnitRanks, relevance_level: int, level: float) -> bool:
    """Whether a shift of all judged pages by one is found."""
    qrels = dataset.qrels
    source = np.array([unit.rpartition("#")[0] for unit in dataset.units], dtype=object)
    page = np.maximum(qrels.unit - 1, 0)
    kept = (qrels.unit > 0) & (source[page] == source[qrels.unit]) & np.isin(page, ranks.units)
    moved = replace(dataset, qrels=Qrels(qrels.query[kept], page[kept], qrels.grade[kept]))
    return any(True for _ in shifted_pages(moved, ranks, relevance_level, level))
