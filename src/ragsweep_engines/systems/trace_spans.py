"""Reads spans of traces as MLflow writes them: attributes as JSON, times in nanoseconds."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from ragsweep.core.parsing import MalformedError, from_json

KIND, QUERY, ANSWER = "mlflow.spanType", "mlflow.spanInputs", "mlflow.spanOutputs"  # attributes
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
        start: When it began, in nanoseconds; 0 if it does not say.
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
    start: int
    ms: float | None
    query: object
    answer: object


def span_of(value: Mapping[str, Any]) -> Span:
    """A span, from its fields as `mlflow.entities.Span.to_dict` has them."""
    attributes = value.get("attributes") or {}
    start, end = (int(value.get(f"{edge}_time_unix_nano") or 0) for edge in ("start", "end"))
    ms = (end - start) / 1e6
    return Span(
        str(value.get("trace_id") or ""),
        str(value.get("span_id") or ""),
        str(value.get("parent_span_id") or ""),
        str(value.get("name") or ""),
        _decoded(attributes.get(KIND)) == "RETRIEVER",
        (value.get("status") or {}).get("code") == "STATUS_CODE_ERROR",
        start,
        ms if start and 0 <= ms <= LONGEST_MS else None,
        _decoded(attributes.get(QUERY)),
        _decoded(attributes.get(ANSWER)),
    )


def _decoded(value: object) -> object:
    """The value of a text that is JSON; any other as it is."""
    if isinstance(value, str):
        with suppress(MalformedError):
            return from_json(value, allow_nan=True)
    return value
