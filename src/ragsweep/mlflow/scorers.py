"""Scorers for `mlflow.genai.evaluate`: the ranking metrics over the RETRIEVER spans of a trace, equal to trec_eval's.

    >>> from ragsweep.mlflow.scorers import ndcg, recall
    >>> data = [{"inputs": {"query": "..."}, "expectations": {"expected_documents": {"manual.pdf#34": 2}}}]
    >>> mlflow.genai.evaluate(data=data, predict_fn=answer, scorers=[ndcg(5), recall(5)])

What is relevant stands in `expected_documents` of a row's expectations: a list of ids, or grades by id. An id is that
of a passage or a document (`doc_uri`, `id`, `chunk_id`, ... of what was retrieved), its source, or a page as
`source#page`. Without it, the `doc_uri` of the documents in MLflow's `expected_retrieved_context` are relevant.

A row without such expectations, or whose trace has no RETRIEVER span, gets no value but an error, as from MLflow's own
scorers, and the mean is over the other rows. A span that retrieved nothing scores 0. Each span that is in no other
RETRIEVER span gets a value of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any, Literal

import numpy as np
from mlflow.entities import AssessmentSource, Feedback, Span, SpanType, Trace
from mlflow.genai.scorers import Scorer, scorer

from ragsweep.core.arrays import NOTHING
from ragsweep.core.errors import ConfigError, DatasetError
from ragsweep.core.parsing import MalformedError, from_json
from ragsweep.core.terminal import some_of
from ragsweep.datasets.readers.fields import shown_value
from ragsweep.datasets.readers.judgments import grades_in
from ragsweep.tasks.ranking import metrics
from ragsweep.tasks.ranking.judging import Judged, judge
from ragsweep.text.normalisation import composed

Measure = Callable[[Judged, int], metrics.PerQuery]
FirstPage = Literal[0, 1]

LARGEST_K = 1000
EXPECTED, CONTEXT = "expected_documents", "expected_retrieved_context"  # expectations of a row
IDS = ("chunk_id", "passage_id", "node_id", "id", "id_", "doc_uri", "doc_id", "document_id")  # finest first
SOURCES = ("source", "file_path", "file_name", "filename", "document")
PAGES = ("page", "page_number", "page_label")  # the first that there is


def ndcg(k: int = 5, *, first_page: FirstPage = 1) -> Scorer:
    """Normalised discounted cumulative gain of the first k documents; the gain is the grade.

    Args:
        k: Cutoff, from 1 to 1000.
        first_page: The number that the application gives the first page of a document; PDF loaders often count from 0.
    """
    return _scorer("ndcg", metrics.ndcg, k, first_page)


def recall(k: int = 5, *, first_page: FirstPage = 1) -> Scorer:
    """Share of the relevant units that are among the first k documents. Arguments as of `ndcg`."""
    return _scorer("recall", metrics.recall, k, first_page)


def precision(k: int = 5, *, first_page: FirstPage = 1) -> Scorer:
    """Share of the first k ranks with a relevant unit, also if fewer came back. Arguments as of `ndcg`."""
    return _scorer("precision", metrics.precision, k, first_page)


def mrr(k: int = 5, *, first_page: FirstPage = 1) -> Scorer:
    """Reciprocal rank of the first relevant unit among the first k documents. Arguments as of `ndcg`."""
    return _scorer("mrr", metrics.mrr, k, first_page)


def hit_rate(k: int = 5, *, first_page: FirstPage = 1) -> Scorer:
    """Whether a relevant unit is among the first k documents. Arguments as of `ndcg`."""
    return _scorer("hit_rate", metrics.hit_rate, k, first_page)


def _scorer(name: str, measure: Measure, k: int, first_page: FirstPage) -> Scorer:
    if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= LARGEST_K:
        raise ConfigError(f"k: found {k!r}, expected a whole number from 1 to {LARGEST_K}")
    if first_page not in (0, 1):
        raise ConfigError(f"first_page: found {first_page!r}, expected 0 or 1")
    name = f"{name}_at_{k}"

    def scored(trace: Trace, expectations: dict[str, Any] | None = None) -> list[Feedback]:
        grades = expected_grades(expectations)
        spans = _retriever_spans(trace)
        if not spans:
            raise DatasetError("the trace has no span of the type RETRIEVER: nothing says what was retrieved")
        ranked = [[_unit(each, grades, first_page) for each in _documents(span)] for span in spans]
        values = [value_of(units, grades, measure, k) for units in ranked]
        notes = [_rationale(units[:k], grades) for units in ranked]
        source = AssessmentSource(source_type="CODE", source_id=f"ragsweep.{name}")
        return [
            Feedback(name=name, value=value, rationale=note, source=source, span_id=span.span_id)
            for span, value, note in zip(spans, values, notes, strict=True)
        ]

    return scorer(scored, name=name, description=f"{name} of what was retrieved, equal to trec_eval's")


def expected_grades(expectations: Mapping[str, Any] | None) -> dict[str, int]:
    """Grades by id in the expectations of a row. Raises `DatasetError` if there are none, or they cannot be read."""
    given = dict(expectations or {})
    found = grades_in(_relevant_in(given), f"expectations: the field {EXPECTED!r}", in_text=True)
    grades = {composed(key.removesuffix("#")): grade for key, grade in found.items()}
    if not grades:
        known = some_of(given) or "none"
        raise DatasetError(f"expectations: found {known}; expected {EXPECTED}, a list of ids or grades by id")
    return grades


def _relevant_in(expectations: Mapping[str, Any]) -> Any:
    """The value of `EXPECTED`; where it is missing or null, each `doc_uri` in MLflow's own `CONTEXT`."""
    found, context = expectations.get(EXPECTED), expectations.get(CONTEXT)
    if found is not None or not isinstance(context, list):
        return found
    return [str(each["doc_uri"]) for each in context if isinstance(each, dict) and each.get("doc_uri")]


