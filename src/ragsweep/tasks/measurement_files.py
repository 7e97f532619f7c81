"""Writes the files of a finished measurement of any task."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ragsweep.core.csv_files import write_table
from ragsweep.core.json_records import as_record
from ragsweep.statistics import STATISTICS, spread
from ragsweep.statistics.intervals import Array
from ragsweep.tasks.evaluation_record import Facts
from ragsweep.tasks.scores import Measure, Score
from ragsweep.tasks.task import Items, Measurement

if TYPE_CHECKING:
    import pandas as pd

RESAMPLED = "resampled.csv"  # in results/: the value of each aggregate in each bootstrap resample


def write_measurement(folder: Path, measurement: Measurement, items: Items, decide_by: str) -> None:
    """Write `results/` of one run into its folder."""
    import pandas as pd

    results = folder / "results"
    results.mkdir(parents=True, exist_ok=True)
    tables = {
        "per_query.csv": measurement.per_item,
        "summary_statistics.csv": summary_statistics(measurement),
        "by_query_type.csv": by_query_type(measurement),
        **measurement.tables,
    }
    if aggregates := {of.metric.name: of.resampled for of in measurement.scores if of.resampled is not None}:
        tables[RESAMPLED] = pd.DataFrame(aggregates)
    for name, table in tables.items():
        write_table(results / name, table)
    text = _as_json(facts(measurement, items, decide_by))
    (results / "evaluation.json").write_text(text + "\n", encoding="utf-8")
    for name, lines in measurement.files.items():
        with (results / name).open("w", encoding="utf-8") as file:
            file.writelines(lines)


def _as_json(value: object, margin: str = "\n") -> str:
    """The value as JSON, with a line for each field, and for each object in a list; other lists have one line."""
    inner = f"{margin}  "
    if isinstance(value, Mapping) and value:
        fields = f",{inner}".join(f"{_in_line(str(name))}: {_as_json(part, inner)}" for name, part in value.items())
        return f"{{{inner}{fields}{margin}}}"
    if isinstance(value, list) and value and isinstance(value[0], Mapping):
        return f"[{inner}{f',{inner}'.join(map(_in_line, value))}{margin}]"
    return _in_line(value)


def _in_line(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def summary_statistics(measurement: Measurement) -> pd.DataFrame:
    """A row per metric: mean, standard deviation over queries (n - 1), quartiles, and the mean's 95 % interval.

    A row per cost, too, without an interval; of one that is no mean over queries, the value alone.
    """
    import pandas as pd

    rows = [
        *(_summary(score, score.per_item, ci_low=score.low, ci_high=score.high) for score in measurement.scores),
        *(_summary(cost, cost.sample if cost.per_item is None else cost.per_item) for cost in measurement.measures),
    ]
    return pd.DataFrame(rows, columns=["metric", *STATISTICS, "ci_low", "ci_high"])


def _summary(of: Score | Measure, values: Array | None, **interval: float) -> dict[str, Any]:
    statistics = {} if values is None else spread(values[~np.isnan(values)])
    return {"metric": of.metric.name, **statistics, "mean": of.value, **interval}


def by_query_type(measurement: Measurement) -> pd.DataFrame:
    """A row per query type: number of queries and mean metrics. Empty if the queries have no types."""
    types = measurement.per_item.groupby("query_type")
    names = [score.metric.name for score in measurement.scores if score.per_item is not None]
    return types[names].mean().assign(queries=types.size()).reset_index()


def facts(measurement: Measurement, items: Items, decide_by: str) -> dict[str, Any]:
    """The measurement as a JSON-compatible value, for programs that read it: `Facts`, and what else the task knows.

    What a measurement and `Facts` both have under a name is recorded as it is, and so are the facts of the task.
    """
    recorded = {field.name for field in fields(Facts)}
    further = dict(measurement.facts)
    about = {"name": items.name, "digest": items.digest, "left_out": items.profile.get("left_out", 0)}
    about |= further.pop("dataset", {})
    intervals = {name: curve.interval for name, curve in measurement.curves.items() if curve.interval is not None}
    values = {name: getattr(measurement, name) for name in recorded if hasattr(measurement, name)}
    values |= {name: further.pop(name) for name in recorded & further.keys()}
    values |= {
        "dataset": about,
        "decided_by": decide_by,
        "measures": {measure.metric.name: _measure(measure) for measure in measurement.measures},
        "metrics": {score.metric.name: _score(score) for score in measurement.scores},
        "at_k": {name: curve.values.tolist() for name, curve in measurement.curves.items()},
        "at_k_ci": {name: interval.tolist() for name, interval in intervals.items()},
    }
    record = as_record(Facts, values)
    record["dataset"] = {**about, **record["dataset"]}
    further |= {"queries": len(measurement.items), "not_measured": dict(measurement.not_measured)}
    return {name: record.pop(name) for name in ("schema", "dataset")} | {**further, **record}


def _score(score: Score) -> dict[str, Any]:
    measured = {"mean": score.value, "ci_low": score.low, "ci_high": score.high, "aggregate": score.per_item is None}
    return {**asdict(score.metric), **measured, "guessing": score.guessing, "unread": score.unread}


def _measure(measure: Measure) -> dict[str, Any]:
    sample = () if measure.sample is None else measure.sample.tolist()
    circumstances = {"machines": measure.machines, "slowed_by": measure.slowed_by}
    return {**asdict(measure.metric), "value": measure.value, "sample": sample, **circumstances}
