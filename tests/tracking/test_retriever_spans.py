"""The traces of an MLflow experiment in which a retriever has answered, as MLflow itself writes them."""

import json
import shutil
import sqlite3

import mlflow
import pytest
from mlflow.entities import Document

from ragsweep import tracking
from ragsweep.core.errors import TrackingError
from ragsweep.tracking import retriever_spans


@pytest.fixture(scope="module")
def uri(tmp_path_factory, empty_database, processes):
    """A store with two traces of a retriever within a chain, each followed by one without a retriever."""
    folder = tmp_path_factory.mktemp("traced")
    shutil.copy(empty_database, folder / "mlflow.db")
    uri = f"sqlite:///{folder / 'mlflow.db'}"
    mlflow.set_tracking_uri(uri)
    mlflow.set_experiment("app")
    for _ in range(2):
        write()
    mlflow.flush_trace_async_logging()
    mlflow.set_tracking_uri(None)
    return uri


def write():
    with mlflow.start_span("chain", span_type="CHAIN"), mlflow.start_span("search", span_type="RETRIEVER") as span:
        span.set_inputs({"query": "What clears worms?"})
        span.set_outputs([Document("Albendazole.", {"doc_uri": "m.pdf", "page": 3}, "d7")])
    with mlflow.start_span("chat", span_type="LLM"):
        pass


def test_all_spans_of_the_traces_with_a_retriever_are_fetched(uri):
    listed = tracking.list_traces(uri, "app")
    assert (len(listed.ids), listed.elsewhere, listed.cut) == (2, 0, False)
    spans = [*tracking.fetch_spans(uri, listed.ids[:1])]
    by_name = {span["name"]: span for span in spans}
    assert {*by_name} == {"chain", "search"}
    search = by_name["search"]
    assert json.loads(search["attributes"]["mlflow.spanInputs"]) == {"query": "What clears worms?"}
    assert search["parent_span_id"] == by_name["chain"]["span_id"]
    assert search["end_time_unix_nano"] > search["start_time_unix_nano"]


def test_the_newest_traces_are_listed_where_there_are_too_many(uri, monkeypatch):
    newest = tracking.list_traces(uri, "app").ids
    monkeypatch.setattr(retriever_spans, "MOST_TRACES", 1)
    monkeypatch.setattr(retriever_spans, "PAGE", 1)
    assert tracking.list_traces(uri, "app") == (newest[:1], 0, True)


def test_no_trace_says_where_its_spans_are_fetched_from(uri, tmp_path):
    """Anybody who can write to the store could name a file of this machine, or a server that gets its login."""
    changed = shutil.copy(uri.removeprefix("sqlite:///"), tmp_path)
    with sqlite3.connect(changed) as database:
        database.execute("UPDATE trace_tags SET value = 'ARTIFACT_REPO' WHERE key = 'mlflow.trace.spansLocation'")
    assert tracking.list_traces(f"sqlite:///{changed}", "app") == ((), 2, False)


def test_a_store_or_an_experiment_that_is_not_there_is_named(uri, tmp_path):
    with pytest.raises(TrackingError, match=r"retriever\.experiment: .* has no experiment 'apq' \(there is 'app'"):
        tracking.list_traces(uri, "apq")
    with pytest.raises(TrackingError, match=r"retriever\.experiment: cannot be read from .*nosuch\.db"):
        tracking.list_traces(f"sqlite:///{tmp_path}/nosuch.db", "app")
