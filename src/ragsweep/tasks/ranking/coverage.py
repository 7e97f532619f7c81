"""What can be found and what is measured of a dataset, and what is unusual about it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ragsweep.core.arrays import Indices
from ragsweep.core.errors import DatasetError
from ragsweep.core.terminal import counted, named, one_line, say_once, verb
from ragsweep.datasets.model.dataset import Dataset
from ragsweep.statistics.intervals import Array
from ragsweep.tasks.metric import Metric
from ragsweep.tasks.run_check import Checked
from ragsweep.tasks.scores import Measure

UNITS = Metric("coverage/units", "Coverage", low=0, high=1)
EXPECTED = Metric("coverage/expected", "Expected units", low=0)
PRESENT = Metric("coverage/present", "Present units", low=0)
MISSING = Metric("coverage/missing", "Missing units", higher_is_better=False, low=0)
HEADING = "Coverage"

LONGEST_REFERENCE = 60  # characters of a reference
LEAST_OF_RATINGS = 4  # the best grade of a scale that may begin at 1 for what is not relevant
BUT_GRADED = ", except in NDCG which counts every grade above 0"


def relevant(dataset: Dataset, level: int) -> tuple[Indices, Indices]:
    """Query and unit of each judgment with at least this grade, each of shape [judgments]."""
    chosen = dataset.qrels.grade >= level
    return dataset.qrels.query[chosen], dataset.qrels.unit[chosen]


def coverage_measures(dataset: Dataset, level: int) -> list[Measure]:
    """How many relevant pages or documents are expected, present and missing; for passages only the share."""
    if (coverage := dataset.coverage(level)) is None:
        return []
    share = Measure(UNITS, coverage.share)
    if dataset.unit == "passage":
        return [share]
    counts = {EXPECTED: coverage.expected, PRESENT: coverage.present, MISSING: coverage.missing}
    return [share, *(Measure(metric, float(count)) for metric, count in counts.items())]


def about_coverage(dataset: Dataset, level: int) -> Checked:
    """Which relevant pages or documents are missing; nothing if none are."""
    coverage = dataset.coverage(level)
    if coverage is None or dataset.unit == "passage" or not coverage.missing:
        return Checked()
    _, shares = findable(dataset, level)
    lost, unit = int((shares == 0).sum()), dataset.unit
    absent = named(absent_units(dataset, level))
    sentences = [
        f"{counted(coverage.expected, unit)} {verb(coverage.expected, 'are')} relevant to a query and expected: "
        f"{coverage.present:,} present, {coverage.missing:,} missing{absent}. "
        f"A missing {unit} counts as missed in every metric.",
        *([f"Everything relevant is missing for {lost} of {len(shares)} queries, which score 0."] if lost else []),
    ]
    return Checked(sections={HEADING: sentences})


def without_relevant(dataset: Dataset, level: int) -> list[int]:
    """Positions of the judged queries without a unit of at least this grade.

    Raises:
        DatasetError: No query has such a unit, and not because no returned text holds a reference, which scores 0.
    """
    queries, _ = relevant(dataset, level)
    if not len(queries) and not (dataset.is_returned and dataset.references):
        raise DatasetError(
            f"{dataset.name}: nothing is relevant: found no grade above {dataset.qrels.grade.max()}, "
            f"expected some of at least {level} (evaluation.relevance_level)"
        )
    return sorted({*dataset.qrels.query.tolist()} - {*queries.tolist()})


def unanswerable(dataset: Dataset) -> Indices:
    """Positions of the queries that the documents are known not to answer, in ascending order."""
    return np.flatnonzero([not query.answerable for query in dataset.queries])


def measured_queries(dataset: Dataset) -> Indices:
    """Positions of the queries that have judgments, and of those that the documents are known not to answer."""
    return np.union1d(dataset.qrels.query, unanswerable(dataset))


def absent_units(dataset: Dataset, level: int) -> list[str]:
    """The units of at least this grade that have no passage."""
    absent = sorted(set(relevant(dataset, level)[1].tolist()) - set(dataset.found_units.tolist()))
    return [dataset.units[unit] for unit in absent]


def findable(dataset: Dataset, level: int) -> tuple[Indices, Array]:
    """The queries with a relevant unit, and the share of these units that can be retrieved for it, each [queries]."""
    chosen = dataset.qrels.grade >= level
    queries, row = np.unique(dataset.qrels.query[chosen], return_inverse=True)
    shares: Array = np.bincount(row, dataset.retrievable[chosen], len(queries)) / np.bincount(row)
    return queries, shares


def but_graded(dataset: Dataset, rows: Sequence[int]) -> str:
    """An exception to "score 0" for queries without a relevant unit, if some have grades above 0; else empty."""
    graded = dataset.qrels.query[dataset.qrels.grade > 0]
    return BUT_GRADED if np.isin(rows, graded).any() else ""


def about_left_out(dataset: Dataset, asked: int) -> tuple[str, str, str] | None:
    """How many questions a setting leaves out, what that does to the numbers, and what to do; None if none are.

    `asked` is the number of questions that are measured.
    """
    left_out = dataset.left_out
    if not left_out.number:
        return None
    parts = [f"measured: {left_out.of_all(asked)}"]
    faulty = tuple(fault.text for fault in left_out.faulty)
    if faulty:
        parts.append(f"left out by dataset.on_error=skip: {len(faulty):,}{named(faulty, '; ')}")
    if left_out.unselected:
        parts.append(f"not selected by dataset.ids: {len(left_out.unselected):,}")
    return (
        f"Questions {', '.join(parts)}.",
        "Those that are left out count in no number.",
        "Compare only with numbers of the same questions.",
    )


def without_offsets(dataset: Dataset) -> list[str]:
    """The references that do not stand at exactly one place of their document, each with its query."""
    unplaced = [reference for reference in dataset.references if not reference.has_offsets]
    return [f"query {reference.query_id}: {one_line(reference.text)[:LONGEST_REFERENCE]}" for reference in unplaced]


def say_left_out(dataset: Dataset, asked: int) -> None:
    """Print how the questions are read, and what is left out; `asked` is the number of questions that are measured."""
    measured = f"measured: {dataset.left_out.of_all(asked)}" if dataset.left_out.number else ""
    for line in filter(None, (dataset.columns, measured)):
        say_once(line)
    _notice([fault.text for fault in dataset.left_out.faulty], "questions left out by dataset.on_error=skip")
    _notice(dataset.skipped, "documents left out by dataset.skip")
    _notice(dataset.empty_pages, "pages without text, never retrieved")


def check_measurable(dataset: Dataset, *, brings_passages: bool) -> None:
    """Raise `DatasetError` where there is nothing to rank, or no judgment to measure a ranking by."""
    task = "so no ranking can be measured; use task=answers"
    if not len(dataset.passages) and not brings_passages:
        corpus = "or name a corpus: only a retriever that runs elsewhere needs none"
        raise DatasetError(f"{dataset.name}: has no documents, {task}, {corpus}")
    if not len(dataset.qrels.grade):
        raise DatasetError(f"{dataset.name}: has no judgments, {task}")


def say_unusual(dataset: Dataset, level: int, *, brings_passages: bool) -> None:
    """Print what is left out, and what can never be found.

    Args:
        dataset: The dataset.
        level: The lowest grade that counts as relevant.
        brings_passages: Whether the retriever has passages of its own, so that those of the dataset say nothing.
    """
    irrelevant = without_relevant(dataset, level)
    unanswered = unanswerable(dataset).tolist()
    unjudged = set(range(len(dataset.queries))) - set(dataset.qrels.query.tolist()) - {*unanswered}
    absent = set(dataset.qrels.unit.tolist()) - set(dataset.found_units.tolist()) if not brings_passages else ()
    graded = but_graded(dataset, irrelevant)
    say_left_out(dataset, len({*dataset.qrels.query.tolist()}))
    _notice([dataset.queries[row].text for row in sorted(unjudged)], "queries without judgments, left out")
    _notice([dataset.queries[row].text for row in unanswered], "queries without an answer in the documents")
    no_relevant = f"queries without a {dataset.unit} of grade {level} or more, scoring 0{graded}"
    _notice([dataset.queries[row].text for row in irrelevant], no_relevant)
    _notice([dataset.units[unit] for unit in sorted(absent)], f"judged {dataset.unit}s without a passage, never found")
    lowest, highest = dataset.qrels.grade.min(), dataset.qrels.grade.max()
    if lowest == level == 1 and highest >= LEAST_OF_RATINGS:
        grades = f"grades from 1 to {highest}, none of 0: each of them counts as relevant"
        say_once(f"{grades}; where people rated from 1, write 0 for what is not relevant")
    _notice(without_offsets(dataset), "references not at one place of their document, found by words")


def _notice(names: Sequence[str], problem: str) -> None:
    if names:
        say_once(f"{problem}: {len(names)}{named([*map(one_line, names)])}")
