"""What cannot be found or measured: units and pages without text, queries without judgments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ragsweep.core.terminal import counted, named, quoted
from ragsweep.datasets.model.dataset import Dataset
from ragsweep.tasks.ranking.coverage import about_left_out, absent_units, but_graded, findable, relevant
from ragsweep_audit.findings.finding import Finding


def coverage(dataset: Dataset, level: int, pictures: Sequence[str] = ()) -> Iterator[Finding]:
    """Findings about what no retriever can find, and about queries that no metric can measure.

    Args:
        dataset: The dataset.
        level: The lowest grade that counts as relevant.
        pictures: Those of the pages without text that have a picture.
    """
    yield from _absent(dataset, level)
    yield from _empty_pages(dataset, pictures)
    yield from _unjudged(dataset)
    yield from _irrelevant(dataset, level)
    yield from _unplaced(dataset)
    yield from _left_out(dataset)
    yield from _skipped(dataset)


def _absent(dataset: Dataset, level: int) -> Iterator[Finding]:
    """What is relevant and has no passage."""
    if absent := absent_units(dataset, level):
        _, shares = findable(dataset, level)
        judged = len(np.unique(relevant(dataset, level)[1]))
        unanswerable = int((shares == 0).sum())
        ceiling = f"Recall can reach at most {_below_1(shares.mean())}"
        if unanswerable:
            ceiling += f", as nothing relevant can be found for {counted(unanswerable, 'query')} of {len(shares)}"
        units = counted(len(absent), f"relevant {dataset.unit}")
        has, they = ("has", "it is") if len(absent) == 1 else ("have", "they are")
        yield Finding(
            "absent_units",
            f"{units} {has} no passage{named(absent)}, so {they} never found.",
            f"{ceiling}.",
            "Add the documents, run OCR on scanned pages, or remove the judgments.",
            len(absent),
            judged,
            tuple(absent),
            {"highest_recall": float(shares.mean()), "unanswerable_queries": unanswerable},
        )


def _empty_pages(dataset: Dataset, pictures: Sequence[str]) -> Iterator[Finding]:
    """Pages without text."""
    if empty := dataset.empty_pages:
        pages = {(passage.source, passage.page_number) for passage in dataset.passages}
        yield Finding(
            "pages_without_text",
            f"{counted(len(empty), 'page')} without text{named(empty)}"
            + (f"; {len(pictures)} with a picture{named(pictures)}." if pictures else "."),
            "They are never retrieved.",
            "Run OCR on those that are scanned; blank pages are harmless.",
            len(empty),
            len(empty) + len(pages),
            tuple(empty),
            {"with_picture": list(pictures)},
        )


def _unjudged(dataset: Dataset) -> Iterator[Finding]:
    """Queries without a judgment that need one."""
    judged_queries = {*dataset.qrels.query.tolist()}
    unjudged = [each for row, each in enumerate(dataset.queries) if row not in judged_queries and each.answerable]
    if unjudged:
        yield Finding(
            "queries_without_judgments",
            f"{counted(len(unjudged), 'query')} without a judgment{named([quoted(query.text) for query in unjudged])}.",
            "They are left out of every mean.",
            "Judge them, mark them with answerable: false if the documents do not answer them, or remove them.",
            len(unjudged),
            sum(each.answerable for each in dataset.queries),  # others need no judgment
            tuple(query.query_id for query in unjudged),
        )


def _irrelevant(dataset: Dataset, level: int) -> Iterator[Finding]:
    """Judged queries without anything relevant."""
    judged_queries = {*dataset.qrels.query.tolist()}
    if rows := sorted(judged_queries - {*relevant(dataset, level)[0].tolist()}):
        irrelevant = [dataset.queries[row] for row in rows]
        yield Finding(
            "queries_without_relevant",
            f"{counted(len(irrelevant), 'query')} without a relevant {dataset.unit}"
            f"{named([quoted(query.text) for query in irrelevant])}.",
            f"They score 0{but_graded(dataset, rows)}.",
            "Judge what answers them, lower evaluation.relevance_level, or remove them.",
            len(irrelevant),
            len(dataset.queries),
            tuple(query.query_id for query in irrelevant),
        )


def _unplaced(dataset: Dataset) -> Iterator[Finding]:
    """References that are not at exactly one place."""
    if unplaced := [each for each in dataset.references if not each.has_offsets]:
        yield Finding(
            "references_without_offsets",
            f"{counted(len(unplaced), 'reference')} not at exactly one place of the document"
            f"{named([quoted(each.text) for each in unplaced])}.",
            "They can only be compared by their words, not by characters.",
            "Copy them exactly from the document, or give start_index and end_index.",
            len(unplaced),
            len(dataset.references),
            tuple(each.query_id for each in unplaced),
        )


def _left_out(dataset: Dataset) -> Iterator[Finding]:
    """Questions that were left out, and why."""
    asked = len({*dataset.qrels.query.tolist()})
    if left := about_left_out(dataset, asked):
        faulty = tuple(each.text for each in dataset.left_out.faulty)
        out = dataset.left_out.number
        yield Finding("questions_left_out", *left, count=out, out_of=out + asked, examples=faulty)


def _skipped(dataset: Dataset) -> Iterator[Finding]:
    """Documents that were left out."""
    if skipped := dataset.skipped:
        yield Finding(
            "skipped_documents",
            f"{counted(len(skipped), 'document')} left out by dataset.skip{named(skipped)}.",
            "What they contain cannot be retrieved.",
            "Repair the files if they matter.",
            len(skipped),
            len(skipped) + len({passage.source for passage in dataset.passages}),
            tuple(skipped),
        )


def _below_1(mean: float) -> str:
    """A mean below 1 with as many digits as show that."""
    return next(text for digits in range(3, 18) if (text := f"{mean:.{digits}f}") < "1")
