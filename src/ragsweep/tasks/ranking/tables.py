"""Tables of one measurement."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ragsweep.datasets import Dataset
from ragsweep.statistics import spread
from ragsweep.tasks.ranking.evaluation import Evaluation
from ragsweep.tasks.ranking.judging import NOTHING

WITH_INTERVALS = ("recall",)  # metrics whose curves have intervals: those of all would take longer than a warm run


def per_query(evaluation: Evaluation, dataset: Dataset) -> pd.DataFrame:
    """A row per judged query: its metrics at k, and what was retrieved and expected."""
    judged = evaluation.judged
    units = np.array(dataset.units, dtype=object)
    relevant = dataset.qrels.grade >= judged.relevance_level
    expected = {
        row: "; ".join(units[dataset.qrels.unit[relevant & (dataset.qrels.query == row)]]) for row in judged.queries
    }
    queries = [dataset.queries[row] for row in judged.queries]
    return pd.DataFrame(
        {
            "query_id": [query.query_id for query in queries],
            "query": [query.text for query in queries],
            "query_type": [query.query_type for query in queries],
            **dict(zip(evaluation.names, evaluation.per_query, strict=True)),
            "retrieved": ["; ".join(units[row[row != NOTHING]]) for row in judged.units[:, : evaluation.k]],
            "relevant": list(expected.values()),
        }
    )


def summary_statistics(evaluation: Evaluation) -> pd.DataFrame:
    """A row per metric: mean, standard deviation over queries (n - 1), quartiles, and the mean's 95 % interval."""
    intervals = {"ci_low": evaluation.ci_low, "ci_high": evaluation.ci_high}
    return pd.DataFrame({"metric": evaluation.names, **spread(evaluation.per_query), **intervals})


def by_query_type(per_query: pd.DataFrame, names: tuple[str, ...]) -> pd.DataFrame:
    """A row per query type: how many queries, and their mean metrics; no row where queries have no type."""
    types = per_query.groupby("query_type")
    return types[list(names)].mean().assign(queries=types.size()).reset_index()


def facts(evaluation: Evaluation, dataset: Dataset) -> dict[str, Any]:
    """The measurement as one JSON-like value, for programs that read it back."""
    relevant = dataset.qrels.grade >= evaluation.judged.relevance_level
    absent = sorted(set(dataset.qrels.unit[relevant].tolist()) - set(dataset.passage_units.tolist()))
    judged = {dataset.queries[row].query_id for row in evaluation.judged.queries}
    return {
        "dataset": {"name": dataset.name, "digest": dataset.digest, "unit": dataset.unit},
        "k": evaluation.k,
        "queries": len(judged),
        "queries_without_judgments": [query.query_id for query in dataset.queries if query.query_id not in judged],
        "queries_without_relevant": [
            dataset.queries[row].query_id for row in dataset.without_relevant(evaluation.judged.relevance_level)
        ],
        "documents_skipped": list(dataset.skipped),
        "pages_without_text": list(dataset.empty_pages),
        "units_without_passage": [dataset.units[unit] for unit in absent],
        "coverage": dataset.coverage(evaluation.judged.relevance_level),
        "metrics": {
            name: {"mean": mean, "ci_low": low, "ci_high": high}
            for (name, mean), low, high in zip(
                evaluation.means.items(), evaluation.ci_low.tolist(), evaluation.ci_high.tolist(), strict=True
            )
        },
        "at_k": {name: curve.tolist() for name, curve in zip(evaluation.names, evaluation.curves, strict=True)},
        "at_k_ci": {
            name: dict(zip(("low", "high"), map(np.ndarray.tolist, evaluation.curve_interval(name)), strict=True))
            for name in WITH_INTERVALS
            if name in evaluation.names
        },
    }
