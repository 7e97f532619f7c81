"""How good the evidence is: what was retrieved for each case, judged by the relevant units of the cases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ragsweep.core.arrays import NOTHING, Indices
from ragsweep.datasets import Dataset
from ragsweep.statistics.intervals import Array
from ragsweep.tasks.metric import Metric
from ragsweep.tasks.ranking.judging import Collapse, Judged, judge
from ragsweep.tasks.ranking.metrics import average_precision, hit_rate, mrr, precision, recall
from ragsweep.tasks.scores import Curve, Measure

CUTOFFS = (1, 3, 5, 10)
CURVE = 20  # the curves go to this cutoff, or to k if k is larger
PRECISION = Metric("retrieval/precision", "Precision of the evidence", low=0, high=1)
RECALL = Metric("retrieval/recall", "Recall of the evidence", low=0, high=1)
MAP = Metric("retrieval/map", "MAP of the evidence", low=0, high=1)
MRR = Metric("retrieval/mrr", "MRR of the evidence", low=0, high=1)
FUNCTIONS = {PRECISION: precision, RECALL: recall, MAP: average_precision, MRR: mrr}


@dataclass(frozen=True, eq=False)
class EvidenceQuality:
    """The retrieved evidence of the judged cases.

    Attributes:
        judged: The judged rankings.
        k: Cutoff of the metrics: how many passages the retriever gives to the answerer.
        with_relevant: Whether a relevant unit was in the evidence that each judged answer was given from, 0 or 1, shape
            [judged cases]. It is another ranking than `judged` if a system retrieved another number of passages, or if
            only distinct units count towards the cutoff.
        retrieved: How many passages each case got, shape [cases].
    """

    judged: Judged
    k: int
    with_relevant: Array
    retrieved: Indices

    def at(self, metric: Metric, k: int) -> float:
        """The mean of a metric at a cutoff."""
        return float(FUNCTIONS[metric](self.judged, k).mean())

    @property
    def measures(self) -> list[Measure]:
        """Precision, recall, MAP and MRR at k."""
        return [Measure(metric, self.at(metric, self.k)) for metric in FUNCTIONS]

    @property
    def curves(self) -> dict[str, Curve]:
        """Precision and recall at each cutoff."""
        cutoffs = range(1, max(CURVE, self.k) + 1)
        return {metric.name: Curve(np.array([self.at(metric, k) for k in cutoffs])) for metric in (PRECISION, RECALL)}


def evidence_quality(
    ranked: Indices, given: Indices, dataset: Dataset, k: int, *, collapse: Collapse, relevance_level: int
) -> EvidenceQuality | None:
    """Judge the evidence of each case.

    Units are positions in `dataset.units`, shape [cases, depth]; `NOTHING` where there is none.

    Args:
        ranked: Unit at each rank of what was retrieved.
        given: Unit of each passage that the answerer got.
        dataset: Cases and judgments.
        k: Cutoff of the metrics.
        collapse: How units are counted in `ranked`; see `judge`.
        relevance_level: Lowest grade that counts as relevant.

    Returns:
        None if no case has a judgment.
    """
    qrels = dataset.qrels
    if not len(qrels.grade):
        return None
    grades = (qrels.query, qrels.unit, qrels.grade)
    judged = judge(ranked, *grades, collapse=collapse, relevance_level=relevance_level)
    of_answer = judge(given, *grades, relevance_level=relevance_level)
    with_relevant = hit_rate(of_answer, of_answer.hits.shape[1])
    return EvidenceQuality(judged, k, with_relevant, (given != NOTHING).sum(axis=1))


def as_units(names: Sequence[Sequence[str]], dataset: Dataset) -> Indices:
    """Named units as positions in `dataset.units`, shape [cases, most names of a case]; unknown ones get new positions.

    Args:
        names: Units of each case, best first.
        dataset: The dataset.
    """
    position = {unit: row for row, unit in enumerate(dataset.units)}
    depth = max(map(len, names), default=0)
    units = np.full((len(names), max(depth, 1)), NOTHING, dtype=np.int64)
    for row, of_case in enumerate(names):
        units[row, : len(of_case)] = [position.setdefault(name, len(position)) for name in of_case]
    return units
