"""How well passages are ranked for queries: judging, metrics, and what a run leaves behind."""

from ragsweep.tasks.ranking.evaluation import Evaluation, RankingMetric, evaluate
from ragsweep.tasks.ranking.judging import NOTHING, Judged, judge
from ragsweep.tasks.ranking.metrics import average_precision, f1, hit_rate, mrr, ndcg, precision, recall

__all__ = [
    "NOTHING",
    "Evaluation",
    "Judged",
    "RankingMetric",
    "average_precision",
    "evaluate",
    "f1",
    "hit_rate",
    "judge",
    "mrr",
    "ndcg",
    "precision",
    "recall",
]
