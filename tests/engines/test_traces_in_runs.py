"""What production answered, measured as any system is: on what was asked, with the numbers of its ranking."""

import json
from pathlib import Path

import mlflow
import pytest
import small
from mlflow.entities import Document

ASKED = [query for query, _, _ in small.QUERIES[:4]]
PAGES = [("fever.pdf", 1), ("fever.pdf", 2), ("anaemia.pdf", 2), ("anaemia.pdf", 1), ("anaemia.pdf", 3)]


def ranking(query):
    """Three pages, another order for each query."""
    start = ASKED.index(query) if query in ASKED else 0
    return [PAGES[(start // 2 + at) % len(PAGES)] for at in range(3)]


@pytest.fixture(scope="module")
def traced(shared_application):
    """Traces of a production in the store of the application: a judged question was not asked, another one was."""
    mlflow.set_tracking_uri(f"sqlite:///{shared_application.home / 'mlflow.db'}")
    mlflow.set_experiment("production")
    for query in [*ASKED, "What is not judged?"]:
        with mlflow.start_span("search", span_type="RETRIEVER") as span:
            span.set_inputs({"query": query.upper()})
            found = [
                Document(small.PAGES[source][page - 1], {"doc_uri": source, "page": page})
                for source, page in ranking(query)
            ]
            span.set_outputs(found)
    mlflow.flush_trace_async_logging()
    mlflow.set_tracking_uri(None)
    return ["retriever=traces", "retriever.experiment=production", "k=2"]


def runs(application):
    return [run for run in application.runs() if "retriever" in run.data.params]


def results(application, run, name):
    return application.artifacts(run) / "results" / name


def test_the_numbers_of_traces_are_those_of_the_same_ranking(traced, shared_application, dataset, tmp_path):
    process = shared_application.run(*dataset, *traced)
    assert process.returncode == 0, process.stderr
    assert "1 question of 5 never asked" in process.stderr
    typed = dict(each.rstrip(".").split("=") for each in process.stderr.split() if each.count("=") == 1)
    assert Path(typed["dataset.ids"]).read_text().split() == ["1", "2", "3", "4"]
    assert "not judged" in Path(typed["questions.path"]).read_text().lower()
    [run] = runs(shared_application)
    asked = results(shared_application, run, "asked.txt")
    assert len(asked.read_text().split()) == len(ASKED)
    to_judge = [
        json.loads(line) for line in results(shared_application, run, "to_judge.jsonl").read_text().splitlines()
    ]
    assert [each["query"] for each in to_judge] == ["WHAT IS NOT JUDGED?"]
    assert run.data.metrics["latency/mean_ms"] > 0
    assert json.loads(results(shared_application, run, "evaluation.json").read_text())["dataset"]["left_out"] == 1
    lines = [
        {"query": query, "results": [{"source": source, "page": str(page)} for source, page in ranking(query)]}
        for query in ASKED
    ]
    (tmp_path / "same.jsonl").write_text("".join(json.dumps(each) + "\n" for each in lines))
    same = ["retriever=returned", f"retriever.path={tmp_path}/same.jsonl", "k=2", f"dataset.ids={asked}"]
    process = shared_application.run(*dataset, *same)
    assert process.returncode == 0, process.stderr
    [other] = [each for each in runs(shared_application) if each.info.run_id != run.info.run_id]
    for metric in ("ndcg", "recall", "mrr", "precision", "map"):
        assert run.data.metrics[metric] == other.data.metrics[metric]
    assert 0 < run.data.metrics["ndcg"] < 1
