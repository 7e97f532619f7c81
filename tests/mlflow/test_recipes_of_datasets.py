"""`questions=mlflow`, on a real store of MLflow."""

import json
import os
import shutil
from pathlib import Path

import mlflow
import pytest
from application import PROJECT
from mlflow import MlflowClient
from omegaconf import DictConfig

from ragsweep.core.errors import RagsweepError
from ragsweep.datasets import Document
from ragsweep.mlflow import MlflowQuestions
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


def test_the_recipe_makes_the_dataset_of_a_table(application, dataset, monkeypatch, tmp_path):
    table = next(each.partition("=")[2] for each in dataset if each.startswith("dataset.queries="))
    monkeypatch.chdir(tmp_path)
    done = application.run(*dataset, "retriever=sparse")
    assert done.returncode == 0, done.stderr
    rows = json.loads(Path(table).read_text())
    numbered = [json.dumps({"id": str(number), **row}) for number, row in enumerate(rows, 1)]
    Path("questions.jsonl").write_text("\n".join(numbered))
    page = (PROJECT / "docs/mlflow_evaluation.md").read_text()
    [recipe] = [text for text in page.split("```")[1::2] if "merge_records" in text]
    monkeypatch.setenv("MLFLOW_TRACKING_URI", application.uri)
    exec(compile(recipe.removeprefix("python\n"), "recipe", "exec"), {})
    path = next(each.partition("=")[2] for each in dataset if each.startswith("dataset.documents="))
    questions = ["questions=mlflow", "questions.dataset=manual", f"questions.uri={application.uri}"]
    done = application.run("corpus=pdf", f"corpus.path={path}", *questions, "dataset.name=small", "retriever=sparse")
    assert done.returncode == 0, done.stderr
    one, other = application.runs()
    assert one.data.metrics["ndcg"] == other.data.metrics["ndcg"]


class TestMlflow(QuestionsContract):
    component = MlflowQuestions
    documents = DOCUMENTS

    @pytest.fixture(autouse=True)
    def rows(self, tmp_path, empty_database, processes):
        shutil.copy(empty_database, tmp_path / "mlflow.db")
        kept = DictConfig({"uri": f"sqlite:///{tmp_path}/mlflow.db"})
        add(kept, "theirs", row("What is three?", {"b.pdf#1": 2}), row("What is two?", ["a.pdf#2"]))
        type(self).settings = {"dataset": "theirs", "uri": kept.uri}
