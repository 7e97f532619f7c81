"""Datasets that are written in another format, and read back."""

from types import SimpleNamespace

from ragsweep.datasets import (
    BeirDataset,
    OwnDataset,
    SpanQuestions,
    TableCorpus,
    TableQuestions,
    TextCorpus,
    TrecCorpus,
    TrecQuestions,
)
from ragsweep.datasets.formats.conversion import convert
from ragsweep.datasets.model.collection_checks import check
from ragsweep.evaluation import average_precision, f1, hit_rate, mrr, ndcg, precision, recall
from ragsweep.retrieval import SparseRetriever
from ragsweep.store.stage_store import NO_STORE
from ragsweep.tasks.ranking.ranking_settings import EvaluationSettings
from ragsweep.tasks.ranking.ranking_task import RankingTask

METRICS = {
    "precision": precision,
    "recall": recall,
    "f1": f1,
    "mrr": mrr,
    "hit_rate": hit_rate,
    "ndcg": ndcg,
    "map": average_precision,
}


def read_back(folder, to, written=None):
    """What was written, read by the loaders that the command names."""
    place = str(folder)
    if to == "beir":
        kind = "query_type" if "dataset.type" in written.settings else None
        return BeirDataset("small", place, type=kind).load()
    if to == "spans":
        return OwnDataset("small", TextCorpus(f"{place}/corpus"), SpanQuestions(f"{place}/questions.csv")).load()
    if to == "trec":
        asked = TrecQuestions(f"{place}/topics.tsv", f"{place}/qrels.txt")
        return OwnDataset("small", TrecCorpus(f"{place}/corpus.jsonl"), asked).load()
    settings = dict(each.partition("=")[::2] for each in written.settings.split())
    asked = TableQuestions(f"{place}/questions.jsonl", settings["questions.unit"], id="id")
    return OwnDataset("small", TableCorpus(f"{place}/documents.jsonl", page="page"), asked).load()


def converted(tmp_path, collection, to):
    """The dataset written in a format, and what was lost; and the dataset read back."""
    check(collection)
    written = convert(collection, to, tmp_path / to)
    return written.lost, read_back(tmp_path / to, to, written)


def metrics(collection, chunker):
    """All metrics of BM25 for every query."""
    evaluation = EvaluationSettings("after_cutoff", 1, "linear", 10, METRICS)
    task = RankingTask(
        SimpleNamespace(load=lambda: collection), chunker, SparseRetriever(NO_STORE), evaluation, 5, 0, NO_STORE
    )
    return [score.per_item.tolist() for score in task.measure(task.load()).scores]
