"""Reads `results/evaluation.json` of a run, as far as comparisons and reports need it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

from ragsweep.core.csv_files import TAKEN, TEXTS
from ragsweep.core.parsing import MalformedError, from_json, read_text
from ragsweep.retrieval.method import Method
from ragsweep.tasks.metric import Guessing, Metric, Unread

LARGEST_MB = 100
LARGEST = 1e300  # larger numbers are not measurements
KINDS = {str: "a string", bool: "true or false", dict: "an object", int: "a whole number"}


@dataclass(frozen=True)
class Aggregate:
    """A metric that is not a mean over items: its value, and the bounds of its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class MeasureFact:
    """A number besides the metrics: its description, its value, and the values of a few items; empty if none."""

    metric: Metric
    value: float
    sample: tuple[float, ...] = ()


@dataclass(frozen=True)
class Facts:
    """What a finished run recorded about itself.

    Attributes:
        dataset: The dataset's name.
        digest: Digest of its questions and correct answers.
        left_out: How many of its questions were left out.
        decided_by: The metric that decided its sweep.
        metrics: The metrics by name, in display order.
        aggregates: Those metrics that are not means over items.
        guessing: How the configuration compares with guessing, by metric, where one can guess.
        unread: The items that could not be read, by metric, where there can be any.
        measures: Further numbers by name, such as costs.
        control: Why the configuration must not be chosen; empty if it may be.
        caution: What must be said first of the configuration; empty if there is nothing.
        cutoff: Name of the setting that is a budget, such as `k`; empty if there is none.
        method: How the configuration works.
        findings: Problems found in the dataset, one sentence each.
        sections: What the task says of the configuration besides its scores: sentences by heading.
        item_columns: Columns of the query table that are the same for every configuration.
        curves: Means of metrics at the steps 1, 2, ...
        intervals: Lower and upper bounds of the means in some of the curves.
    """

    dataset: str
    digest: str
    left_out: int
    decided_by: str
    metrics: Mapping[str, Metric]
    aggregates: Mapping[str, Aggregate]
    guessing: Mapping[str, Guessing]
    unread: Mapping[str, Unread]
    measures: Mapping[str, MeasureFact]
    control: str
    caution: str
    cutoff: str
    method: Method
    findings: tuple[str, ...]
    sections: Mapping[str, tuple[str, ...]]
    item_columns: tuple[str, ...]
    curves: Mapping[str, tuple[float, ...]]
    intervals: Mapping[str, tuple[tuple[float, ...], tuple[float, ...]]]


def read_facts(path: Path) -> Facts:
    """Read the facts from a file.

    Raises:
        MalformedError: The file is not in the format that `write_measurement` writes.
        OSError: The file cannot be read.
    """
    try:
        return facts_of(from_json(read_text(path, LARGEST_MB)))
    except MalformedError as error:
        raise MalformedError(f"{path.name}: {error}") from error


def facts_of(measured: Any) -> Facts:
    """The facts in a JSON value. Raises `MalformedError` if one is missing or has the wrong type."""
    if not isinstance(measured, dict):
        raise MalformedError("expected an object")
    dataset, metrics = _one(measured, "dataset", dict), _one(measured, "metrics", dict)
    curves, bounds = (_one({name: {}} | measured, name, dict) for name in ("at_k", "at_k_ci"))
    known = {name: _numbers(curves, name) for name in curves}
    intervals = {}
    for name in bounds:
        low, high = (_numbers(_one(bounds, name, dict), end) for end in ("low", "high"))
        if name not in known or not len(low) == len(high) == len(known[name]):
            raise MalformedError(f"at_k_ci.{name}: expected as many bounds as at_k.{name} has values")
        intervals[name] = (low, high)
    sections = _one(measured, "sections", dict)
    about = {name: _one(metrics, name, dict) for name in metrics}
    measures = _one(measured, "measures", dict)
    if taken := {*TEXTS, *TAKEN, *about} & measures.keys():
        raise MalformedError(f"measures.{min(taken)}: another column has this name")
    return Facts(
        dataset=_one(dataset, "name", str),
        digest=_one(dataset, "digest", str),
        left_out=_one({"left_out": 0} | dataset, "left_out", int),
        decided_by=_one(measured, "decided_by", str),
        metrics={name: _metric(name, values) for name, values in about.items()},
        aggregates={name: _aggregate(values) for name, values in about.items() if values.get("aggregate") is True},
        guessing={name: _guessing(_one(about[name], "guessing", dict)) for name in about if "guessing" in about[name]},
        unread={name: _unread(_one(about[name], "unread", dict)) for name in about if "unread" in about[name]},
        measures={name: _measure(name, _one(measures, name, dict)) for name in measures},
        control=_one(measured, "control", str),
        caution=_one({"caution": ""} | measured, "caution", str),
        cutoff=_one(measured, "cutoff", str),
        method=_method(_one(measured, "method", dict)),
        findings=_texts(measured, "findings"),
        sections={heading: _texts(sections, heading) for heading in sections},
        item_columns=_texts(measured, "item_columns"),
        curves=known,
        intervals=intervals,
    )


