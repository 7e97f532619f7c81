"""Traces are read from a server with a login."""

import json

import mlflow
import pytest
from mlflow.entities import Document
from servers import needs_postgres

from ragsweep import tracking

pytestmark = [pytest.mark.server, pytest.mark.extra("server"), needs_postgres]


def test_traces_are_read_from_a_server(client):
    mlflow.set_tracking_uri(client.uri)
    mlflow.set_experiment("production")
    try:
        for number in range(12):  # more than a server sends at once
            with mlflow.start_span("search", span_type="RETRIEVER") as span:
                span.set_inputs({"query": f"Question {number}?"})
                span.set_outputs([Document("text", {"doc_uri": "m.pdf", "page": number})])
        mlflow.flush_trace_async_logging()
    finally:
        mlflow.set_tracking_uri(None)
    assert len(tracking.list_traces(client.uri, "production").ids) == 12
    spans = [*tracking.fetch_spans(client.uri, tracking.list_traces(client.uri, "production").ids)]
    asked = [json.loads(span["attributes"]["mlflow.spanInputs"])["query"] for span in spans]
    assert sorted(asked) == sorted(f"Question {number}?" for number in range(12))
