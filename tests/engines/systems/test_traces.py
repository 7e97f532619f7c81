"""What a retriever in production has answered, read from spans as SDKs, collectors and exports write them."""

import gzip
import io
import json
from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd
import pytest
from google.protobuf.json_format import MessageToDict
from hypothesis import example, given
from hypothesis import strategies as st
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans
from opentelemetry.sdk.trace import SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from ragsweep.core.errors import ConfigError, RefusedError, RetrieverError
from ragsweep.retrieval.results import Result
from ragsweep.testing import SystemContract
from ragsweep_engines.systems import TracesRetriever, traced_answers
from ragsweep_engines.systems.reading import Fields
from ragsweep_engines.systems.trace_spans import spans_in

QUESTION = "What clears worms?"
FOUND = (
    Result(("d7",), "m.pdf", "3", "Albendazole clears worms.", 0.5),
    Result((), "m.pdf", "2", "Worms take blood."),
)
FIELDS = [
    {"id": "d7", "content": "Albendazole clears worms.", "score": 0.5, "metadata": {"source": "m.pdf", "page": 3}},
    {"content": "Worms take blood.", "metadata": {"source": "m.pdf", "page": 2}},
]


def open_inference(question=QUESTION, documents=FIELDS):
    """The attributes of a span by OpenInference."""
    named = {"openinference.span.kind": "RETRIEVER", "input.value": question}
    for at, document in enumerate(documents):
        for name, value in document.items():
            plain = json.dumps(value) if name == "metadata" else value
            named[f"retrieval.documents.{at}.document.{name}"] = plain
    return named


def by_gen_ai(documents):
    return {
        "gen_ai.operation.name": "retrieval",
        "gen_ai.retrieval.query.text": QUESTION,
        **({} if documents is None else {"gen_ai.retrieval.documents": documents}),
    }


class Traces:
    """The SDK of OpenTelemetry, whose spans are kept, and printed by its own exporter."""

    def __init__(self, most_attributes=None):
        self.printed, self.exporter = io.StringIO(), InMemorySpanExporter()
        provider = TracerProvider(span_limits=SpanLimits(max_attributes=most_attributes))
        for exporter in (self.exporter, ConsoleSpanExporter(out=self.printed)):
            provider.add_span_processor(SimpleSpanProcessor(exporter))
        self.tracer = provider.get_tracer("tests")

    def span(self, attributes, name="search", **more):
        self.tracer.start_span(name, attributes=attributes, **more).end()
        return self

    def otlp(self):
        """A line for each span, as a collector writes it to a file."""
        return "".join(json.dumps(as_otlp(span)) + "\n" for span in self.exporter.get_finished_spans())


def as_otlp(span):
    """A span of the SDK in the messages of OTLP, as JSON with ids in hexadecimal digits."""
    message = ResourceSpans()
    own = message.scope_spans.add().spans.add(name=span.name)
    own.start_time_unix_nano, own.end_time_unix_nano = span.start_time, span.end_time
    own.dropped_attributes_count = span.dropped_attributes
    own.status.code = span.status.status_code.value
    fill(own.attributes, span.attributes)
    for event in span.events:
        fill(own.events.add(name=event.name).attributes, event.attributes)
    plain = MessageToDict(message)
    [plain_span] = plain["scopeSpans"][0]["spans"]
    plain_span |= {"traceId": f"{span.context.trace_id:032x}", "spanId": f"{span.context.span_id:016x}"}
    if span.parent:
        plain_span["parentSpanId"] = f"{span.parent.span_id:016x}"
    if "code" in plain_span["status"]:
        plain_span["status"]["code"] = own.status.code
    return {"resourceSpans": [plain]}


def fill(entries, attributes):
    for key, value in attributes.items():
        set_value(entries.add(key=key).value, value)


def set_value(message, value):
    if isinstance(value, dict):
        fill(message.kvlist_value.values, value)
    elif isinstance(value, list | tuple):
        for each in value:
            set_value(message.array_value.values.add(), each)
    else:
        kind = {str: "string_value", bool: "bool_value", int: "int_value", float: "double_value"}[type(value)]
        setattr(message, kind, value)


def read(tmp_path, content, queries=(QUESTION,), name="traces.jsonl", **settings):
    (tmp_path / name).write_text(content)
    return TracesRetriever(path=str(tmp_path / name), **settings).answers([*queries], 9)


class TestTraces(SystemContract):
    component = TracesRetriever

    @pytest.fixture(autouse=True)
    def file(self, tmp_path):
        traces = Traces()
        for query in self.queries:
            traces.span(open_inference(query))
        (tmp_path / "traces.jsonl").write_text(traces.otlp())
        type(self).settings = {"path": str(tmp_path / "traces.jsonl")}


