"""The ranking metrics, under the names that configurations use, and what a metric of your own needs."""

from ragsweep.tasks.metric import metric
from ragsweep.tasks.ranking.evaluation import Evaluation, evaluate
from ragsweep.tasks.ranking.judging import Judged, judge
from ragsweep.tasks.ranking.metrics import average_precision, f1, hit_rate, mrr, ndcg, precision, recall

__all__ = [
    "Evaluation",
    "Judged",
    "average_precision",
    "evaluate",
    "f1",
    "hit_rate",
    "judge",
    "metric",
    "mrr",
    "ndcg",
    "precision",
    "recall",
]
