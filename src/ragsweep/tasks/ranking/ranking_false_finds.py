"""What is found by a ranking for questions that the documents do not answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ragsweep.core.arrays import NOTHING, Indices
from ragsweep.datasets import Dataset
from ragsweep.retrieval import Ranking
from ragsweep.retrieval.kinds import Retriever
from ragsweep.statistics.groups import Groups
from ragsweep.tasks.false_finds import HEADING, NONE_MARKED, FalseFinds, Kind, ThresholdWords
from ragsweep.tasks.metric import Metric
from ragsweep.tasks.ranking.aspect import Aspect
from ragsweep.tasks.ranking.coverage import unanswerable
from ragsweep.tasks.ranking.judging import Judged
from ragsweep.tasks.search import search_of
from ragsweep.tasks.task import Score

PASSAGES = Kind(
    Metric("false_find_rate", "False find rate", higher_is_better=False, low=0, high=1, binary=True, wilson=True),
    Metric("hit_or_refuse", "Hit or refuse", low=0, high=1),
    Metric("false_find_auc", "False find AUC", low=0, high=1),
    "hit_rate",
    "false_finds",
    ThresholdWords(),
    "A first relevant passage has a higher score than the first passage of a question without an answer",
    ("first score", "A fusion that scales the scores of each question does that, and a system that gives no scores."),
)


class JudgedRanking(NamedTuple):
    """A ranking of all questions, and the judged one of those that have judgments."""

    ranking: Ranking
    judged: Judged


def asked_unanswerable(retriever: Retriever, items: Dataset) -> tuple[Indices, str]:
    """The queries without an answer of which it is known what they get, and why there are none, if so."""
    rows = unanswerable(items)
    if not len(rows):
        return rows, NONE_MARKED
    never = retriever.never_asked(search_of(items), rows)
    if len(never) < len(rows):
        return np.setdiff1d(rows, never), ""
    who = retriever.method.name or "the retriever"
    return rows[:0], f"no question marked answerable: false (of {len(rows):,}) was asked, as far as {who} tells"


def unknown_of(retriever: Retriever, items: Dataset) -> dict[str, str]:
    """The metrics of such queries that are not measured although the dataset has some, each with the reason."""
    rows, why = asked_unanswerable(retriever, items)
    return {} if len(rows) or why == NONE_MARKED else {each.name: why for each in PASSAGES.metrics}


def false_finds_of(items: Dataset, rows: Indices, given: JudgedRanking, free: JudgedRanking, k: int) -> FalseFinds:
    """What is found for the questions that the documents do not answer, and for the others.

    Args:
        items: The dataset.
        rows: The positions of such questions, at least one.
        given: What the run returns.
        free: What it returns without its threshold.
        k: The cutoff.
    """
    ranking, judged = given
    others = judged.queries
    first, returned = free.ranking.scores[:, 0], (ranking.passages[:, 0] != NOTHING).astype(float)
    ranks = np.broadcast_to(free.judged.ranks, free.judged.units.shape)
    scores = np.take_along_axis(free.ranking.scores[others], ranks, axis=1)
    queries = [items.queries[row] for row in (*others.tolist(), *rows.tolist())]
    return FalseFinds(
        PASSAGES,
        unanswerable=first[rows],
        false_finds=returned[rows],
        answerable=first[others],
        answered=returned[others],
        hits=judged.hits[:, :k].any(axis=1).astype(float),
        found=np.where(free.judged.hits, scores, -np.inf)[:, :k].max(axis=1, initial=-np.inf),
        groups=Groups.named([query.group for query in queries]),
    )


def found_nothing(found: FalseFinds | None, scores: Sequence[Score], unknown: Mapping[str, str]) -> Aspect:
    """What is recorded and said of such queries.

    Args:
        found: What is found for them; None if they are not measured.
        scores: Its metrics.
        unknown: As of `unknown_of`.
    """
    if found is not None:
        return Aspect(sections={HEADING: [*found.sentences(scores)]}, facts={"false_finds": found.facts})
    said = [f"{PASSAGES.rate.title} is not measured: {why}." for why in dict.fromkeys(unknown.values())]
    return Aspect(sections={HEADING: said} if said else {})
