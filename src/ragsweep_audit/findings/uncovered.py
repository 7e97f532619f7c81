"""What cannot be found or measured: units and pages without text, queries without judgments or results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ragsweep.core.digest import digest_texts
from ragsweep.core.terminal import counted, named, quoted, verb
from ragsweep.retrieval import Ranker, rank
from ragsweep.retrieval.stages import store_of
from ragsweep.store.identity import identity
from ragsweep.tasks.ranking.coverage import about_left_out, absent_units, but_graded, findable, relevant
from ragsweep.tasks.ranking.nothing_found import sentence, without_passages
from ragsweep.tasks.search import search_of
from ragsweep.tasks.task import LEAST_DEPTH
from ragsweep_audit.findings.finding import Audited, Finder, Finding


class AbsentUnits(Finder):
    """What is relevant and has no passage."""

    kind = "absent_units"
    advice = "Add the documents, run OCR on scanned pages, or remove the judgments."

    def find(self, audited: Audited) -> Iterator[Finding]:
        """A finding that says which recall can be reached."""
        dataset, level = audited.items, audited.relevance_level
        if absent := absent_units(dataset, level):
            _, shares = findable(dataset, level)
            judged, unanswerable = len(np.unique(relevant(dataset, level)[1])), int((shares == 0).sum())
            cost = f"Recall can reach at most {_below_1(shares.mean())}"
            if unanswerable:
                cost += f", as nothing relevant can be found for {counted(unanswerable, 'query')} of {len(shares)}"
            units, are = counted(len(absent), f"relevant {dataset.unit}"), "it is" if len(absent) == 1 else "they are"
            problem = f"{units} {verb(len(absent), 'have')} no passage{named(absent)}, so {are} never found."
            details = {"highest_recall": float(shares.mean()), "unanswerable_queries": unanswerable}
            yield self.finding(problem, absent, judged, cost=f"{cost}.", **details)


class PagesWithoutText(Finder):
    """Pages without text."""

    kind = "pages_without_text"
    cost = "They are never retrieved."
    advice = "Run OCR on those that are scanned; blank pages are harmless."

    def find(self, audited: Audited) -> Iterator[Finding]:
        """A finding that says which of them have a picture, if the dataset can tell."""
        if empty := audited.items.empty_pages:
            dataset = audited.dataset
            corpus = dataset.documents_alone() if dataset else None
            pictures: Sequence[str] = corpus.pictures(empty) if corpus else ()
            shown = f"; {len(pictures)} with a picture{named(pictures)}" if pictures else ""
            pages = {(passage.source, passage.page_number) for passage in audited.items.passages}
            problem = f"{counted(len(empty), 'page')} without text{named(empty)}{shown}."
            yield self.finding(problem, empty, len(empty) + len(pages), with_picture=[*pictures])


class QueriesWithoutJudgments(Finder):
    """Queries without a judgment that need one."""

    kind, of_rankings = "queries_without_judgments", True
    cost = "They are left out of every mean."
    advice = "Judge them, mark them with answerable: false if the documents do not answer them, or remove them."

    def find(self, audited: Audited) -> Iterator[Finding]:
        """A finding that names them."""
        judged = {*audited.items.qrels.query.tolist()}
        asked = [(row, query) for row, query in enumerate(audited.items.queries) if query.answerable]
        if unjudged := [query for row, query in asked if row not in judged]:
            yield self.of_queries(unjudged, f"{counted(len(unjudged), 'query')} without a judgment", len(asked))


class QueriesWithoutRelevant(Finder):
    """Judged queries without anything relevant."""

    kind, of_rankings = "queries_without_relevant", True
    advice = "Judge what answers them, lower evaluation.relevance_level, or remove them."

    def find(self, audited: Audited) -> Iterator[Finding]:
        """A finding that names them."""
        dataset = audited.items
        if rows := np.setdiff1d(dataset.qrels.query, relevant(dataset, audited.relevance_level)[0]).tolist():
            queries = [dataset.queries[row] for row in rows]
            problem = f"{counted(len(rows), 'query')} without a relevant {dataset.unit}"
            cost = f"They score 0{but_graded(dataset, rows)}."
            yield self.of_queries(queries, problem, len(dataset.queries), cost=cost)


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
        """A finding that names them. A retriever with an encoder ranks passages for every query.

        One that keeps no rankings is not asked for this alone.
        """
        dataset, retriever, asked = audited.items, audited.retriever, np.unique(audited.items.qrels.query)
        if isinstance(retriever, Ranker) and audited.encoder is None and store_of(retriever) is not None:
            rows = without_passages(rank(retriever, search_of(dataset), LEAST_DEPTH), asked)
            if len(rows):
                ids = [dataset.queries[row].query_id for row in rows.tolist()]
                yield self.finding(sentence(dataset, rows, len(asked)), ids, len(asked), cost="They score 0.")


class ReferencesWithoutOffsets(Finder):
    """References that are not at exactly one place."""

    kind = "references_without_offsets"
    cost = "They can only be compared by their words, not by characters."
    advice = "Copy them exactly from the document, or give start_index and end_index."

    def find(self, audited: Audited) -> Iterator[Finding]:
        """A finding that names their queries."""
        references = audited.items.references
        if unplaced := [reference for reference in references if not reference.has_offsets]:
            texts = named([quoted(reference.text) for reference in unplaced])
            problem = f"{counted(len(unplaced), 'reference')} not at exactly one place of the document{texts}."
            yield self.finding(problem, [reference.query_id for reference in unplaced], len(references))


class QuestionsLeftOut(Finder):
    """Questions that were left out."""

    kind, of_rankings = "questions_left_out", True

    def find(self, audited: Audited) -> Iterator[Finding]:
        """A finding that says why."""
        asked, left_out = len({*audited.items.qrels.query.tolist()}), audited.items.left_out
        if sentences := about_left_out(audited.items, asked):
            (problem, cost, advice), faulty = sentences, [question.text for question in left_out.faulty]
            about = {"count": left_out.number, "cost": cost, "advice": advice}
            yield self.finding(problem, faulty, left_out.number + asked, **about)


class SkippedDocuments(Finder):
    """Documents that were left out."""

    kind = "skipped_documents"
    cost = "What they contain cannot be retrieved."
    advice = "Repair the files if they matter."

    def find(self, audited: Audited) -> Iterator[Finding]:
        """A finding that names them."""
        if skipped := audited.items.skipped:
            documents = {passage.source for passage in audited.items.passages}
            problem = f"{counted(len(skipped), 'document')} left out by dataset.skip{named(skipped)}."
            yield self.finding(problem, skipped, len(skipped) + len(documents))


def _below_1(mean: float) -> str:
    """A mean below 1 with as many digits as show that."""
    return next(text for digits in range(3, 18) if (text := f"{mean:.{digits}f}") < "1")
