"""Reads spans of traces, whoever wrote them: OpenInference, the GenAI conventions, MLflow, Phoenix, Langfuse.

An attribute may be an entry of a list (OTLP), a field, a name that goes on (`retrieval.documents.0.document.id`), or
stand in an event of the span. All of these become one tree of names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, NamedTuple

from ragsweep.core.errors import RetrieverError
from ragsweep.core.parsing import MalformedError, from_json

CONTAINERS = (  # fields in which spans stand
    *("resourceSpans", "resource_spans", "scopeSpans", "scope_spans", "instrumentationLibrarySpans"),
    *("spans", "data", "traces", "observations"),
)
COLUMN = "attributes."  # begins the names of attributes in tables of spans, as Phoenix exports them
MOST_PARTS = 12  # of a name with dots
RETRIEVES = ("retriever", "retrieval")  # kinds of spans
KINDS = ("openinference.span.kind", "mlflow.spanType", "langfuse.observation.type", "gen_ai.operation.name")
QUERIES = (
    *("gen_ai.retrieval.query.text", "gen_ai.retrieval.query", "retrieval.query"),
    *("input.value", "mlflow.spanInputs", "langfuse.observation.input"),
)
ANSWERS = (
    *("gen_ai.retrieval.documents", "retrieval.documents"),
    *("output.value", "mlflow.spanOutputs", "langfuse.observation.output"),
)
LATEST = 1e19  # nanoseconds, in the year 2286
TIME_UNITS = ((1e17, 1), (1e14, 1e3), (1e11, 1e6), (1e8, 1e9))  # of a number from this one: nanoseconds in its unit
LONGEST_MS = 24 * 60 * 60 * 1000  # of a span: one that seems to take longer has a time that is none


class Span(NamedTuple):
    """A span.

    Attributes:
        trace: Of which it is; with `id` it names the span.
        id: Its id.
        parent: The id of the span around it; empty if there is none.
        name: Its name.
        retrieves: Whether it is that of a retriever.
        failed: Whether it ended in an error.
        lost: Whether the SDK has dropped attributes, of which a span may have a limited number.
        start: When it began, in nanoseconds; None if it does not say.
        ms: How long it took, in milliseconds; None if it does not say.
        query: What was asked; None if it does not say.
        answer: What came back; None if it does not say.
    """

    trace: str
    id: str
    parent: str
    name: str
    retrieves: bool
    failed: bool
    lost: bool
    start: float | None
    ms: float | None
    query: object
    answer: object


def spans_in(value: object) -> Iterator[Span]:
    """The spans in a value of JSON. Raises `RetrieverError` for one whose attributes cannot be read."""
    if isinstance(value, list):
        for each in value:
            yield from spans_in(each)
    elif isinstance(value, Mapping):
        if rows := _rows(value):
            yield from spans_in(rows)
            return
        if _is_span(value):
            yield _span(value)
        for name in CONTAINERS:
            if isinstance(inner := value.get(name), list | Mapping):
                yield from spans_in(inner)


def _rows(value: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The rows of a table of spans, as pandas writes one by column or by row; none of anything else."""
    parts = [*value.values()]
    if not parts or not all(isinstance(each, Mapping) for each in parts):
        return []
    if any(name.startswith(COLUMN) for name in value):
        return [{name: column.get(row) for name, column in value.items()} for row in parts[0]]
    return parts if all(map(_is_span, parts)) else []


def _is_span(value: Mapping[str, Any]) -> bool:
    of_langfuse = "type" in value and not value.keys().isdisjoint(("input", "output"))
    named = not value.keys().isdisjoint(("attributes", "spanId", "span_id"))
    return named or of_langfuse or any(name.startswith(COLUMN) for name in value)


def _span(value: Mapping[str, Any]) -> Span:
    context = value.get("context")
    ids = {**value, **context} if isinstance(context, Mapping) else value
    attributes = _attributes(value)
    kinds = [*(_at(attributes, name) for name in KINDS), value.get("span_kind"), value.get("type")]
    start, end = (
        _nanoseconds(_first(value, f"{edge}TimeUnixNano", f"{edge}_time_unix_nano", f"{edge}_time", f"{edge}Time"))
        for edge in ("start", "end")
    )
    ms = (end - start) / 1e6 if start is not None and end is not None else -1
    answer = next((found for name in ANSWERS if (found := _at(attributes, name)) is not None), None)
    query = next((found for name in QUERIES if (found := _at(attributes, name)) is not None), None)
    return Span(
        str(_first(ids, "traceId", "trace_id", "context.trace_id") or ""),
        str(_first(ids, "spanId", "span_id", "context.span_id", "id") or ""),
        str(_first(value, "parentSpanId", "parent_span_id", "parent_id", "parentObservationId") or ""),
        str(value.get("name") or ""),
        any(str(each).lower() in RETRIEVES for each in kinds),
        _failed(value) or _at(attributes, "error.type") is not None,
        str(_first(value, "droppedAttributesCount", "dropped_attributes_count")).strip("0").isdecimal(),
        start,
        ms if 0 <= ms <= LONGEST_MS else None,
        _decoded(_first(value, "input") if query is None else query),
        _documents(_decoded(_first(value, "output") if answer is None else answer)),
    )