def _metric(name: str, about: Mapping[str, Any]) -> Metric:
    known = {"title": name, "unit": "", "higher_is_better": True, "binary": False, "wilson": False, **about}
    wilson = _one(known, "wilson", bool)
    title, unit, direction = _one(known, "title", str), _one(known, "unit", str), _one(known, "higher_is_better", bool)
    low, high = _bound(about, "lowest", -inf), _bound(about, "highest", inf)
    return Metric(name, title, unit, direction, low, high, _one(known, "binary", bool), wilson)


def _measure(name: str, about: Mapping[str, Any]) -> MeasureFact:
    [value] = _numbers({name: [about.get("value")]}, name)
    return MeasureFact(_metric(name, about), value, _numbers(about, "sample"))


def _bound(about: Mapping[str, Any], name: str, infinite: float) -> float:
    """A bound of a metric. A record leaves out one that is infinite."""
    return _numbers({name: [about[name]]}, name)[0] if name in about else infinite


def _aggregate(about: Mapping[str, Any]) -> Aggregate:
    return Aggregate(*(_numbers({name: [about.get(name)]}, name)[0] for name in ("mean", "ci_low", "ci_high")))


def _guessing(about: Mapping[str, Any]) -> Guessing:
    value, p, p_worse = (_numbers({name: [about.get(name)]}, name)[0] for name in ("value", "p", "p_worse"))
    if not 0 <= min(p, p_worse) <= max(p, p_worse) <= 1:
        raise MalformedError(f"p: found {p:g} and {p_worse:g}, expected numbers from 0 to 1")
    return Guessing(value, p, p_worse)


def _unread(about: Mapping[str, Any]) -> Unread:
    otherwise, causes = (_names(about, name) for name in ("otherwise", "causes"))
    return Unread(_one(about, "measure", str), otherwise, _one(about, "lost", str), causes)


def _names(about: Mapping[str, Any], name: str) -> dict[str, str]:
    names = _one(about, name, dict)
    return {each: _one(names, each, str) for each in names}


def _method(about: Mapping[str, Any]) -> Method:
    known = {"name": "", "title": "", "advantage": "", "is_baseline": False, "stands_for": {}, "vary": "", **about}
    stands_for = _one(known, "stands_for", dict)
    return Method(
        name=_one(known, "name", str),
        title=_one(known, "title", str),
        advantage=_one(known, "advantage", str),
        is_baseline=_one(known, "is_baseline", bool),
        stands_for={name: value for name, value in stands_for.items() if _numbers({name: [value]}, name)},
        chosen_by=_texts(known, "chosen_by"),
        vary=_one(known, "vary", str),
    )


def _one(values: Mapping[str, Any], name: str, kind: type) -> Any:
    if not isinstance(values.get(name), kind):
        raise MalformedError(f"{name}: expected {KINDS[kind]}")
    return values[name]


def _texts(values: Mapping[str, Any], name: str) -> tuple[str, ...]:
    texts = values.get(name, [])
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise MalformedError(f"{name}: expected a list of strings")
    return tuple(texts)


def _numbers(values: Mapping[str, Any], name: str) -> tuple[float, ...]:
    numbers = values.get(name, [])
    if not isinstance(numbers, list) or not all(
        isinstance(number, int | float) and not isinstance(number, bool) and abs(number) < LARGEST for number in numbers
    ):
        raise MalformedError(f"{name}: expected a list of numbers")
    return tuple(map(float, numbers))