# What each writer calls the same question and its two answers.
DATES = {"start_time": "2026-01-01T00:00:00+00:00", "end_time": "2026-01-01T00:00:00.250000+00:00"}


def phoenix(orient):
    """A span as pandas writes a table of one, in one of its orients."""
    row = {
        **{"span_kind": "RETRIEVER", "context.trace_id": "1", "context.span_id": "2", "name": "retrieve", **DATES},
        "attributes.input.value": QUESTION,
        "attributes.retrieval.documents": [{f"document.{name}": one for name, one in each.items()} for each in FIELDS],
    }
    return pd.DataFrame([row], index=["2"]).to_json(orient=orient)


WRITERS: dict[str, Callable[[], str]] = {
    "OTLP": lambda: Traces().span(open_inference()).otlp(),
    "console": lambda: str(Traces().span(open_inference()).printed.getvalue()),
    "GenAI as structures": lambda: Traces().span(by_gen_ai(None)).otlp().replace(
        '"key": "gen_ai.retrieval.query.text"',
        f'"key": "gen_ai.retrieval.documents", "value": {json.dumps(any_value(FIELDS))}}},'
        '{"key": "gen_ai.retrieval.query.text"',
    ),
    "GenAI as JSON": lambda: Traces().span(by_gen_ai(json.dumps(FIELDS))).otlp(),
    "Phoenix, nested": lambda: json.dumps([{
        "span_kind": "RETRIEVER", "context": {"trace_id": "1", "span_id": "2"}, "name": "retrieve", **DATES,
        "attributes": {
            "input": {"value": QUESTION}, "retrieval": {"documents": [{"document": each} for each in FIELDS]},
        },
    }]),
    **{f"Phoenix, {orient}": partial(phoenix, orient) for orient in ("records", "columns", "index", "table")},
    "Langfuse": lambda: json.dumps({"data": [{"id": "1", "observations": [{
        "id": "2", "traceId": "1", "type": "RETRIEVER", "name": "search", "level": "DEFAULT",
        "startTime": "2026-01-01T00:00:00Z", "endTime": "2026-01-01T00:00:00.250Z",
        "input": {"query": QUESTION, "k": 2}, "output": FIELDS,
    }]}]}),
}  # fmt: skip


def any_value(value):
    message = ResourceSpans().scope_spans.add().spans.add().attributes.add(key="x").value
    set_value(message, value)
    return MessageToDict(message)


@pytest.mark.parametrize("writer", WRITERS)
def test_the_spans_of_every_writer_say_the_same(tmp_path, writer):
    answers = read(tmp_path, WRITERS[writer]())
    assert [*answers.results] == [FOUND]
    [ms] = answers.latency_ms.tolist()
    assert ms == pytest.approx(250) if writer.startswith(("Phoenix", "Langfuse")) else 0 < ms < 1000


def test_documents_in_an_event_of_the_span_are_read(tmp_path):
    traces = Traces()
    span = traces.tracer.start_span("search", attributes=by_gen_ai(None))
    span.add_event("found", {"gen_ai.retrieval.documents": json.dumps(FIELDS)})
    span.end()
    assert [*read(tmp_path, traces.otlp()).results] == [FOUND]


def test_a_question_is_the_same_in_another_case_and_with_other_white_space_but_not_in_other_words(tmp_path):
    text = Traces().span(open_inference("what  clears\nWORMS? ")).otlp()
    answers = read(tmp_path, text, [QUESTION, "What clears the worms?"])
    assert [*answers.results] == [FOUND, None]


def test_what_was_never_asked_is_none_and_what_got_nothing_is_empty(tmp_path):
    nothing = {"openinference.span.kind": "RETRIEVER", "input.value": QUESTION, "output.value": "[]"}
    answers = read(tmp_path, Traces().span(nothing).otlp(), [QUESTION, "Never?"])
    assert [*answers.results] == [(), None]


