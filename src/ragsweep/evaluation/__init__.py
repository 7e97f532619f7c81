"""Judging, metrics and statistics: pure functions over arrays."""

from ragsweep.evaluation.comparison import (
    Comparison,
    ComparisonWithBest,
    compare,
    compare_with_best,
    holm,
    randomisation_test,
)
from ragsweep.evaluation.decision import LEVEL, WORTHWHILE, Decision, Power, decide
from ragsweep.evaluation.evaluation import Evaluation, Metric, evaluate
from ragsweep.evaluation.judging import NOTHING, Judged, judge
from ragsweep.evaluation.metrics import average_precision, f1, hit_rate, mrr, ndcg, precision, recall
from ragsweep.evaluation.power import detectable_difference, queries_needed
from ragsweep.evaluation.selection import Selection, SelectionByType, select, select_by_type, win_frequency
from ragsweep.evaluation.statistics import confidence_intervals

__all__ = [
    "LEVEL",
    "NOTHING",
    "WORTHWHILE",
    "Comparison",
    "ComparisonWithBest",
    "Decision",
    "Evaluation",
    "Judged",
    "Metric",
    "Power",
    "Selection",
    "SelectionByType",
    "average_precision",
    "compare",
    "compare_with_best",
    "confidence_intervals",
    "decide",
    "detectable_difference",
    "evaluate",
    "f1",
    "hit_rate",
    "holm",
    "judge",
    "mrr",
    "ndcg",
    "precision",
    "queries_needed",
    "randomisation_test",
    "recall",
    "select",
    "select_by_type",
    "win_frequency",
]
