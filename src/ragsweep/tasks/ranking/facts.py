"""What a run's `results/evaluation.json` says, as far as comparisons and reports read it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragsweep.core.parsing import MalformedError, from_json, read_text

LARGEST_MB = 100
LARGEST = 1e300  # of numbers: those beyond are no measurement


@dataclass(frozen=True)
class Facts:
    """A finished run's dataset, and its curve of recall.

    Attributes:
        dataset: The dataset's name.
        digest: Of its documents, queries and judgments.
        unit: What is judged: a page, for example.
        coverage: Share of the relevant units that can be found.
        pages_without_text: Their names.
        queries_without_judgments: Their ids.
        queries_without_relevant: Those of judged queries for which nothing is relevant.
        documents_skipped: What `dataset.skip` has left out.
        units_without_passage: The names of relevant units that no retriever can find.
        recall: Mean recall at the cutoffs from 1; empty where it was not measured.
        recall_interval: Lower and upper bounds of the means; empty in runs of the first version.
    """

    dataset: str
    digest: str
    unit: str
    coverage: float
    pages_without_text: tuple[str, ...]
    queries_without_judgments: tuple[str, ...]
    queries_without_relevant: tuple[str, ...]
    documents_skipped: tuple[str, ...]
    units_without_passage: tuple[str, ...]
    recall: tuple[float, ...]
    recall_interval: tuple[tuple[float, ...], ...]


def read_facts(path: Path) -> Facts:
    """What the file says.

    Raises:
        MalformedError: It says something else than `tables.facts` writes.
        OSError: It cannot be read.
    """
    try:
        return facts_of(from_json(read_text(path, LARGEST_MB)))
    except MalformedError as error:
        raise MalformedError(f"{path.name}: {error}") from error


def facts_of(measured: Any) -> Facts:
    """The facts that a JSON value holds; raises `MalformedError` where one is missing or of another kind."""
    if not isinstance(measured, dict):
        raise MalformedError("expected an object")
    dataset = _one(measured, "dataset", dict)
    curves, bounds = (_one({name: {}} | measured, name, dict) for name in ("at_k", "at_k_ci"))
    recall = _numbers(curves, "recall")
    bounds = _one({"recall": {}} | bounds, "recall", dict)
    interval = tuple(_numbers(bounds, name) for name in ("low", "high")) if bounds else ()
    if any(len(bound) != len(recall) for bound in interval):
        raise MalformedError("at_k_ci.recall: expected as many bounds as at_k.recall has values")
    [coverage] = _numbers({"coverage": [measured.get("coverage", 1.0)]}, "coverage")
    return Facts(
        dataset=_one(dataset, "name", str),
        digest=_one(dataset, "digest", str),
        unit=_one(dataset, "unit", str),
        coverage=coverage,
        pages_without_text=_texts(measured, "pages_without_text"),
        queries_without_judgments=_texts(measured, "queries_without_judgments"),
        queries_without_relevant=_texts(measured, "queries_without_relevant"),
        documents_skipped=_texts(measured, "documents_skipped"),
        units_without_passage=_texts(measured, "units_without_passage"),
        recall=recall,
        recall_interval=interval,
    )


def _one(values: Mapping[str, Any], name: str, kind: type) -> Any:
    if not isinstance(values.get(name), kind):
        raise MalformedError(f"{name}: expected {'a text' if kind is str else 'an object'}")
    return values[name]


def _texts(values: Mapping[str, Any], name: str) -> tuple[str, ...]:
    texts = values.get(name, [])
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise MalformedError(f"{name}: expected a list of texts")
    return tuple(texts)


def _numbers(values: Mapping[str, Any], name: str) -> tuple[float, ...]:
    numbers = values.get(name, [])
    if not isinstance(numbers, list) or not all(
        isinstance(number, int | float) and abs(number) < LARGEST for number in numbers
    ):
        raise MalformedError(f"{name}: expected a list of numbers")
    return tuple(map(float, numbers))
