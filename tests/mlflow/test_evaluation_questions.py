"""`questions=mlflow` and `ragsweep convert --to mlflow`, on a real store of MLflow."""

import os
import shutil
import warnings
from dataclasses import replace

import mlflow
import pytest
from mlflow import MlflowClient
from omegaconf import DictConfig

from ragsweep.app.commands import convert
from ragsweep.core.errors import DatasetError, RagsweepError
from ragsweep.datasets import Collection, Document, Judgment, Query
from ragsweep.mlflow import MlflowQuestions
from ragsweep.mlflow.evaluation_questions import write
from ragsweep.testing import QuestionsContract

DOCUMENTS = tuple(
    Document.from_pages(name, ((str(n), f"{name}#{n}", text) for n, text in enumerate(texts, 1)))
    for name, texts in {"a.pdf": ["one", "two"], "b.pdf": ["three"]}.items()
)


@pytest.fixture
def store(tmp_path, empty_database, processes):
    shutil.copy(empty_database, tmp_path / "mlflow.db")
    return DictConfig(
        {"uri": f"sqlite:///{tmp_path}/mlflow.db", "artifacts": str(tmp_path), "experiment": "ours", "upgrade": False}
    )


def add(store, name, *records, **tags):
    """Make an EvaluationDataset as its users do."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLFLOW_TRACKING_URI", store.uri)
        dataset = MlflowClient(store.uri).create_dataset(name, tags=tags)
        dataset.merge_records([*records])
    return dataset


def row(query, expected, **tags):
    return {"inputs": {"query": query}, "expectations": {"expected_documents": expected}, "tags": tags}


def test_what_is_written_is_read_again(manual, store):
    unit, lost, _ = write(manual, "manual", store)
    assert (unit, lost) == ("page", [])
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        asked = MlflowQuestions("manual", unit, store.uri).read(manual.documents)
    assert asked.queries == manual.queries
    assert asked.judgments == manual.judgments
    [dataset] = MlflowClient(store.uri).search_datasets(filter_string="name = 'manual'")
    assert dataset.tags["ragsweep.digest"] == manual.digest
    with pytest.raises(DatasetError, match="has a dataset 'manual' already"):
        write(manual, "manual", store)


def test_a_change_is_told(manual, store):
    write(manual, "manual", store)
    questions = MlflowQuestions("manual", "page", store.uri)
    with pytest.warns(UserWarning, match="not those that were written"):
        questions.read((replace(manual.documents[0], text=manual.documents[0].text.replace("vaccine", "v4ccine")),))
    query = manual.queries[5].text
    [dataset] = MlflowClient(store.uri).search_datasets(filter_string="name = 'manual'")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLFLOW_TRACKING_URI", store.uri)
        dataset.merge_records([row(query, ["7"])])
    with pytest.warns(UserWarning, match="not those that were written") as told:
        asked = questions.read(manual.documents)
    assert len(told) == 1
    assert [each.query_id for each in asked.queries] == [each.query_id for each in manual.queries]


def test_datasets_of_others_are_read(store):
    context = [{"content": "...", "doc_uri": "a.pdf#2"}, {"content": "..."}]
    add(
        store,
        "theirs",
        {
            "inputs": {"question": "What is two?", "language": "en"},
            "expectations": {"expected_retrieved_context": context},
        },
        {
            "inputs": {"question": "What is a pair?"},
            "expectations": {"expected_documents": None, "expected_retrieved_context": context},
        },
        row("What is three?", {"b.pdf#1": 2, "a.pdf#1": 0}),
        row("What is nothing?", None, source="a.pdf", grade="3"),
        row("What is one?", ["a.pdf#1"], score="7"),
    )
    asked = MlflowQuestions("theirs", uri=store.uri).read(DOCUMENTS)
    texts = {query.query_id: query.text for query in asked.queries}
    assert sorted(texts) == ["1", "2", "3", "4", "5"]
    found = {(texts[query_id], unit, grade) for query_id, unit, grade in asked.judgments}
    two, pair = ("What is two?", "a.pdf#2", 1), ("What is a pair?", "a.pdf#2", 1)
    three = ("What is three?", "b.pdf#1", 2)
    assert found == {two, pair, three, ("What is three?", "a.pdf#1", 0), ("What is one?", "a.pdf#1", 1)}
    assert [query.fields for query in asked.queries if query.text == "What is two?"] == [(("language", "en"),)]


def test_a_row_that_asks_nothing_is_named(store):
    chat = {"messages": [{"role": "user", "content": "What is one?"}]}
    add(store, "theirs", {"inputs": chat, "expectations": {"expected_documents": ["a.pdf#1"]}})
    [fault] = MlflowQuestions("theirs", uri=store.uri).read(DOCUMENTS).faults.found
    assert "record 1: the field 'query' is missing" in str(fault)
    assert "messages" in str(fault)
    assert "takes another" not in str(fault)


def test_documents_can_be_judged(store):
    add(store, "theirs", row("What is three?", ["a.pdf"]))
    asked = MlflowQuestions("theirs", "document", store.uri).read(DOCUMENTS)
    assert [judgment.unit for judgment in asked.judgments] == ["a.pdf"]
    asked = MlflowQuestions("theirs", "page", store.uri).read(DOCUMENTS)
    assert asked.judgments == ()
    assert "a.pdf" in str(asked.faults.found[0])


@pytest.mark.parametrize(("unit", "judged"), [("page", "m.pdf#3"), ("document", "m.pdf")])
def test_without_documents_no_judgment_is_lost(unit, judged, store):
    collection = Collection("bare", unit, (), (Query("1", "Which?"), Query("2", "And?")), (Judgment("1", judged, 2),))
    key, lost, asked = write(collection, "bare", store)
    assert (key, lost, asked.judgments) == (unit, [], collection.judgments)
    assert MlflowQuestions("bare", key, uri=store.uri).read(()).judgments == collection.judgments


def test_a_dataset_without_a_judgment_is_not_written(store):
    collection = Collection("none", "page", (), (Query("1", "Which?"),), ())
    with pytest.raises(DatasetError, match="none: has no judgment to write"):
        write(collection, "none", store)
    with pytest.raises(RagsweepError, match="has 0 datasets"):
        MlflowQuestions("none", uri=store.uri).read(())


def test_questions_keep_ids_types_and_order(store):
    queries = [
        Query(f"q{n}", f"What is {n}?", "odd" if n % 2 else "even", (("hint", str(n)),)) for n in range(12, 0, -1)
    ]
    judgments = tuple(Judgment(query.query_id, "a.pdf#1", 2) for query in queries)
    given = Collection("ours", "page", DOCUMENTS, tuple(queries), judgments)
    write(given, "ours", store)
    asked = MlflowQuestions("ours", uri=store.uri).read(DOCUMENTS)
    assert asked.queries == given.queries
    assert asked.judgments == given.judgments


def test_what_mlflow_cannot_keep_is_said(store, capsys):
    queries = tuple(Query(name, "What is one?") for name in ("first", "second"))
    judgments = tuple(Judgment(query.query_id, "a.pdf#1", 1) for query in queries)
    convert.as_evaluation_dataset(Collection("ours", "page", DOCUMENTS, queries, judgments), "ours", store)
    said = capsys.readouterr()
    assert "lost: 1 query with the text of an earlier one\n" in said.err
    assert "ours: 1 query, 1 judgment\n" in said.out


def test_what_is_not_there_is_named(store):
    with pytest.raises(RagsweepError, match="has 0 datasets 'nosuch'"):
        MlflowQuestions("nosuch", uri=store.uri).read(DOCUMENTS)
    with pytest.raises(RagsweepError, match="expected a name"):
        MlflowQuestions("a' OR name != 'a", uri=store.uri).read(DOCUMENTS)
    with pytest.raises(RagsweepError, match="there is no such file"):
        MlflowQuestions("nosuch", uri=store.uri.replace("mlflow.db", "other.db")).read(DOCUMENTS)
    add(store, "twice", row("What is one?", ["a.pdf#1"]))
    add(store, "twice", row("What is one?", ["a.pdf#1"]))
    with pytest.raises(RagsweepError, match="has 2 datasets 'twice'"):
        MlflowQuestions("twice", uri=store.uri).read(DOCUMENTS)


def test_an_address_with_a_password_is_refused():
    with pytest.raises(RagsweepError, match=r"^questions\.uri: ") as refused:
        MlflowQuestions("ours", uri="http://user:canary@host")
    assert "canary" not in str(refused.value)


@pytest.mark.parametrize("before", [None, "sqlite:///other.db"])
def test_mlflows_default_store_stays_as_it_was(before, store, monkeypatch):
    add(store, "theirs", row("What is one?", ["a.pdf#1"]))
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    mlflow.set_tracking_uri(before)
    MlflowQuestions("theirs", uri=store.uri).read(DOCUMENTS)
    assert os.environ.get("MLFLOW_TRACKING_URI") == before
    mlflow.set_tracking_uri(None)


def test_a_run_measures_the_same(application, dataset):
    done = application.script("convert", *dataset, "--to", "mlflow", "--out", "small")
    assert done.returncode == 0, done.stderr
    assert "questions=mlflow questions.dataset=small questions.unit=page" in done.stdout
    path = next(each.partition("=")[2] for each in dataset if each.startswith("dataset.documents="))
    questions = ["questions=mlflow", "questions.dataset=small", f"questions.uri={application.uri}"]
    for given in (dataset, ["corpus=pdf", f"corpus.path={path}", *questions, "dataset.name=small"]):
        done = application.run(*given, "retriever=sparse")
        assert done.returncode == 0, done.stderr
    one, other = application.runs()
    assert one.data.metrics["ndcg"] == other.data.metrics["ndcg"]
    digests = {run.inputs.dataset_inputs[0].dataset.digest for run in (one, other)}
    assert len(digests) == 1


class TestMlflow(QuestionsContract):
    component = MlflowQuestions
    documents = DOCUMENTS

    @pytest.fixture(autouse=True)
    def rows(self, tmp_path, empty_database, processes):
        shutil.copy(empty_database, tmp_path / "mlflow.db")
        kept = DictConfig({"uri": f"sqlite:///{tmp_path}/mlflow.db"})
        add(kept, "theirs", row("What is three?", {"b.pdf#1": 2}), row("What is two?", ["a.pdf#2"]))
        type(self).settings = {"dataset": "theirs", "uri": kept.uri}
