"""The metrics of rankings by the names under which configurations have them: `ragsweep.evaluation.ndcg`."""

from ragsweep.tasks.ranking import (
    Evaluation,
    Judged,
    average_precision,
    evaluate,
    f1,
    hit_rate,
    judge,
    mrr,
    ndcg,
    precision,
    recall,
)

__all__ = [
    "Evaluation",
    "Judged",
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
