"""Prints what is unusual about a dataset before its rankings are measured."""

from __future__ import annotations

from collections.abc import Sequence

from ragsweep.core.terminal import named, one_line, say_once
from ragsweep.datasets import Dataset
from ragsweep.tasks.ranking.coverage import but_graded, unanswerable, without_relevant
from ragsweep.tasks.ranking.ranking_tables import without_offsets


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
    if dataset.left_out.number:
        asked = len({*dataset.qrels.query.tolist()})
        say_once(f"measured: {dataset.left_out.of_all(asked)}")
    _notice([each.text for each in dataset.left_out.faulty], "questions left out by dataset.on_error=skip")
    _notice(dataset.skipped, "documents left out by dataset.skip")
    _notice(dataset.empty_pages, "pages without text, never retrieved")
    _notice([dataset.queries[row].text for row in sorted(unjudged)], "queries without judgments, left out")
    _notice([dataset.queries[row].text for row in unanswered], "queries without an answer in the documents")
    no_relevant = f"queries without a {dataset.unit} of grade {level} or more, scoring 0{graded}"
    _notice([dataset.queries[row].text for row in irrelevant], no_relevant)
    _notice([dataset.units[unit] for unit in sorted(absent)], f"judged {dataset.unit}s without a passage, never found")
    _notice(without_offsets(dataset), "references not at one place of their document, found by words")


def _notice(names: Sequence[str], what: str) -> None:
    if names:
        say_once(f"{what}: {len(names)}{named([*map(one_line, names)])}")
