"""Settings of a dataset: questions that cannot be used refuse it or are left out, ids select, fields name groups."""

import json
from dataclasses import replace

import pytest
from conversions import METRICS
from read_strictly import expect_refusal, refusal, span_questions

from ragsweep.datasets import Collection, Document, OwnDataset, PageChunker, Query, TableQuestions, beir_dataset
from ragsweep.datasets.model.grouping import grouped
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
    expect_refusal(dataset(tmp_path).load, "dataset.on_error=skip leaves ")
    collection = replace(dataset(tmp_path), on_error="skip").load()
    assert (len(collection.queries), collection.left_out.number) == (left, out)
    assert {judgment.query_id for judgment in collection.judgments} <= {query.query_id for query in collection.queries}


# Pages that no document has


def test_questions_of_pages_that_no_document_has_can_be_kept_at_their_places(tmp_path):
    text = "query,relevant_docs\nwho,9;n.txt#1\niron,1\nwhy,2;7\n"
    dataset = OwnDataset("own", CORPUS, TableQuestions(written(tmp_path, "q.csv", text)))
    expect_refusal(dataset.load, "on_error=skip leaves them out", "dataset.on_error=keep counts")
    kept = replace(dataset, on_error="keep").load()
    assert [query.text for query in kept.queries] == ["who", "iron", "why"]
    judged = {(judgment.query_id, judgment.unit) for judgment in kept.judgments}
    assert judged == {("1", "9"), ("1", "n.txt#1"), ("2", "m.txt#1"), ("3", "m.txt#2"), ("3", "7")}
    assert not kept.left_out.number
    assert [query.text for query in replace(dataset, on_error="keep", ids=("3",)).load().queries] == ["why"]


def test_keeping_forgives_no_other_fault(tmp_path):
    """Neither what is no name of a page, nor a document without a page, nor a question without a text."""
    for row in ("who,page nine", 'who,"1, 2"', "who,n.txt", "who,m.txt", ",9", ",2"):
        path = written(tmp_path, "q.csv", f"query,relevant_docs\niron,1\n{row}\n")
        assert refusal(OwnDataset("own", CORPUS, TableQuestions(path), on_error="keep").load), row


# Selecting


@pytest.mark.parametrize("dataset", [table, spans])
def test_a_faulty_question_that_is_not_selected_refuses_nothing(tmp_path, dataset):
    collection = replace(dataset(tmp_path), ids=("1",)).load()
    assert [query.query_id for query in collection.queries] == ["1"]
    assert not collection.left_out.faulty
    assert "2" in collection.left_out.unselected
    expect_refusal(replace(dataset(tmp_path), ids=("1", "2")).load, "dataset.on_error=skip leaves it out")


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


# Groups

FIELDS = [{"page": "1"}, {"page": "2"}, {"page": "1"}, {}, {"page": "3"}]


def collection_of(*fields, texts=None, types=None):
    """A collection of questions with these fields."""
    queries = [
        Query(f"q{row}", texts[row] if texts else f"What is {row}?", types and types[row], tuple(values.items()))
        for row, values in enumerate(fields)
    ]
    return Collection("mine", "page", (), tuple(queries), ())


def groups_of(collection, field):
    return [query.group for query in grouped(collection, field).queries]


def test_a_field_names_the_groups_and_who_has_no_other_in_it_is_alone():
    assert groups_of(collection_of(*FIELDS), "page") == ["1", None, "1", None, None]
    assert groups_of(collection_of(*FIELDS), None) == [None] * 5  # nothing is grouped unless it is asked for
    assert groups_of(collection_of({}, {}, {}, types=["a", None, "a"]), "query_type") == ["a", None, "a"]


def test_generated_questions_are_grouped_by_their_source_unless_they_are_alone():
    made = collection_of(*({"generated_from": page, "page": str(row)} for row, page in enumerate("aab")))
    assert groups_of(made, None) == ["a", "a", None]
    assert groups_of(made, "query_id") == [None] * 3


def test_near_copies_are_found_by_the_rule_of_the_audit():
    copies = [
        "Which dose of iron does a child with anaemia need?",
        "What dose of iron does a child with anaemia need",
        "Which dose of zinc does a child with diarrhoea need?",
        "Does a child with anaemia need which dose of iron?",
    ]
    assert groups_of(collection_of({}, {}, {}, {}, texts=copies), "auto")[:3] == ["q0", "q0", None]


def test_a_field_that_no_question_has_is_refused_with_those_that_there_are():
    facts = "dataset.group: no question of mine has 'pages'", "'query_id', 'page'"
    expect_refusal(lambda: grouped(collection_of(*FIELDS), "pages"), *facts)


def test_a_field_that_groups_nothing_is_pointed_out(capsys):
    assert groups_of(collection_of({"page": "1"}, {"page": "2"}), "page") == [None, None]
    assert "dataset.group: page puts no two questions" in capsys.readouterr().err


def test_the_digest_knows_the_groups_and_is_as_it_was_without():
    one = collection_of(*FIELDS)
    digests = {grouped(one, field).digest for field in (None, "page", "query_id")}
    assert digests == {one.digest, grouped(one, "page").digest}
    assert len(digests) == 2


def test_a_table_of_questions_is_grouped_by_its_column(tmp_path):
    rows = [{"query": f"What is {row}?", "relevant_docs": ["1"], "topic": "ab"[row % 2]} for row in range(4)]
    (tmp_path / "q.json").write_text(json.dumps(rows))

    corpus = AsIs((Document.from_pages("a.txt", [("1", "a.txt#1", "Iron.")]),))
    for group, expected in ((None, [None] * 4), ("topic", ["a", "b", "a", "b"])):
        questions = TableQuestions(str(tmp_path / "q.json"))
        dataset = OwnDataset(name="own", corpus=corpus, questions=questions, group=group)
        assert [query.group for query in dataset.load().queries] == expected
        assert ("group" in dataset.without_effect) is (group is None)
