"""Judging, metrics and statistics: pure functions over arrays."""

from ragsweep.evaluation.evaluation import Evaluation, Metric, evaluate
from ragsweep.evaluation.judging import NOTHING, Judged, judge
from ragsweep.evaluation.metrics import average_precision, f1, hit_rate, mrr, ndcg, precision, recall
from ragsweep.evaluation.statistics import confidence_intervals

__all__ = [
    "NOTHING",
    "Evaluation",
    "Judged",
    "Metric",
    "average_precision",
    "confidence_intervals",
    "evaluate",
    "f1",
    "hit_rate",
    "judge",
    "mrr",
    "ndcg",
    "precision",
    "recall",
]
