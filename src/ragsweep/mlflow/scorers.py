"""Scorers for `mlflow.genai.evaluate`: the ranking metrics over the RETRIEVER spans of a trace, equal to trec_eval's.

    >>> from ragsweep.mlflow.scorers import ndcg, recall
    >>> data = [{"inputs": {"query": "..."}, "expectations": {"expected_documents": {"manual.pdf#34": 2}}}]
    >>> mlflow.genai.evaluate(data=data, predict_fn=answer, scorers=[ndcg(5), recall(5)])

What is relevant stands in `expected_documents` of a row's expectations: a list of names, or grades by name; without it,
the `doc_uri` of the documents in MLflow's `expected_retrieved_context` are relevant. What was retrieved is named by
`name_of`: its `doc_uri` or `id`, unless a function is given, such as `lambda document: document["metadata"]["source"]`.

A row without such expectations, or whose trace has no RETRIEVER span, gets no value but an error, as from MLflow's own
scorers, and the mean is over the other rows. A span that retrieved nothing scores 0. Each span that is in no other
RETRIEVER span gets a value of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from mlflow.entities import AssessmentSource, Feedback, Span, SpanType, Trace
from mlflow.genai.scorers import Scorer, scorer

from ragsweep.core.arrays import NOTHING
from ragsweep.core.errors import ConfigError, DatasetError
from ragsweep.core.parsing import MalformedError, from_json
from ragsweep.core.terminal import some_of
from ragsweep.datasets.readers.fields import grades_in, shown_value
from ragsweep.tasks.ranking import metrics
from ragsweep.tasks.ranking.judging import Judged, judge
from ragsweep.text.normalisation import composed

Measure = Callable[[Judged, int], metrics.PerQuery]
Retrieved = Mapping[str, Any]  # a document in the outputs of a span
NameOf = Callable[[Retrieved], object]

LARGEST_K = 1000
EXPECTED, CONTEXT = "expected_documents", "expected_retrieved_context"  # expectations of a row


def doc_uri_or_id(document: Retrieved) -> object:
    """The `doc_uri` of what was retrieved, by which MLflow's own scorers know it, or its `id`; None if it has neither.

    Either is looked for in its metadata, then in itself.
    """
    places = [place for place in (document.get("metadata"), document) if isinstance(place, dict)]
    return next((place[name] for name in ("doc_uri", "id") for place in places if place.get(name) is not None), None)


def ndcg(k: int = 5, *, name_of: NameOf = doc_uri_or_id) -> Scorer:
    """Normalised discounted cumulative gain of the first k documents; the gain is the grade.

    Args:
        k: Cutoff, from 1 to 1000.
        name_of: The name of a retrieved document, as it stands in the expectations.
    """
    return _scorer(metrics.ndcg, k, name_of)


def recall(k: int = 5, *, name_of: NameOf = doc_uri_or_id) -> Scorer:
    """Share of the relevant units that are among the first k documents. Arguments as of `ndcg`."""
    return _scorer(metrics.recall, k, name_of)


def precision(k: int = 5, *, name_of: NameOf = doc_uri_or_id) -> Scorer:
    """Share of the first k ranks with a relevant unit, also if fewer came back. Arguments as of `ndcg`."""
    return _scorer(metrics.precision, k, name_of)


def mrr(k: int = 5, *, name_of: NameOf = doc_uri_or_id) -> Scorer:
    """Reciprocal rank of the first relevant unit among the first k documents. Arguments as of `ndcg`."""
    return _scorer(metrics.mrr, k, name_of)


def hit_rate(k: int = 5, *, name_of: NameOf = doc_uri_or_id) -> Scorer:
    """Whether a relevant unit is among the first k documents. Arguments as of `ndcg`."""
    return _scorer(metrics.hit_rate, k, name_of)


def _scorer(measure: Measure, k: int, name_of: NameOf) -> Scorer:
    if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= LARGEST_K:
        raise ConfigError(f"k: found {k!r}, expected a whole number from 1 to {LARGEST_K}")
    name = f"{measure.__name__}_at_{k}"

    def scored(trace: Trace, expectations: dict[str, Any] | None = None) -> list[Feedback]:
        grades = expected_grades(expectations)
        spans = _retriever_spans(trace)
        if not spans:
            raise DatasetError("the trace has no span of the type RETRIEVER: nothing says what was retrieved")
        source = AssessmentSource(source_type="CODE", source_id=f"ragsweep.{name}")
        feedback = []
        for span in spans:
            units = _units(span, name_of)
            value = value_of(units, grades, measure, k)
            why = f"retrieved {some_of(units[:k]) or 'nothing'}; expected {some_of(grades)}"
            feedback.append(Feedback(name=name, value=value, rationale=why, source=source, span_id=span.span_id))
        return feedback

    return scorer(scored, name=name, description=f"{name} of what was retrieved, equal to trec_eval's")


def expected_grades(expectations: Mapping[str, Any] | None) -> dict[str, int]:
    """Grades by id in the expectations of a row. Raises `DatasetError` if there are none, or they cannot be read."""
    given = dict(expectations or {})
    relevant, context = given.get(EXPECTED), given.get(CONTEXT)
    if relevant is None and isinstance(context, list):
        relevant = [str(part["doc_uri"]) for part in context if isinstance(part, dict) and part.get("doc_uri")]
    expected = grades_in(relevant, f"expectations: the field {EXPECTED!r}", in_text=True)
    grades = {composed(key.removesuffix("#")): grade for key, grade in expected.items()}
    if not grades:
        fields = some_of(given) or "none"
        raise DatasetError(f"expectations: found {fields}; expected {EXPECTED}, a list of ids or grades by id")
    return grades


def _retriever_spans(trace: Trace) -> list[Span]:
    """The RETRIEVER spans that are within no other one, in the order of the trace."""
    spans = {span.span_id: span for span in trace.data.spans}

    def is_within_another(span: Span) -> bool:
        visited = {span.span_id}  # a trace may come from anywhere, also with a circle in it
        while (parent := spans.get(span.parent_id)) and parent.span_id not in visited:
            if parent.span_type == SpanType.RETRIEVER:
                return True
            visited.add(parent.span_id)
            span = parent
        return False

    return [span for span in spans.values() if span.span_type == SpanType.RETRIEVER and not is_within_another(span)]


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


def _units(span: Span, name_of: NameOf) -> list[str]:
    """The names of what a span retrieved, best first."""
    outputs = span.outputs
    if isinstance(outputs, str):
        try:
            outputs = from_json(outputs)
        except MalformedError as error:
            raise DatasetError(f"span {span.name!r}: its outputs cannot be read ({error})") from error
    if not isinstance(outputs, list) or not all(isinstance(document, dict) for document in outputs):
        shown = shown_value(outputs)
        raise DatasetError(f"span {span.name!r}: its outputs are {shown}; expected a list of documents")
    units = []
    for document in outputs:
        name = name_of(document)
        if name is None or isinstance(name, bool) or not str(name).strip():
            expected = "doc_uri or id, in it or in its metadata; or a scorer with name_of=FUNCTION"
            raise DatasetError(f"a retrieved document has no name: found {some_of(document)}; expected {expected}")
        units.append(composed(str(name).strip()))
    return units
