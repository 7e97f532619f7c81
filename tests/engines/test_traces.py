"""What a retriever in production has answered, read from spans as MLflow writes them."""

import json
import shutil
from pathlib import Path

import mlflow
import numpy as np
import pytest
import small
from application import succeeded
from hypothesis import given
from hypothesis import strategies as st

from ragsweep.core.errors import RefusedError, RetrieverError, TrackingError
from ragsweep.retrieval.results import Result
from ragsweep.testing import SystemContract
from ragsweep_engines.result_reading import Fields
from ragsweep_engines.traces_retriever import TracesRetriever, same_question, traced

QUESTION = "What clears worms?"
START = 15 * 10**17  # nanoseconds
HITS = (
    Result(("d7",), "m.pdf", "3", "Albendazole clears worms.", 0.5),
    Result((), "m.pdf", "2", "Worms take blood."),
)
FIELDS = [
    {"id": "d7", "content": "Albendazole clears worms.", "score": 0.5, "metadata": {"source": "m.pdf", "page": 3}},
    {"content": "Worms take blood.", "metadata": {"source": "m.pdf", "page": 2}},
]


def span(question=QUESTION, documents=FIELDS, **changed):
    """The fields of a span, as `mlflow.entities.Span.to_dict` has them."""
    asked = {"query": question} if isinstance(question, str) else question
    attributes = {"mlflow.spanType": "RETRIEVER", "mlflow.spanInputs": asked, "mlflow.spanOutputs": documents}
    named = {name: json.dumps(value) for name, value in attributes.items() if value is not None}
    own = {"trace_id": "t", "span_id": "s", "parent_span_id": None, "name": "search", "attributes": named}
    times = {"start_time_unix_nano": START, "end_time_unix_nano": START + 250 * 10**6}
    return {**own, **times, "status": {"code": "STATUS_CODE_OK"}, **changed}


def told(*spans, name=None, question=None, **fields):
    """What some spans tell."""
    return traced(spans, Fields(**fields), question, name, "it")


def results(read, question=QUESTION):
    answer = read.answers.get(same_question(question))
    return None if answer is None else answer.read.results


def record(uri, asked):
    """Record these questions, each with its results, in a store of MLflow, which runs git; what reads it."""
    mlflow.set_tracking_uri(uri)
    try:
        mlflow.set_experiment("app")
        for question, documents in asked:
            with mlflow.start_span("search", span_type="RETRIEVER") as own:
                own.set_inputs({"query": question})
                own.set_outputs(documents)
        mlflow.flush_trace_async_logging()
    finally:
        mlflow.set_tracking_uri(None)
    return {"experiment": "app", "uri": uri}


@pytest.fixture(scope="module")
def store_of_traces(empty_database, tmp_path_factory, processes):
    """A store with what the tests ask for."""
    folder = tmp_path_factory.mktemp("traces")
    shutil.copy(empty_database, folder / "mlflow.db")
    asked = [(QUESTION, FIELDS), ("Who  is it?", []), ("who is it?", [])]
    return record(f"sqlite:///{folder}/mlflow.db", [*((query, FIELDS) for query in TestTraces.queries), *asked])


class TestTraces(SystemContract):
    component = TracesRetriever

    @pytest.fixture(autouse=True)
    def recorded(self, store_of_traces):
        type(self).settings = store_of_traces


def test_what_mlflow_has_recorded_is_read(store_of_traces):
    retriever = TracesRetriever(**store_of_traces)
    answers = retriever.answers(["what  clears\nWORMS? ", "What clears the worms?", "Who is it?"], 9)
    assert [*answers.results] == [HITS, None, ()]
    assert np.isnan(answers.latency_ms).tolist() == [False, True, False]
    first = retriever.answers([TestTraces.queries[1], QUESTION], 1)
    assert (first.results, first.other_queries) == ([HITS[:1]] * 2, ["who is it?"])
    with pytest.raises(TrackingError, match=r"has no experiment 'nothing' \(there is "):
        TracesRetriever(**store_of_traces | {"experiment": "nothing"}).check()
    with pytest.raises(RefusedError, match=r"^retriever\.uri: ") as error:
        TracesRetriever(experiment="app", uri="postgresql://me:hidden-one@host/mlflow")
    assert "hidden-one" not in str(error.value)


def test_of_a_question_that_was_asked_again_the_latest_answer_counts_and_latency_is_that_of_a_span_that_tells_it():
    """One without a time that is set, that ends before it starts, or that takes more than a day tells none."""
    later, earlier = span(start_time_unix_nano=2 * START), span(documents=[{"id": "d9", "content": "Old."}])
    read = told(later, earlier)
    assert results(read) == HITS
    assert [answer.times for answer in read.answers.values()] == [2]
    times = {
        (START, START + 12 * 10**6): 12,
        (0, START): None,
        (START, START - 1): None,
        (START, START + 86_401 * 10**9): None,
    }
    for (start, end), ms in times.items():
        [answer] = told(span(start_time_unix_nano=start, end_time_unix_nano=end)).answers.values()
        assert answer.ms == ms


