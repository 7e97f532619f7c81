"""Everything that a run records of a ranking: scores, costs, tables, files, and what is unusual about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ragsweep.core.csv_files import TIME
from ragsweep.core.trec_files import TAG
from ragsweep.datasets import Dataset
from ragsweep.retrieval import Ranker, Ranking
from ragsweep.retrieval.kinds import Method, Retriever
from ragsweep.tasks.false_finds import FalseFinds
from ragsweep.tasks.ranking import incomplete_judgments as incomplete
from ragsweep.tasks.ranking import nothing_found
from ragsweep.tasks.ranking import ranking_charts as charts
from ragsweep.tasks.ranking import ranking_costs as costs
from ragsweep.tasks.ranking import ranking_false_finds as finds
from ragsweep.tasks.ranking import ranking_tables as tables
from ragsweep.tasks.ranking.conventions import INDEX_HEADING, conventions, lost_neighbours
from ragsweep.tasks.ranking.coverage import about_coverage
from ragsweep.tasks.ranking.shown import Measuring, Shown
from ragsweep.tasks.ranking.unread_texts import unread_texts
from ragsweep.tasks.run_check import Checked
from ragsweep.tasks.search import STAGE_SETTINGS, search_of
from ragsweep.tasks.task import Measurement

ABOUT_SOME_QUERIES = (tables.ANSWERABLE, finds.PASSAGES.heading, incomplete.HEADING)  # headings


@dataclass(frozen=True)
class MeasuredRanking:
    """A ranking, and what is returned for it, measured.

    Attributes:
        measuring: How it was measured.
        retriever: What ranked.
        ranker: The same with the stages around it.
        items: The dataset.
        ranking: Of all its queries.
        shown: What is returned.
    """

    measuring: Measuring
    retriever: Retriever
    ranker: Ranker
    items: Dataset
    ranking: Ranking
    shown: Shown

    def measurement(self, false_finds: FalseFinds | None) -> Measurement:
        """Everything, with what is found for questions without an answer, if there are any."""
        items, ranking, shown, evaluation = self.items, self.ranking, self.shown, self.shown.evaluation
        queries, k, budget = evaluation.judged.queries, self.measuring.k, self.measuring.budget
        lacking, circumstances = incomplete.recorded(evaluation, items), self._circumstances()
        ends_at = next((checked.facts["ends_at"] for checked in circumstances if "ends_at" in checked.facts), None)
        asked = f", {items.left_out.of_all(len(queries), 'query')}" if items.left_out.number else ""
        texts = self.ranker.details(search_of(items))
        details = {name: [column[row] for row in queries] for name, column in texts.items()}
        times = costs.times_of(ranking, queries)
        numbers = {} if np.isnan(times).all() else {TIME: times}
        if self.ranker.has_scores:
            numbers["mean_score"] = tables.mean_scores(evaluation, shown.ranking)
        level, tokenizer = evaluation.judged.relevance_level, self.measuring.counter[0]
        returned = {"returned": (shown.characters, tokenizer)} if shown.characters else {}
        measurement = Measurement(
            items=tables.queries(evaluation, shown.items),
            scores=evaluation.scores,
            details={"retrieved": tables.retrieved(evaluation, shown.items), **details},
            numbers=numbers,
            curves=costs.curves(evaluation, shown.tokens),
            measures=[
                *costs.measures(ranking, queries, shown.context, items, level, lacking=lacking.facts),
                *costs.indexed(items, self.measuring.counter),
            ],
            cutoff="k" if budget is None else "budget",
            facts={**tables.facts(evaluation, items), **returned},
            not_measured=finds.not_measured(self.retriever, items),
            method=self._method,
            files={
                "ranking.trec": tables.run_lines(evaluation.judged, shown.ranking, shown.items, TAG),
                "qrels.trec": tables.qrels_lines(shown.items),
                **self.ranker.files,
            },
            condition=(f"at k = {k}" if budget is None else f"within {budget:,} tokens") + asked,
            cutoff_unit=costs.TOKENS.unit if budget else "",
            charts=(charts.draw, evaluation, ends_at),
        )
        for checked in (*circumstances, costs.about_timed(times), tables.on_answerable(evaluation, items)):
            measurement = checked.added_to(measurement)
        if false_finds:
            measurement = false_finds.added_to(measurement, evaluation.resamples, evaluation.seed)
        for checked in (finds.about_unmeasured(measurement.not_measured), lacking):
            measurement = checked.added_to(measurement)
        sections = [measurement.sections[name] for name in ABOUT_SOME_QUERIES if name in measurement.sections]
        return replace(measurement, summary=sections[0] if sections else ())

    def _circumstances(self) -> Sequence[Checked]:
        """What decides a ranking besides the retriever: its index, conventions, what is not found, and the data."""
        items, ranking, k, budget = self.items, self.ranking, self.measuring.k, self.measuring.budget
        judged, search = self.shown.evaluation.judged, search_of(items)
        by_k = budget is None and self.shown.evaluation.places is None
        of_ranker = self.ranker.sections(search)
        lost = lost_neighbours(ranking, min(self.measuring.depth, len(items.passages)))
        return (
            Checked.section(INDEX_HEADING, lost, cautions=lost),
            conventions(self.ranker, search, items, judged.queries, ranking=ranking, k=k, counts_passages=by_k),
            about_coverage(items, judged.relevance_level),
            nothing_found.about_nothing_found(items, judged.queries, ranking),
            Checked(notices=[line for sentences in of_ranker.values() for line in sentences], sections=of_ranker),
            unread_texts(self.ranker, search, ranking, judged.queries, self.measuring.counter[1]),
            tables.doubts_of_data(self.shown, items, k, budget),
        )

    @property
    def _method(self) -> Method:
        """The retriever's own, which is not the usual one with stages around it."""
        own = self.retriever.method
        method = own if self.ranker is self.retriever else Method(stands_for=own.stands_for)
        stands_for = {f"retriever.{name}": value for name, value in method.stands_for.items()}
        return replace(method, stands_for=stands_for, chosen_by=("strategy", "retriever", *STAGE_SETTINGS))
