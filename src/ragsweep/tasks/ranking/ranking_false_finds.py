"""What is found by a ranking for questions that the documents do not answer."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ragsweep.core.arrays import NOTHING, Indices
from ragsweep.datasets import Dataset
from ragsweep.retrieval import Ranking
from ragsweep.retrieval.kinds import Retriever
from ragsweep.statistics.groups import Groups
from ragsweep.tasks.false_finds import NONE_MARKED, FalseFinds, Kind
from ragsweep.tasks.metric import Metric
from ragsweep.tasks.ranking.coverage import unanswerable
from ragsweep.tasks.ranking.judging import Judged
from ragsweep.tasks.run_check import Checked
from ragsweep.tasks.search import search_of

PASSAGES = Kind(
    Metric("false_find_rate", "False find rate", higher_is_better=False, low=0, high=1, binary=True, wilson=True),
    Metric("hit_or_refuse", "Hit or refuse", low=0, high=1),
    Metric("false_find_auc", "False find AUC", low=0, high=1),
    "hit_rate",
)


def asked_unanswerable(retriever: Retriever, items: Dataset) -> tuple[Indices, str]:
    """The queries without an answer of which it is known what they get, and why there are none, if so."""
    rows = unanswerable(items)
    if not len(rows):
        return rows, NONE_MARKED
    never = retriever.never_asked(search_of(items), rows)
    if len(never) < len(rows):
        return np.setdiff1d(rows, never), ""
    system = retriever.method.name or "the retriever"
    return rows[:0], f"no question marked answerable: false (of {len(rows):,}) was asked, as far as {system} tells"


def not_measured(retriever: Retriever, items: Dataset) -> dict[str, str]:
    """The metrics of such queries that are not measured although the dataset has some, each with the reason."""
    rows, why = asked_unanswerable(retriever, items)
    return {} if len(rows) or why == NONE_MARKED else {metric.name: why for metric in PASSAGES.metrics}


def about_unmeasured(missing: Mapping[str, str]) -> Checked:
    """What a report says of metrics that are not measured, each with the reason."""
    sentences = [f"{PASSAGES.rate.title} is not measured: {why}." for why in dict.fromkeys(missing.values())]
    return Checked(sections={PASSAGES.heading: sentences} if sentences else {})


def false_finds_of(
    items: Dataset, rows: Indices, k: int, *, given: Ranking, judged: Judged, free: Ranking, free_judged: Judged
) -> FalseFinds:
    """What is found for the questions that the documents do not answer, and for the others.

    Args:
        items: The dataset.
        rows: The positions of such questions, at least one.
        k: The cutoff.
        given: What the run returns.
        judged: The same, judged.
        free: What it returns without its threshold.
        free_judged: The same, judged.
    """
    queries = judged.queries
    first, returned = free.scores[:, 0], (given.passages[:, 0] != NOTHING).astype(float)
    ranks = np.broadcast_to(free_judged.ranks, free_judged.units.shape)
    scores = np.take_along_axis(free.scores[queries], ranks, axis=1)
    return FalseFinds(
        PASSAGES,
        unanswerable=first[rows],
        false_finds=returned[rows],
        answerable=first[queries],
        answered=returned[queries],
        hits=judged.hits[:, :k].any(axis=1).astype(float),
        right_scores=np.where(free_judged.hits, scores, -np.inf)[:, :k].max(axis=1, initial=-np.inf),
        groups=Groups.named([items.queries[row].group for row in (*queries.tolist(), *rows.tolist())]),
    )
