"""Cases in other formats."""

from types import SimpleNamespace

import pytest
from application import PROJECT

from ragsweep.datasets import (
    BeirDataset,
    Collection,
    Document,
    Judgment,
    OwnDataset,
    Query,
    RecursiveChunker,
    Reference,
    SpanQuestions,
    TableCorpus,
    TableQuestions,
    TextCorpus,
    TrecCorpus,
    TrecQuestions,
)
from ragsweep.datasets.formats.conversion import convert
from ragsweep.datasets.model.checks import check
from ragsweep.datasets.model.pages import with_keys
from ragsweep.evaluation import average_precision, f1, hit_rate, mrr, ndcg, precision, recall
from ragsweep.retrieval import SparseRetriever
from ragsweep.store.store import NO_STORE
from ragsweep.tasks.ranking.settings import EvaluationSettings
from ragsweep.tasks.ranking.task import RankingTask
from ragsweep_answers.cases import CaseColumns, CasesDataset

METRICS = {
    "precision": precision,
    "recall": recall,
    "f1": f1,
    "mrr": mrr,
    "hit_rate": hit_rate,
    "ndcg": ndcg,
    "map": average_precision,
}
PAGES = ("Iron tablets, daily.", "", "Birth plan; worms.")


def small(unit="document", **changed):
    """Two documents, two questions with types and fields, and judgments with grades."""
    documents = with_keys(
        [
            Document.from_pages("a b.pdf", [(str(n), f"a b.pdf#{n}", text) for n, text in enumerate(PAGES, start=1)]),
            Document.from_pages("c", [("1", "c#1", "Zinc for {} days.\nCafé.")]),
        ],
        unit if unit != "passage" else "page",
    )
    units = {"document": ("a b.pdf", "c"), "page": ("a b.pdf#3", "c#1"), "page_number": ("3", "1")}
    queries = (Query("q1", "What of\n iron?", "fact", (("author", "Zoë"), ("id", "x"))), Query("q 2", "Zinc"))
    judgments, references = (), ()
    if unit == "passage":
        references = (Reference("q1", "c", 0, 4), Reference("q1", "c", 9, 16), Reference("q 2", "a b.pdf", 0, 4))
    else:
        judgments = (Judgment("q1", units[unit][0], 2), Judgment("q 2", units[unit][1], 1))
    of = "page" if unit == "page_number" else unit
    fields = {"name": "small", "unit": of, "documents": documents, "queries": queries, "judgments": judgments}
    return Collection(**{**fields, "references": references, **changed})


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


@pytest.mark.usefixtures("long_work")
def test_the_bundled_cases_give_the_same_numbers_as_questions(tmp_path):
    data, own = PROJECT / "data", {"id": "id", "relevant": "relevant_docs", "answer": "correct_answer"}
    columns = CaseColumns(**own, case="clinical_case", specialty="specialty")
    cases = CasesDataset("cases", str(data / "clinical_cases/cases.json"), columns, str(data / "cho_manual/documents"))
    collection = cases.load()
    lost, again = converted(tmp_path, collection, "table")
    assert lost == [f"the options and answers of {len(collection.cases)} multiple-choice cases"]
    assert metrics(again, RecursiveChunker()) == metrics(collection, RecursiveChunker())
