"""The ranking metrics, under the names that configurations use, and what a metric of your own needs."""

from ragsweep.tasks.metric import metric
from ragsweep.tasks.ranking.judging import Judged, judge
from ragsweep.tasks.ranking.metrics import average_precision, f1, hit_rate, mrr, ndcg, precision, recall
from ragsweep.tasks.ranking.ranking_evaluation import Evaluation, evaluate
from ragsweep.tasks.ranking.spans.needs import of_spans
from ragsweep.tasks.ranking.spans.span_metrics import (
    document_accuracy,
    document_coverage,
    document_passages,
    document_precision,
    document_recall,
    passage_accuracy,
    passage_coverage,
    passage_f1,
    passage_precision,
    passage_recall,
    token_f1,
    token_iou,
    token_precision,
    token_precision_omega,
    token_recall,
)

__all__ = [
    "Evaluation",
    "Judged",
    "average_precision",
    "document_accuracy",
    "document_coverage",
    "document_passages",
    "document_precision",
    "document_recall",
    "evaluate",
    "f1",
    "hit_rate",
    "judge",
    "metric",
    "mrr",
    "ndcg",
    "of_spans",
    "passage_accuracy",
    "passage_coverage",
    "passage_f1",
    "passage_precision",
    "passage_recall",
    "precision",
    "recall",
    "token_f1",
    "token_iou",
    "token_precision",
    "token_precision_omega",
    "token_recall",
]
