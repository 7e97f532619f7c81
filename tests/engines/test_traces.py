"""What a retriever in production has answered, read from spans as MLflow writes them."""

import json
import shutil

import mlflow
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragsweep.core.errors import RefusedError, RetrieverError, TrackingError
from ragsweep.retrieval.results import Result
from ragsweep.testing import SystemContract
from ragsweep_engines.reading import Fields
from ragsweep_engines.traces_retriever import TracesRetriever, same_question, traced

QUESTION = "What clears worms?"
START = 15 * 10**17  # nanoseconds
FOUND = (
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
    named = {name: json.dumps(each) for name, each in attributes.items() if each is not None}
    own = {"trace_id": "t", "span_id": "s", "parent_span_id": None, "name": "search", "attributes": named}
    times = {"start_time_unix_nano": START, "end_time_unix_nano": START + 250 * 10**6}
    return {**own, **times, "status": {"code": "STATUS_CODE_OK"}, **changed}


def around(name, own, parent, **changed):
    return span(**changed) | {"name": name, "span_id": own, "parent_span_id": parent}


CHAIN = {"attributes": {"mlflow.spanType": '"CHAIN"'}}


def told(*spans, name=None, question=None, **fields):
    """What some spans tell."""
    return traced(spans, Fields(**fields), question, name, "it")


def results(found, question=QUESTION):
    answer = found.answers.get(same_question(question))
    return None if answer is None else answer.read.results


@pytest.fixture
def experiment(empty_database, tmp_path, processes):
    """Records these questions, each with its results, in a store of MLflow, which runs git; returns what reads it."""
    uri = f"sqlite:///{tmp_path}/mlflow.db"
    shutil.copy(empty_database, tmp_path / "mlflow.db")

    def record(asked):
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

    return record


class TestTraces(SystemContract):
    component = TracesRetriever

    @pytest.fixture(autouse=True)
    def recorded(self, experiment):
        type(self).settings = experiment([(query, FIELDS) for query in self.queries])


def test_what_mlflow_has_recorded_is_read(experiment):
    settings = experiment([(QUESTION, FIELDS), ("Who  is it?", []), ("who is it?", [])])
    answers = TracesRetriever(**settings).answers(["what  clears\nWORMS? ", "What clears the worms?", "Who is it?"], 9)
    assert [*answers.results] == [FOUND, None, ()]
    assert np.isnan(answers.latency_ms).tolist() == [False, True, False]
    assert TracesRetriever(**settings).answers([QUESTION], 1).results == [FOUND[:1]]
    assert TracesRetriever(**settings).answers([QUESTION], 1).others == ["who is it?"]
    with pytest.raises(TrackingError, match=r"has no experiment 'nothing' \(there is "):
        TracesRetriever(**settings | {"experiment": "nothing"}).check()


def test_of_a_question_that_was_asked_again_the_latest_answer_counts_wherever_it_stands():
    later, other = span(start_time_unix_nano=2 * START), span(documents=[{"id": "d9", "content": "Old."}])
    found = told(later, other)
    assert results(found) == FOUND
    assert [each.times for each in found.answers.values()] == [2]


def test_a_retriever_that_asks_others_has_answered_and_not_they():
    spans = [
        around("outer", "1", None),
        around("chain", "2", "1") | CHAIN,
        around("inner", "3", "2", documents=FIELDS[1:]),
    ]
    assert results(told(*spans)) == FOUND
    assert results(told(*spans, name="inner")) == FOUND[1:]
    with pytest.raises(RetrieverError, match=r"3 spans is named 'x' \(spans of retrievers are 'outer', 'inner'"):
        told(*spans, name="x")


@pytest.mark.parametrize("parent", ["a", "s"])
def test_spans_that_are_around_each_other_are_read_to_an_end(parent):
    chain = [around("chain", one, other) | CHAIN for one, other in ("ab", "ba")]
    assert results(told(*chain, span(parent_span_id=parent))) == FOUND


@pytest.mark.parametrize(
    ("one", "said"),
    [
        (span(status={"code": "STATUS_CODE_ERROR"}), "ended in an error"),
        (span(documents=None), "does not say what came back"),
        (span({}), "does not say what was asked"),
        (span(documents="three documents"), "returned str, expected a list of results"),
    ],
)
def test_a_span_without_an_answer_is_counted_with_its_reason_and_is_no_empty_answer(one, said):
    found = told(span("Else?"), one)
    assert results(found) is None
    assert [each for each in found.notices if each.startswith("1 span of a retriever") and said in each]
    with pytest.raises(RetrieverError, match=f"has only 1 span of a retriever .*{said}"):
        told(one)


PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
WORDS = st.sampled_from(["query", "documents", "document", "metadata", "id", "content", "page", "9" * 5000])
INNER = st.recursive(PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3))


@given(st.lists(st.tuples(INNER, INNER, st.integers()), max_size=3))
def test_whatever_a_span_has_it_is_read_or_refused(spans):
    try:
        found = told(*(span({"query": asked}, answer, end_time_unix_nano=end) for asked, answer, end in spans))
    except RetrieverError:
        return
    for each in found.answers.values():
        assert each.ms is None or 0 <= each.ms <= 24 * 60 * 60 * 1000
        assert all(isinstance(result, Result) for result in each.read.results)


def test_a_store_whose_address_has_a_password_is_refused():
    with pytest.raises(RefusedError, match=r"^retriever\.uri: ") as error:
        TracesRetriever(experiment="app", uri="postgresql://me:hidden-one@host/mlflow")
    assert "hidden-one" not in str(error.value)


@pytest.mark.parametrize(
    ("start", "end", "ms"),
    [
        (START, START + 12 * 10**6, 12),
        (0, START, None),  # a time that is not set
        (START, START - 1, None),
        (START, START + 86_401 * 10**9, None),
    ],
)
def test_latency_is_that_of_a_span_that_tells_it(start, end, ms):
    [answer] = told(span(start_time_unix_nano=start, end_time_unix_nano=end)).answers.values()
    assert answer.ms == ms