def test_of_a_question_that_was_asked_again_the_latest_answer_counts_wherever_it_stands(tmp_path):
    other = [{"id": "d9", "content": "Old."}]
    traces = Traces().span(open_inference(), start_time=20 * 10**18 // 10)
    traces.span(open_inference(documents=other), start_time=15 * 10**17)
    answers = read(tmp_path, traces.otlp())
    assert [*answers.results] == [FOUND]
    assert sum("1 question asked several times" in each for each in answers.notices) == 1


def test_a_span_that_is_in_two_files_counts_once(tmp_path):
    text = Traces().span(open_inference()).otlp()
    for name in "ab":
        (tmp_path / f"{name}.jsonl").write_text(text)
    answers = TracesRetriever(path=str(tmp_path)).answers([QUESTION], 9)
    assert [*answers.results] == [FOUND]
    assert not [each for each in answers.notices if "several times" in each]


def test_spans_that_lost_attributes_are_counted(tmp_path):
    text = Traces().span(open_inference()).otlp()
    assert not [each for each in read(tmp_path, text).notices if "lost" in each]
    named = dict(reversed(open_inference().items()))  # the SDK drops the first ones
    text += Traces(len(named) - 1).span(named).span({**named, "input.value": "Else?"}).otlp()
    [said] = [each for each in read(tmp_path, text + text).notices if "lost" in each]
    assert said.startswith("2 spans")


def test_questions_besides_those_of_the_dataset_are_kept_as_they_were_asked(tmp_path):
    traces = Traces().span(open_inference()).span(open_inference("Who  is it?")).span(open_inference("who is it?"))
    assert read(tmp_path, traces.otlp()).others == ["who is it?"]


def within(traces, outer, inner, name="inner"):
    start = traces.tracer.start_as_current_span
    with start("outer", attributes=outer), start("chain"):
        traces.span(inner, name)
    return traces


def test_a_retriever_that_asks_others_has_answered_and_not_they(tmp_path):
    text = within(Traces(), open_inference(), open_inference(documents=FIELDS[1:])).otlp()
    assert [*read(tmp_path, text).results] == [FOUND]
    assert not [each for each in read(tmp_path, text).notices if "several times" in each]
    assert [*read(tmp_path, text, span_name="inner").results] == [FOUND[1:]]
    with pytest.raises(RetrieverError, match=r"none of its 3 spans is named 'x' \(spans of retrievers are 'inner'"):
        read(tmp_path, text, span_name="x")


def test_spans_that_are_around_each_other_are_read_to_an_end(tmp_path):
    text = Traces().span(open_inference()).otlp()
    [line] = text.splitlines()
    own = json.loads(line)["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
    chain = [
        {"attributes": [], "traceId": own["traceId"], "spanId": one, "parentSpanId": other}
        for one, other in ("ab", "ba")
    ]
    for parent in ("a", own["spanId"]):
        own["parentSpanId"] = parent
        assert [*read(tmp_path, json.dumps([*chain, own]), name=f"{parent}.json").results] == [FOUND]


def test_spans_of_several_retrievers_are_named(tmp_path):
    traces = Traces().span(open_inference(), "vectors").span(open_inference("Else?"), "words")
    [said] = [each for each in read(tmp_path, traces.otlp()).notices if "retriever.span_name" in each]
    assert "'vectors (1)', 'words (1)'" in said


@pytest.mark.parametrize(
    ("attributes", "status", "said"),
    [
        (open_inference(), StatusCode.ERROR, "ended in an error"),
        ({"openinference.span.kind": "RETRIEVER", "input.value": QUESTION}, None, "does not say what came back"),
        ({"openinference.span.kind": "RETRIEVER", "output.value": "[]"}, None, "does not say what was asked"),
        (
            {"openinference.span.kind": "RETRIEVER", "input.value": QUESTION, "output.value": "three documents"},
            None,
            "returned a text, expected a list of results",
        ),
    ],
)
def test_a_span_without_an_answer_is_counted_with_its_reason_and_is_no_empty_answer(tmp_path, attributes, status, said):
    traces = Traces().span(open_inference("Else?"))
    span = traces.tracer.start_span("search", attributes=attributes)
    if status:
        span.set_status(status)
    span.end()
    answers = read(tmp_path, traces.otlp())
    assert [*answers.results] == [None]
    assert [each for each in answers.notices if each.startswith("1 span of a retriever") and said in each]
    alone = traces.otlp().splitlines()[1]
    with pytest.raises(RetrieverError, match=f"has only 1 span of a retriever .*{said}"):
        read(tmp_path, alone, name="alone.jsonl")


@pytest.mark.parametrize(
    ("asked", "settings"),
    [
        ({"query": QUESTION, "k": 3}, {}),
        ({"query_bundle": {"query_str": QUESTION, "embedding": None}}, {}),
        ({"user_words": QUESTION, "k": 3}, {}),
        ([QUESTION], {}),
        ({"user": "me", "words": [{"is": QUESTION}]}, {"question": "words[0].is"}),
    ],
)
def test_the_question_is_found_in_the_input_of_a_span(tmp_path, asked, settings):
    named = {**open_inference(), "input.value": json.dumps(asked)}
    assert [*read(tmp_path, Traces().span(named).otlp(), **settings).results] == [FOUND]


def test_fields_of_results_are_set(tmp_path):
    named = [{"content": "x", "metadata": {"origin": "m.pdf", "sheet": 3, "number": "7", "short": "y", "fits": 0.25}}]
    text = Traces().span(open_inference(documents=named)).otlp()
    paths = {"id": "number", "source": "origin", "page": "sheet", "text": "short", "score": "fits"}
    answers = read(tmp_path, text, **{name: f"metadata.{path}" for name, path in paths.items()})
    assert [*answers.results] == [(Result(("7",), "m.pdf", "3", "y", 0.25),)]
    assert [*read(tmp_path, text).results] == [(Result(text="x"),)]


def test_a_folder_is_read_file_by_file_and_a_packed_one_is_unzipped(tmp_path):
    (tmp_path / "a.jsonl").write_text(Traces().span(open_inference()).otlp())
    (tmp_path / "b.json.gz").write_bytes(gzip.compress(Traces().span(open_inference("Else?")).otlp().encode()))
    (tmp_path / "notes.txt").write_text("no traces")
    answers = TracesRetriever(path=str(tmp_path)).answers([QUESTION, "Else?", "Never?"], 9)
    assert [*answers.results] == [FOUND, FOUND, None]


def test_at_most_as_many_results_as_asked_for(tmp_path):
    (tmp_path / "a.jsonl").write_text(Traces().span(open_inference()).otlp())
    assert [*TracesRetriever(path=str(tmp_path)).answers([QUESTION], 1).results] == [FOUND[:1]]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"resourceSpans": [', r"line 3: not JSON \("),
        ("<html>", r"line 2: not JSON \("),
        ("[" * 60 + "]" * 60, "line 2: nested more than 50 deep"),
        ('{"a": 1, "a": 2}', "line 2: an object has the field 'a' twice"),
        ('{"spans": [{"attributes": [{"value": {}}]}]}', "line 2: a span has attributes without key and value"),
        ('{"spans": [{"attributes": "x"}]}', "line 2: a span has str for attributes"),
    ],
)
def test_a_malformed_line_is_named(tmp_path, line, said):
    with pytest.raises(RetrieverError, match=f"traces.jsonl, {said}"):
        read(tmp_path, Traces().span(open_inference()).otlp() + line + "\n")


WORDS = st.sampled_from(
    [
        *("resourceSpans", "scopeSpans", "spans", "attributes", "events", "status", "code", "context", "type", "input"),
        *("output", "key", "value", "values", "stringValue", "arrayValue", "kvlistValue", "startTimeUnixNano", "name"),
        *("endTimeUnixNano", "spanId", "parentSpanId", "traceId", "openinference.span.kind", "input.value", "metadata"),
        *("retrieval.documents", "retrieval.documents.0.document.id", "retrieval.documents.x", "mlflow.spanType", "0"),
        *("gen_ai.retrieval.documents", "attributes.input.value", "document", "id", "content", "query", "9" * 5000),
    ]
)
VALUES = st.one_of(
    *(st.none(), st.booleans(), st.integers(), st.floats(), WORDS),
    st.sampled_from(["RETRIEVER", '"RETRIEVER"', "{}", "[{", '[{"id": 1}]', "2026-01-01", "1" * 400, ""]),
)


INNER = st.recursive(VALUES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3))
NAMED = st.dictionaries(WORDS, INNER, max_size=6).map(lambda each: {"openinference.span.kind": "RETRIEVER", **each})
LISTED = st.lists(st.fixed_dictionaries({"key": WORDS | VALUES, "value": INNER}), max_size=3)
MORE = ("events", "spanId", "parentSpanId", "startTimeUnixNano", "endTimeUnixNano", "status", "type", "input", "output")