def _first(value: Mapping[str, Any], *names: str) -> Any:
    return next((value[name] for name in names if value.get(name) not in (None, "")), None)


def _attributes(span: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes of a span and of its events, as a tree."""
    events = span.get("events")
    named: dict[str, Any] = {}
    for each in [*(events if isinstance(events, list) else ()), span]:
        own = each.get("attributes") if isinstance(each, Mapping) else None
        if isinstance(own, list):
            try:
                own = {str(entry["key"]): _plain(entry.get("value")) for entry in own}
            except (TypeError, KeyError, AttributeError):
                raise RetrieverError("a span has attributes without key and value") from None
        if not isinstance(own, Mapping | None):
            raise RetrieverError(f"a span has {type(own).__name__} for attributes, expected fields or a list")
        named |= own or {}
    named |= {name.removeprefix(COLUMN): each for name, each in span.items() if name.startswith(COLUMN)}
    if any(name.startswith("mlflow.") for name in named):  # it writes every value as JSON
        named = {name: _decoded(each) for name, each in named.items()}
    return _tree(named)


def _plain(value: object) -> object:
    """A value of OTLP, such as `{"stringValue": "x"}`, without its type."""
    if not isinstance(value, Mapping) or len(value) != 1:
        return value
    [(kind, held)] = value.items()
    several = held.get("values") or [] if isinstance(held, Mapping) else []
    if kind in ("arrayValue", "array_value"):
        return [_plain(each) for each in several]
    if kind in ("kvlistValue", "kvlist_value"):
        return {str(each["key"]): _plain(each.get("value")) for each in several}
    return held


def _tree(named: Mapping[str, Any]) -> dict[str, Any]:
    """Values by names with dots as fields within fields; those whose names are numbers become a list."""
    tree: dict[str, Any] = {}
    for name in sorted(named):
        *groups, last = name.split(".", MOST_PARTS)
        node: Any = tree
        for group in groups:
            if isinstance(node.get(group), list):  # such as `retrieval.documents` beside `retrieval.documents.count`
                break
            if not isinstance(node.get(group), dict):
                node[group] = {}
            node = node[group]
        else:
            node[last] = named[name]
    return tree


def _at(tree: Mapping[str, Any], name: str) -> Any:
    """The value of an attribute; None if there is none."""
    node: Any = tree
    for part in name.split("."):
        node = node.get(part) if isinstance(node, Mapping) else None
    return node if node != "" else None


def _decoded(value: object) -> object:
    """The value of a text that is JSON; any other as it is."""
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{", '"'):
        with suppress(MalformedError):
            return from_json(value, allow_nan=True)
    return value


def _documents(answer: object) -> object:
    """What came back, with the documents of OpenInference as a list of their fields."""
    if isinstance(answer, Mapping) and any(name.isdecimal() for name in answer):
        answer = [answer[name] for name in sorted(filter(str.isdecimal, answer), key=lambda name: (len(name), name))]
    return [_document(each) for each in answer] if isinstance(answer, list) else answer


def _document(found: object) -> object:
    decoded = _decoded(found)
    if not isinstance(decoded, Mapping):
        return found
    tree = _tree(decoded)
    inner = tree.get("document")
    fields = inner if isinstance(inner, dict) else tree
    return {name: _decoded(each) if name == "metadata" else each for name, each in fields.items()}


def _failed(span: Mapping[str, Any]) -> bool:
    """Whether a span says that it ended in an error, as OTLP, the SDKs, Phoenix, MLflow and Langfuse say it."""
    status = span.get("status")
    said = [status, span.get("status_code"), span.get("level")]
    if isinstance(status, Mapping):
        said += [status.get("code"), status.get("status_code")]
    return any(each == 2 or str(each).upper() in ("ERROR", "STATUS_CODE_ERROR") for each in said)


def _nanoseconds(time: object) -> float | None:
    """A time since 1970 in nanoseconds, from a number of any usual unit, or from a date; None for one before 1973."""
    if isinstance(time, bool) or not isinstance(time, str | int | float):
        return None
    with suppress(ValueError, OverflowError):
        if isinstance(time, str) and not time.isdecimal():
            date = datetime.fromisoformat(time)
            time = (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
        number = float(time)
        return next((number * factor for least, factor in TIME_UNITS if least <= number < LATEST), None)
    return None
