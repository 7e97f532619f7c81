"""What cannot be found or measured: units and pages without text, queries without judgments or results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ragsweep.core.digest import digest_texts
from ragsweep.core.terminal import counted, named, quoted, verb
from ragsweep.datasets import Query
from ragsweep.datasets.model.dataset_capabilities import KnowsPictures
from ragsweep.retrieval import ExplainsSilence
from ragsweep.store.identity import identity
from ragsweep.tasks.ranking.coverage import about_left_out, absent_units, but_graded, findable, relevant
from ragsweep.tasks.ranking.nothing_found import silent_queries
from ragsweep.tasks.search import search_of
from ragsweep_audit.findings.finder import Audited, Finder
from ragsweep_audit.findings.finding import Finding


class AbsentUnits(Finder):
    """What is relevant and has no passage."""

    kind = "absent_units"

    def find(self, audited: Audited) -> Iterator[Finding]:
        """A finding that says which recall can be reached."""
        dataset, level = audited.items, audited.relevance_level
        absent = absent_units(dataset, level)
        if not absent:
            return
        _, shares = findable(dataset, level)
        unanswerable = int((shares == 0).sum())
        ceiling = f"Recall can reach at most {_below_1(shares.mean())}"
        if unanswerable:
            ceiling += f", as nothing relevant can be found for {counted(unanswerable, 'query')} of {len(shares)}"
        units, they = counted(len(absent), f"relevant {dataset.unit}"), "it is" if len(absent) == 1 else "they are"
        yield Finding(
            self.kind,
            f"{units} {verb(len(absent), 'have')} no passage{named(absent)}, so {they} never found.",
            f"{ceiling}.",
            "Add the documents, run OCR on scanned pages, or remove the judgments.",
            len(absent),
            len(np.unique(relevant(dataset, level)[1])),
            tuple(absent),
            {"highest_recall": float(shares.mean()), "unanswerable_queries": unanswerable},
        )


class PagesWithoutText(Finder):
    """Pages without text."""

    kind = "pages_without_text"

    def find(self, audited: Audited) -> Iterator[Finding]:
        """A finding that says which of them have a picture, if the dataset can tell."""
        if empty := audited.items.empty_pages:
            dataset = audited.dataset
            pictures: Sequence[str] = dataset.pictures(empty) if isinstance(dataset, KnowsPictures) else ()
            pages = {(passage.source, passage.page_number) for passage in audited.items.passages}
            yield Finding(
                self.kind,
                f"{counted(len(empty), 'page')} without text{named(empty)}"
                + (f"; {len(pictures)} with a picture{named(pictures)}." if pictures else "."),
                "They are never retrieved.",
                "Run OCR on those that are scanned; blank pages are harmless.",
                len(empty),
                len(empty) + len(pages),
                tuple(empty),
                {"with_picture": list(pictures)},
            )


class QueriesWithoutJudgments(Finder):
    """Queries without a judgment that need one."""

    kind, of_rankings = "queries_without_judgments", True

    def find(self, audited: Audited) -> Iterator[Finding]:
        """A finding that names them."""
        judged = {*audited.items.qrels.query.tolist()}
        asked = [(row, query) for row, query in enumerate(audited.items.queries) if query.answerable]
        if unjudged := [query for row, query in asked if row not in judged]:
            yield Finding(
                self.kind,
                f"{counted(len(unjudged), 'query')} without a judgment{_texts(unjudged)}.",
                "They are left out of every mean.",
                "Judge them, mark them with answerable: false if the documents do not answer them, or remove them.",
                len(unjudged),
                len(asked),
                _ids(unjudged),
            )


class QueriesWithoutRelevant(Finder):
    """Judged queries without anything relevant."""

    kind, of_rankings = "queries_without_relevant", True

    def find(self, audited: Audited) -> Iterator[Finding]:
        """A finding that names them."""
        dataset = audited.items
        of_relevant = relevant(dataset, audited.relevance_level)[0]
        if rows := np.setdiff1d(dataset.qrels.query, of_relevant).tolist():
            queries = [dataset.queries[row] for row in rows]
            yield Finding(
                self.kind,
                f"{counted(len(rows), 'query')} without a relevant {dataset.unit}{_texts(queries)}.",
                f"They score 0{but_graded(dataset, rows)}.",
                "Judge what answers them, lower evaluation.relevance_level, or remove them.",
                len(rows),
                len(dataset.queries),
                _ids(queries),
            )


class NothingFound(Finder):
    """Queries for which the retriever finds nothing."""

    kind = "nothing_found"

    def depends_on(self, audited: Audited) -> Sequence[object] | None:
        """On what is searched, and by what."""
        if audited.retriever is None:
            return None
        of_index = [digest_texts(audited.items.indexed_texts)] if audited.items.indexed else []
        return [*audited.key, identity(audited.retriever), *of_index]

    def find(self, audited: Audited) -> Iterator[Finding]:
        """A finding for each reason."""
        dataset, retriever = audited.items, audited.retriever
        if not isinstance(retriever, ExplainsSilence):
            return
        asked = np.unique(dataset.qrels.query)
        for silent in silent_queries(retriever, search_of(dataset), asked):
            yield Finding(
                self.kind,
                silent.problem(dataset, len(asked)),
                "They score 0." if silent.silence.whole else "Only the other parts rank passages for them.",
                silent.advice,
                len(silent.rows),
                len(asked),
                _ids([dataset.queries[row] for row in silent.rows]),
                {"part": silent.silence.part, "reason": silent.silence.reason},
            )


class ReferencesWithoutOffsets(Finder):
    """References that are not at exactly one place."""

    kind = "references_without_offsets"

    def find(self, audited: Audited) -> Iterator[Finding]:
        """A finding that names their queries."""
        references = audited.items.references
        if unplaced := [each for each in references if not each.has_offsets]:
            yield Finding(
                self.kind,
                f"{counted(len(unplaced), 'reference')} not at exactly one place of the document"
                f"{named([quoted(each.text) for each in unplaced])}.",
                "They can only be compared by their words, not by characters.",
                "Copy them exactly from the document, or give start_index and end_index.",
                len(unplaced),
                len(references),
                tuple(each.query_id for each in unplaced),
            )


class QuestionsLeftOut(Finder):
    """Questions that were left out."""

    kind, of_rankings = "questions_left_out", True

    def find(self, audited: Audited) -> Iterator[Finding]:
        """A finding that says why."""
        asked, left_out = len({*audited.items.qrels.query.tolist()}), audited.items.left_out
        if sentences := about_left_out(audited.items, asked):
            faulty = tuple(each.text for each in left_out.faulty)
            yield Finding(self.kind, *sentences, left_out.number, left_out.number + asked, faulty)


class SkippedDocuments(Finder):
    """Documents that were left out."""

    kind = "skipped_documents"

    def find(self, audited: Audited) -> Iterator[Finding]:
        """A finding that names them."""
        if skipped := audited.items.skipped:
            yield Finding(
                self.kind,
                f"{counted(len(skipped), 'document')} left out by dataset.skip{named(skipped)}.",
                "What they contain cannot be retrieved.",
                "Repair the files if they matter.",
                len(skipped),
                len(skipped) + len({passage.source for passage in audited.items.passages}),
                tuple(skipped),
            )


def _texts(queries: Sequence[Query]) -> str:
    return named([quoted(query.text) for query in queries])


def _ids(queries: Sequence[Query]) -> tuple[str, ...]:
    return tuple(query.query_id for query in queries)


def _below_1(mean: float) -> str:
    """A mean below 1 with as many digits as show that."""
    return next(text for digits in range(3, 18) if (text := f"{mean:.{digits}f}") < "1")