def test_half_a_character_is_replaced_in_questions_and_answers(tmp_path):
    documents = [{"content": "Worms\ud800 take blood."}]
    span = {"attributes": open_inference("Worms\ud83d?", documents)}
    (tmp_path / "traces.json").write_text(json.dumps(span))
    retriever = TracesRetriever(path=str(tmp_path / "traces.json"))
    answers = retriever.answers(["Else?"], 9)
    assert [*answers.others] == ["Worms\ufffd?"]
    assert [*retriever.answers(answers.others, 9).results] == [(Result(text="Worms\ufffd take blood."),)]
    assert retriever.fingerprint


@given(
    st.lists(
        st.fixed_dictionaries({"attributes": NAMED | LISTED}, optional=dict.fromkeys(MORE, INNER)) | INNER, max_size=3
    )
)
@example({"spans": [{"attributes": {"openinference.span.kind": "RETRIEVER", "input.value": "x", "output.value": "[1]"},
                     "startTimeUnixNano": "1" * 400, "endTimeUnixNano": "1" * 400}]})  # fmt: skip
def test_whatever_a_file_has_it_is_read_or_refused(value):
    try:
        found = traced_answers.traced(spans_in(value), Fields(), None, None, "x")
    except RetrieverError:
        return
    for each in found.answers.values():
        assert each.ms is None or 0 <= each.ms <= 24 * 60 * 60 * 1000
        assert all(isinstance(result, Result) for result in each.results)