def _retriever_spans(trace: Trace) -> list[Span]:
    """The RETRIEVER spans that are within no other one, in the order of the trace."""
    spans = {span.span_id: span for span in trace.data.spans}

    def is_within_another(span: Span) -> bool:
        seen = {span.span_id}  # a trace may come from anywhere, also with a circle in it
        while (parent := spans.get(span.parent_id)) and parent.span_id not in seen:
            if parent.span_type == SpanType.RETRIEVER:
                return True
            seen.add(parent.span_id)
            span = parent
        return False

    return [span for span in spans.values() if span.span_type == SpanType.RETRIEVER and not is_within_another(span)]


def _rationale(units: list[str], grades: Mapping[str, int]) -> str:
    """Says what was retrieved and expected, so that ids of two kinds, which score 0, are seen."""
    found = [unit for unit in dict.fromkeys(units) if grades.get(unit, 0) > 0]
    retrieved = f"retrieved {some_of(units) or 'nothing'}, of which relevant: {some_of(found) or 'none'}"
    return f"{retrieved}; expected {some_of(grades)}"


def value_of(units: list[str], grades: Mapping[str, int], measure: Measure, k: int) -> float:
    """A metric at k of a single ranking.

    Args:
        units: What was retrieved, best first; a unit earns credit once.
        grades: The judgments.
        measure: The metric.
        k: The cutoff.
    """
    numbers = {unit: number for number, unit in enumerate(dict.fromkeys([*grades, *units]))}
    ranked = np.array([[numbers[unit] for unit in units] or [NOTHING]], dtype=np.int64)
    judged_unit, grade = np.arange(len(grades)), np.array([*grades.values()], dtype=np.int64)
    return float(measure(judge(ranked, np.zeros_like(judged_unit), judged_unit, grade), k)[0])


def _documents(span: Span) -> list[Mapping[str, Any]]:
    """What a span retrieved, best first."""
    outputs = span.outputs
    if isinstance(outputs, str):
        try:
            outputs = from_json(outputs)
        except MalformedError as error:
            raise DatasetError(f"span {span.name!r}: its outputs cannot be read ({error})") from error
    if not isinstance(outputs, list) or not all(isinstance(each, dict) for each in outputs):
        found = shown_value(outputs)
        raise DatasetError(f"span {span.name!r}: its outputs are {found}; expected a list of documents")
    return outputs


def _unit(document: Mapping[str, Any], grades: Mapping[str, int], first_page: FirstPage) -> str:
    """What a document stands for: the first of its names that is judged, or else its first name."""
    names = [*dict.fromkeys(map(composed, _names(document, first_page)))]
    if not names:
        expected = f"one of {', '.join((*IDS, *SOURCES))}, in it or in its metadata"
        raise DatasetError(
            f"a retrieved document says not which one it is: found {some_of(document)}; expected {expected}"
        )
    return next((name for name in names if name in grades), names[0])


def _names(document: Mapping[str, Any], first_page: FirstPage) -> Iterator[str]:
    """The names that a document can have in judgments, the finest first."""
    inner = document.get("metadata")
    places = [document, *([inner] if isinstance(inner, dict) else [])]
    ids, sources, pages = (
        [str(place[name]).strip() for name in names for place in places if _is_name(place.get(name))]
        for names in (IDS, SOURCES, PAGES)
    )
    yield from ids
    sources = [*sources, *(PurePosixPath(source.replace("\\", "/")).name for source in sources)]
    for source in sources:
        for page in pages[:1]:  # a label may be the number of another page
            yield f"{source}#{int(page) + 1 - first_page if page.isdecimal() else page}"
    yield from sources


def _is_name(value: object) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool) and bool(str(value).strip())
