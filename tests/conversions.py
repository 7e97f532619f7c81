"""Datasets that are written in the layout of BEIR, and read back."""

from ragsweep.datasets import beir_dataset
from ragsweep.datasets.formats.conversion import convert
from ragsweep.datasets.model.collection_checks import check
from ragsweep.datasets.readers.fields import QUERY_TYPE
from ragsweep.evaluation import average_precision, f1, hit_rate, mrr, ndcg, precision, recall
from ragsweep.retrieval import SparseRetriever
from ragsweep.store.stage_store import NO_STORE
from ragsweep.tasks.ranking.ranking_settings import EvaluationSettings
from ragsweep.tasks.ranking.ranking_task import RankingTask
from ragsweep.testing.datasets import Loaded

METRICS = {
    "precision": precision,
    "recall": recall,
    "f1": f1,
    "mrr": mrr,
    "hit_rate": hit_rate,
    "ndcg": ndcg,
    "map": average_precision,
}


def converted(tmp_path, collection):
    """The dataset written in the layout of BEIR, and what was lost; and the dataset read back."""
    check(collection)
    written = convert(collection, tmp_path / "beir")
    kind = "query_type" if f"dataset.type={QUERY_TYPE}" in written.settings else None
    return written.lost, beir_dataset("small", str(tmp_path / "beir"), type=kind).load()


def metrics(collection, chunker):
    """All metrics of BM25 for every query."""
    evaluation = EvaluationSettings("after_cutoff", 1, "linear", 10, METRICS)
    task = RankingTask(Loaded(collection), chunker, SparseRetriever(NO_STORE), evaluation, 5, 0, NO_STORE)
    return [score.per_item.tolist() for score in task.measure(task.load()).scores]
