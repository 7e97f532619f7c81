"""Questions and answers that cannot be used refuse a dataset or are left out, and are counted; ids select questions."""

import json
from dataclasses import replace

import pytest
from conversions import METRICS
from read_strictly import span_questions

from ragsweep.core.errors import DatasetError
from ragsweep.datasets import Document, OwnDataset, PageChunker, TableQuestions, beir_dataset
from ragsweep.retrieval import SparseRetriever
from ragsweep.store.stage_store import NO_STORE
from ragsweep.tasks.ranking.ranking_settings import EvaluationSettings
from ragsweep.tasks.ranking.ranking_task import RankingTask
from ragsweep.testing.datasets import AsIs

DOCUMENTS = (Document.from_pages("m.txt", [("1", "m.txt#1", "Iron tablets."), ("2", "m.txt#2", "Birth plan.")]),)
CORPUS = AsIs(DOCUMENTS)


def written(tmp_path, name, text):
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(text)
    return str(tmp_path / name)


def table(tmp_path):
    text = "query,relevant_docs\niron,1\nwho,9\n,2\nwhy,2\nwhy,8\n"
    return OwnDataset("own", CORPUS, TableQuestions(written(tmp_path, "q.csv", text)))


def spans(tmp_path):
    rows = [{"question": f"What of {name}?", "corpus_id": name, "references": ["Iron"]} for name in ("m", "n")]
    return OwnDataset("own", CORPUS, span_questions(written(tmp_path, "s.json", json.dumps(rows))))


def beir(tmp_path):
    written(tmp_path, "corpus.jsonl", '{"_id": "d1", "text": "Fever."}\n')
    written(tmp_path, "queries.jsonl", '{"_id": "q1", "text": "hot"}\n{"_id": "q2", "text": " "}\n')
    written(tmp_path, "qrels/test.tsv", "q1\td1\t1\nq2\td1\t1\nq3\td1\t1\n")
    return beir_dataset("b", str(tmp_path))


@pytest.mark.parametrize(("dataset", "left", "out"), [(table, 1, 3), (spans, 1, 1), (beir, 1, 2)])
def test_questions_of_each_format_can_be_left_out(tmp_path, dataset, left, out):
    with pytest.raises(DatasetError, match=r"dataset\.on_error=skip leaves (it|them) out"):
        dataset(tmp_path).load()
    collection = replace(dataset(tmp_path), on_error="skip").load()
    assert (len(collection.queries), collection.left_out.number) == (left, out)
    assert {judgment.query_id for judgment in collection.judgments} <= {query.query_id for query in collection.queries}


# Pages that no document has


def test_questions_of_pages_that_no_document_has_can_be_kept_at_their_places(tmp_path):
    text = "query,relevant_docs\nwho,9;n.txt#1\niron,1\nwhy,2;7\n"
    dataset = OwnDataset("own", CORPUS, TableQuestions(written(tmp_path, "q.csv", text)))
    with pytest.raises(DatasetError, match=r"on_error=skip leaves them out, dataset\.on_error=keep counts"):
        dataset.load()
    kept = replace(dataset, on_error="keep").load()
    assert [query.text for query in kept.queries] == ["who", "iron", "why"]
    judged = {(judgment.query_id, judgment.unit) for judgment in kept.judgments}
    assert judged == {("1", "9"), ("1", "n.txt#1"), ("2", "m.txt#1"), ("3", "m.txt#2"), ("3", "7")}
    assert not kept.left_out.number
    assert [query.text for query in replace(dataset, on_error="keep", ids=("3",)).load().queries] == ["why"]


@pytest.mark.parametrize(
    "row", ["who,page nine", 'who,"1, 2"', "who,n.txt", "who,m.txt", ",9", ",2"], ids=lambda row: row.replace(" ", "_")
)
def test_keeping_forgives_no_other_fault(tmp_path, row):
    """Neither what is no name of a page, nor a document without a page, nor a question without a text."""
    text = f"query,relevant_docs\niron,1\n{row}\n"
    dataset = OwnDataset("own", CORPUS, TableQuestions(written(tmp_path, "q.csv", text)), on_error="keep")
    with pytest.raises(DatasetError):
        dataset.load()


# Selecting


@pytest.mark.parametrize("dataset", [table, spans])
def test_a_faulty_question_that_is_not_selected_refuses_nothing(tmp_path, dataset):
    collection = replace(dataset(tmp_path), ids=("1",)).load()
    assert [query.query_id for query in collection.queries] == ["1"]
    assert not collection.left_out.faulty
    assert "2" in collection.left_out.unselected
    with pytest.raises(DatasetError, match=r"dataset\.on_error=skip leaves it out"):
        replace(dataset(tmp_path), ids=("1", "2")).load()


# Where it is said


UNJUDGED = "query,relevant_docs\niron,1\nunjudged,\nfaulty,9\n"


@pytest.mark.parametrize(("text", "of", "out"), [(None, "1 of 4", 3), (UNJUDGED, "1 of 2", 1)])
def test_a_ranking_says_of_how_many_queries_it_is(tmp_path, capsys, text, of, out):
    """Those without judgments are not among the measured ones."""
    dataset = replace(table(tmp_path), on_error="skip")
    if text:
        written(tmp_path, "q.csv", text)
    evaluation = EvaluationSettings("after_cutoff", 1, "linear", 10, METRICS)
    task = RankingTask(dataset, PageChunker(), SparseRetriever(NO_STORE, backend="bm25s"), evaluation, 5, 0, NO_STORE)
    items = task.load()
    assert task.measure(items).condition == f"at k = 5, {of} queries"
    assert items.profile["left_out"] == out
    assert f"questions left out by dataset.on_error=skip: {out}" in capsys.readouterr().err


def test_a_row_whose_id_cannot_be_read_takes_no_id_of_another(tmp_path):
    path = written(tmp_path, "q.csv", "id,query,relevant_docs\n2,what,1\n,who,1\n3,why,2\n")
    dataset = OwnDataset("own", CORPUS, TableQuestions(path, id="id"), ids=["2"])
    assert [query.query_id for query in dataset.load().queries] == ["2"]
