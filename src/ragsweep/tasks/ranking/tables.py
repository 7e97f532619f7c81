"""Tables and facts of a measured ranking, and findings about the dataset."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ragsweep.core.terminal import one_line
from ragsweep.datasets import Dataset
from ragsweep.tasks.ranking.evaluation import Evaluation
from ragsweep.tasks.ranking.judging import NOTHING

if TYPE_CHECKING:
    import pandas as pd

MOST_NAMES = 10
LONGEST = 60  # characters of a reference


def queries(evaluation: Evaluation, dataset: Dataset) -> pd.DataFrame:
    """A row per judged query: its id, text, type, relevant units (separated by semicolons), and further fields."""
    import pandas as pd

    judged = evaluation.judged
    units = np.array(dataset.units, dtype=object)
    relevant = dataset.qrels.grade >= judged.relevance_level
    expected = (units[dataset.qrels.unit[relevant & (dataset.qrels.query == row)]] for row in judged.queries)
    queries = [dataset.queries[row] for row in judged.queries]
    fields = dict.fromkeys(name for query in queries for name, _ in query.fields)  # in the order of the first query
    return pd.DataFrame(
        {
            "query_id": [query.query_id for query in queries],
            "query": [query.text for query in queries],
            "query_type": [query.query_type for query in queries],
            "relevant": ["; ".join(names) for names in expected],
        }
        | {f"fields.{name}": [dict(query.fields).get(name) for query in queries] for name in fields}
    )


def retrieved(evaluation: Evaluation, dataset: Dataset) -> list[str]:
    """The units retrieved for each judged query within the cutoff, best first, separated by semicolons."""
    units = np.array(dataset.units, dtype=object)
    return ["; ".join(units[row[row != NOTHING]]) for row in evaluation.judged.units[:, : evaluation.k]]


def facts(evaluation: Evaluation, dataset: Dataset) -> dict[str, Any]:
    """Facts about the dataset as a JSON-compatible value, for programs that read it."""
    judged = {dataset.queries[row].query_id for row in evaluation.judged.queries}
    level = evaluation.judged.relevance_level
    return {
        "dataset": {"unit": dataset.unit},
        "k": evaluation.k,
        "queries_without_judgments": [query.query_id for query in dataset.queries if query.query_id not in judged],
        "queries_without_relevant": [dataset.queries[row].query_id for row in dataset.without_relevant(level)],
        "documents_skipped": list(dataset.skipped),
        "pages_without_text": list(dataset.empty_pages),
        "units_without_passage": absent_units(evaluation, dataset),
        "references_without_offsets": without_offsets(dataset),
        "coverage": dataset.coverage(level),
    }


def absent_units(evaluation: Evaluation, dataset: Dataset) -> list[str]:
    """The relevant units that have no passage."""
    relevant = dataset.qrels.grade >= evaluation.judged.relevance_level
    absent = sorted(set(dataset.qrels.unit[relevant].tolist()) - set(dataset.found_units.tolist()))
    return [dataset.units[unit] for unit in absent]


def without_offsets(dataset: Dataset) -> list[str]:
    """The references that do not stand at exactly one place of their document, each with its query."""
    unplaced = [reference for reference in dataset.references if not reference.has_offsets]
    return [f"query {each.query_id}: {one_line(each.text)[:LONGEST]}" for each in unplaced]


def findings(known: Mapping[str, Any]) -> list[str]:
    """The problems of the dataset, one sentence each, or a sentence that there are none.

    Args:
        known: The `facts` about the dataset.
    """
    return list(_problems(known)) or [
        "Every relevant unit can be found, every page has text, every query has a judgment."
    ]


def _problems(known: Mapping[str, Any]) -> Iterator[str]:
    unit = known["dataset"]["unit"]
    if absent := known["units_without_passage"]:
        yield (
            f"{_named(absent, f'relevant {unit}')} without a passage, which no retriever can find: "
            f"{known['coverage']:.1%} of the relevant {unit}s can be found."
        )
    if without_text := known["pages_without_text"]:
        yield f"{_named(without_text, 'page')} without text, never retrieved."
    if unjudged := known["queries_without_judgments"]:
        yield f"{_named(unjudged, 'query', 'queries')} without a judgment, left out of every mean."
    if unplaced := known["references_without_offsets"]:
        yield f"{_named(unplaced, 'reference')} that are not at one place of their document, found by their words."
    if irrelevant := known["queries_without_relevant"]:
        yield f"{_named(irrelevant, 'query', 'queries')} without a relevant {unit}, scoring 0 except in NDCG."
    if skipped := known["documents_skipped"]:
        yield f"{_named(skipped, 'document')} left out by dataset.skip."


def _named(names: Sequence[str], one: str, many: str = "") -> str:
    shown = ", ".join(names[:MOST_NAMES]) + (", ..." if len(names) > MOST_NAMES else "")
    return f"{len(names)} {one if len(names) == 1 else many or f'{one}s'} ({shown})"