CHAIN = {"mlflow.spanType": '"CHAIN"'}


def test_a_retriever_that_asks_others_has_answered_and_not_they():
    inner = span(documents=FIELDS[1:], name="inner", span_id="3", parent_span_id="2")
    spans = [span(name="outer", span_id="1"), span(span_id="2", parent_span_id="1", attributes=CHAIN), inner]
    assert results(told(*spans)) == HITS
    assert results(told(*spans, name="inner")) == HITS[1:]
    with pytest.raises(RetrieverError, match=r"3 spans is named 'x' \(spans of retrievers are 'outer', 'inner'"):
        told(*spans, name="x")
    circle = [span(span_id=own, parent_span_id=parent, attributes=CHAIN) for own, parent in ("ab", "ba")]
    for parent in ("a", "s"):  # spans that are around each other are read to an end
        assert results(told(*circle, span(parent_span_id=parent))) == HITS


UNANSWERED = [
    (span(status={"code": "STATUS_CODE_ERROR"}), "ended in an error"),
    (span(documents=None), "does not say what came back"),
    (span({}), "does not say what was asked"),
    (span(documents="three documents"), "returned str, expected a list of results"),
]


def test_a_span_without_an_answer_is_counted_with_its_reason_and_is_no_empty_answer():
    for unanswered, reason in UNANSWERED:
        read = told(span("Else?"), unanswered)
        assert results(read) is None
        assert any(notice.startswith("1 span of a retriever") and reason in notice for notice in read.notices)
        with pytest.raises(RetrieverError, match=f"has only 1 span of a retriever .*{reason}"):
            told(unanswered)


PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
WORDS = st.sampled_from(["query", "documents", "document", "metadata", "id", "content", "page", "9" * 5000])
INNER = st.recursive(PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3))


@given(st.lists(st.tuples(INNER, INNER, st.integers()), max_size=3))
def test_whatever_a_span_has_it_is_read_or_refused(spans):
    try:
        read = told(*(span({"query": asked}, answer, end_time_unix_nano=end) for asked, answer, end in spans))
    except RetrieverError:
        return
    for answer in read.answers.values():
        assert answer.ms is None or 0 <= answer.ms <= 24 * 60 * 60 * 1000
        assert all(isinstance(hit, Result) for hit in answer.read.results)


ASKED = [query for query, _, _ in small.QUERIES[:4]]
PAGES = [("fever.pdf", 1), ("fever.pdf", 2), ("anaemia.pdf", 2), ("anaemia.pdf", 1), ("anaemia.pdf", 3)]


def ranking(query):
    """Three pages, another order for each query."""
    start = ASKED.index(query) if query in ASKED else 0
    return [PAGES[(start // 2 + at) % len(PAGES)] for at in range(3)]


def test_the_numbers_of_traces_are_those_of_the_same_ranking(application, dataset, tmp_path):
    """Of a production in which one of five judged questions was not asked, and one that is not judged was."""
    asked = []
    for query in [*ASKED, "What is not judged?"]:
        pages = [(small.PAGES[source][page - 1], {"doc_uri": source, "page": page}) for source, page in ranking(query)]
        asked.append((query.upper(), [{"page_content": text, "metadata": metadata} for text, metadata in pages]))
    settings = record(application.uri, asked)
    traced = ["retriever=traces", "k=2", *(f"retriever.{name}={value}" for name, value in settings.items())]
    process = succeeded(application.script_here("run", *application.arguments(*dataset, *traced)))
    assert "1 question of 5 never asked" in process.stderr
    typed = dict(word.rstrip(".").split("=") for word in process.stderr.split() if word.count("=") == 1)
    assert Path(typed["dataset.ids"]).read_text().split() == ["1", "2", "3", "4"]
    assert "not judged" in Path(typed["questions.path"]).read_text().lower()
    [run] = application.runs()
    folder = application.artifacts(run) / "results"
    assert len((folder / "asked.txt").read_text().split()) == len(ASKED)
    [to_judge] = map(json.loads, (folder / "to_judge.jsonl").read_text().splitlines())
    assert to_judge["query"] == "WHAT IS NOT JUDGED?"
    assert run.data.metrics["latency/mean_ms"] > 0
    assert json.loads((folder / "evaluation.json").read_text())["dataset"]["left_out"] == 1

    same = {query: [{"source": source, "page": str(page)} for source, page in ranking(query)] for query in ASKED}
    lines = [json.dumps({"query": query, "results": pages}) for query, pages in same.items()]
    (tmp_path / "same.jsonl").write_text("\n".join(lines))
    returned = ["retriever=returned", f"retriever.path={tmp_path}/same.jsonl", "k=2"]
    returned.append(f"dataset.ids={folder / 'asked.txt'}")
    succeeded(application.script_here("run", *application.arguments(*dataset, *returned)))
    [same] = [other for other in application.runs() if other.info.run_id != run.info.run_id]
    names = ("ndcg", "recall", "mrr", "precision", "map")
    assert [run.data.metrics[name] for name in names] == [same.data.metrics[name] for name in names]
    assert 0 < run.data.metrics["ndcg"] < 1