def test_where_there_is_nothing_to_read_it_is_said(tmp_path):
    with pytest.raises(RetrieverError, match=r"retriever\.path: .*nosuch\.jsonl cannot be read"):
        TracesRetriever(path=str(tmp_path / "nosuch.jsonl")).check()
    with pytest.raises(RetrieverError, match="has no file of traces"):
        TracesRetriever(path=str(tmp_path)).check()
    with pytest.raises(RetrieverError, match="none of its 1 span is that of a retriever"):
        read(tmp_path, Traces().span({"openinference.span.kind": "LLM"}).otlp())
    for text in ("[]", '{"run_type": "retriever", "inputs": {"query": "q"}}'):  # a run of LangSmith
        with pytest.raises(RetrieverError, match="has no span of OpenTelemetry, MLflow, Phoenix or Langfuse"):
            read(tmp_path, text)
    for settings in ({}, {"path": "x", "experiment": "y"}):
        with pytest.raises(ConfigError, match=r"either path, .* or experiment"):
            TracesRetriever(**settings)


def test_an_experiment_needs_a_store_whose_address_has_no_password():
    with pytest.raises(ConfigError, match=r"retriever\.uri: expected the address"):
        TracesRetriever(experiment="app")
    with pytest.raises(RefusedError, match=r"^retriever\.uri: ") as error:
        TracesRetriever(experiment="app", uri="postgresql://me:hidden-one@host/mlflow")
    assert "hidden-one" not in str(error.value)


def test_what_matching_says_is_set():
    assert TracesRetriever(path="x", first_page=0, fuzzy_threshold=0.5).matching == (0, 0.5)


def test_more_spans_than_can_be_held_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(traced_answers, "MOST_SPANS", 2)
    with pytest.raises(RetrieverError, match="more than 2 spans"):
        read(tmp_path, Traces().span(open_inference()).otlp() * 3)


def test_other_answers_have_another_fingerprint_and_other_times_have_not(tmp_path):
    texts = {
        "a": Traces().span(open_inference()).otlp(),
        "b": Traces().span(open_inference(), start_time=10**18).otlp(),
        "c": Traces().span(open_inference(documents=FIELDS[:1])).otlp(),
    }
    found = {}
    for name, text in texts.items():
        (tmp_path / f"{name}.jsonl").write_text(text)
        found[name] = TracesRetriever(path=str(tmp_path / f"{name}.jsonl")).fingerprint
    assert found["a"] == found["b"] != found["c"]


def test_latency_is_that_of_the_spans_that_tell_it(tmp_path):
    traces = Traces()
    for question, ms in (("One?", 12), ("Two?", 40)):
        traces.tracer.start_span("search", attributes=open_inference(question), start_time=10**18).end(
            10**18 + ms * 10**6
        )
    assert read(tmp_path, traces.otlp(), ["Two?", "One?"]).latency_ms == pytest.approx(np.array([40, 12]))


@pytest.mark.parametrize(
    ("start", "end", "ms"),
    [
        ("1767225600000000000", "1767225600250000000", [250]),
        (1767225600, 1767225600.25, [250]),
        ("0", "1767225600250000000", []),  # OTLP's word for a time that is not set
        ("0", "0", []),
        ("1000", "2000", []),  # nanoseconds of a clock that began with the process
        ("1970-01-01T00:00:00Z", "2026-01-01T00:00:00Z", []),
        ("2026-01-01T00:00:01Z", "2026-01-01T00:00:00Z", []),
        ("2026-01-01T00:00:00Z", "2026-01-02T00:00:01Z", []),
    ],
)
def test_a_time_that_is_none_gives_no_latency(tmp_path, start, end, ms):
    span = {"attributes": open_inference(), "startTimeUnixNano": start, "endTimeUnixNano": end}
    answers = read(tmp_path, json.dumps(span))
    assert ([*answers.results], answers.latency_ms.tolist()) == ([FOUND], pytest.approx(ms))
