"""Questions and answers that cannot be used refuse a dataset or are left out, and are counted; ids select questions."""

import json

import pytest
from conversions import METRICS
from read_strictly import span_questions

from ragsweep.core.errors import DatasetError
from ragsweep.datasets import (
    Document,
    OwnDataset,
    PageChunker,
    TableQuestions,
    beir_dataset,
)
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
    return TableQuestions(written(tmp_path, "q.csv", "query,relevant_docs\niron,1\nwho,9\n,2\nwhy,2\nwhy,8\n"))


def spans(tmp_path):
    rows = [{"question": f"What of {name}?", "corpus_id": name, "references": ["Iron"]} for name in ("m", "n")]
    return span_questions(written(tmp_path, "s.json", json.dumps(rows)))


@pytest.mark.parametrize(("questions", "left", "out"), [(table, 1, 3), (spans, 1, 1)])
def test_questions_of_each_format_can_be_left_out(tmp_path, questions, left, out):
    dataset = OwnDataset("own", CORPUS, questions(tmp_path))
    with pytest.raises(DatasetError, match=r"dataset\.on_error=skip leaves (it|them) out"):
        dataset.load()
    collection = OwnDataset("own", CORPUS, questions(tmp_path), on_error="skip").load()
    assert (len(collection.queries), collection.left_out.number) == (left, out)
    assert {each.query_id for each in collection.judgments} <= {query.query_id for query in collection.queries}


def test_judged_queries_that_a_benchmark_lacks_can_be_left_out(tmp_path):
    for name, text in (
        ("corpus.jsonl", '{"_id": "d1", "text": "Fever."}\n'),
        ("queries.jsonl", '{"_id": "q1", "text": "hot"}\n{"_id": "q2", "text": " "}\n'),
        ("qrels/test.tsv", "q1\td1\t1\nq2\td1\t1\nq3\td1\t1\n"),
    ):
        written(tmp_path, name, text)
    with pytest.raises(DatasetError, match=r"2 of 3 questions cannot be used: .*'text' is blank.*has no query 'q3'"):
        beir_dataset("b", str(tmp_path)).load()
    collection = beir_dataset("b", str(tmp_path), on_error="skip").load()
    assert [judgment.query_id for judgment in collection.judgments] == ["q1"]


# Selecting


@pytest.mark.parametrize(("questions", "good", "bad"), [(table, "1", "2"), (spans, "1", "2")])
def test_a_faulty_question_that_is_not_selected_refuses_nothing(tmp_path, questions, good, bad):
    collection = OwnDataset("own", CORPUS, questions(tmp_path), ids=[good]).load()
    assert [query.query_id for query in collection.queries] == [good]
    assert not collection.left_out.faulty
    assert bad in collection.left_out.unselected
    with pytest.raises(DatasetError, match=r"dataset\.on_error=skip leaves it out"):
        OwnDataset("own", CORPUS, questions(tmp_path), ids=[good, bad]).load()


# Where it is said


def test_a_ranking_says_of_how_many_queries_it_is(tmp_path, capsys):
    dataset = OwnDataset("own", CORPUS, table(tmp_path), on_error="skip")
    evaluation = EvaluationSettings("after_cutoff", 1, "linear", 10, METRICS)
    task = RankingTask(dataset, PageChunker(), SparseRetriever(NO_STORE, backend="bm25s"), evaluation, 5, 0, NO_STORE)
    items = task.load()
    measured = task.measure(items)
    assert measured.condition == "at k = 5, 1 of 4 queries"
    assert items.profile["left_out"] == 3
    assert "questions left out by dataset.on_error=skip: 3" in capsys.readouterr().err


def test_queries_without_judgments_are_not_among_the_measured_ones(tmp_path, capsys):
    text = "query,relevant_docs\niron,1\nunjudged,\nfaulty,9\n"
    dataset = OwnDataset("own", CORPUS, TableQuestions(written(tmp_path, "some.csv", text)), on_error="skip")
    evaluation = EvaluationSettings("after_cutoff", 1, "linear", 10, METRICS)
    task = RankingTask(dataset, PageChunker(), SparseRetriever(NO_STORE, backend="bm25s"), evaluation, 5, 0, NO_STORE)
    measured = task.measure(task.load())
    assert measured.condition == "at k = 5, 1 of 2 queries"
    assert "measured: 1 of 2 questions" in capsys.readouterr().err


def test_a_row_whose_id_cannot_be_read_takes_no_id_of_another(tmp_path):
    path = written(tmp_path, "q.csv", "id,query,relevant_docs\n2,what,1\n,who,1\n3,why,2\n")
    dataset = OwnDataset("own", CORPUS, TableQuestions(path, id="id"), ids=["2"])
    assert [each.query_id for each in dataset.load().queries] == ["2"]


# Recorded answers
