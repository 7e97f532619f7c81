"""How well questions are answered from what is retrieved: what a run of answering measures."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ragsweep.config.run_settings import Cutoff, Repeats, Seed
from ragsweep.core.csv_files import TIME
from ragsweep.core.digest import digest
from ragsweep.core.errors import ConfigError, DatasetError
from ragsweep.core.limits import TokenizerName
from ragsweep.core.timing import put_together
from ragsweep.datasets import Chunker, Dataset, DatasetFormat
from ragsweep.models.encoders.tokenizer import BY_WORDS
from ragsweep.retrieval import Ingest, Ranker, Ranking, Reranker, Rewriter, rank
from ragsweep.retrieval.ingest.ingest import dataset_of
from ragsweep.retrieval.kinds import Expander, Method, Retriever
from ragsweep.store.component import expect_kind
from ragsweep.store.stage_store import Store
from ragsweep.tasks.false_finds import NONE_MARKED
from ragsweep.tasks.metric import Metric
from ragsweep.tasks.ranking.coverage import say_left_out, unanswerable
from ragsweep.tasks.ranking.nothing_found import check_found
from ragsweep.tasks.ranking.ranking_explanation import find
from ragsweep.tasks.ranking.unread_texts import unread_texts
from ragsweep.tasks.search import (
    FEW_RESAMPLES,
    STAGE_SETTINGS,
    Retrieval,
    check_ingest,
    groups_of,
    in_stages,
    search_of,
    some_queries,
)
from ragsweep.tasks.task import LEAST_DEPTH, Measurement, Record, Task
from ragsweep_answers.answering import Answer, Answerer, Question, answer, ask_apart
from ragsweep_answers.measuring import answer_charts as charts
from ragsweep_answers.measuring import answer_tables as tables
from ragsweep_answers.measuring import scores
from ragsweep_answers.measuring.answer_claims import HEADING, claims_of
from ragsweep_answers.measuring.answer_evaluation import Evaluation, evaluate, quality_of
from ragsweep_answers.measuring.answer_explanation import explanation
from ragsweep_answers.measuring.answer_settings import AnswerSettings, Probability
from ragsweep_answers.measuring.case_table import case_table, doubts_of_controls, retrieves
from ragsweep_answers.measuring.contexts import (
    CONTROLS,
    NEED_RANKING,
    Source,
    about_evidence,
    context_tokens,
    contexts,
    lacks_source,
    questions,
    relevant_units,
    with_answer,
    with_known_units,
    with_own_evidence,
)
from ragsweep_answers.measuring.false_answers import ANSWER_FILE, ANSWERS, with_false_answers
from ragsweep_answers.measuring.measures.confidence import BRIER, ECE, confidence_scores, confidence_summary
from ragsweep_answers.measuring.scores import ACCURACY, MEASURES

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class AnswersTask(Task):
    """Answers multiple-choice questions from evidence, and measures accuracy, confidence, reasoning and safety.

    Attributes:
        dataset: Reads cases, and documents if there are any.
        chunker: Cuts the documents into passages.
        retriever: Ranks the passages for each case.
        answerer: Answers the questions.
        evaluation: How answers are measured.
        k: How many passages the answerer gets.
        seed: Of every random draw.
        store: Keeps where documents were cut, and how many tokens passages have.
        evidence: What the questions are answered from; see `contexts`.
        tokenizer: Counts the tokens of the evidence: a model by its folder or name on the hub, or `words`.
        ingest: Says what is indexed for each passage besides its own text, which the answerer gets; None adds nothing.
        query: Changes the queries before the retriever searches for them; None does not change them.
        reranker: Reorders the first passages; None leaves their order.
        dynamic_k: Drops the last passages of a ranking; None keeps all.
        repeats: How often a configuration is measured whose answers vary.
        confidence_threshold: The lowest confidence of an answer that is given. One with less, or without a confidence,
            is withheld; None gives all.
    """

    loads: ClassVar[Sequence[str]] = ("dataset", "chunker", "ingest", "store")
    optional_metrics: ClassVar[Sequence[Metric]] = ANSWERS.metrics

    dataset: DatasetFormat
    chunker: Chunker
    retriever: Retriever
    answerer: Answerer
    evaluation: AnswerSettings
    k: Cutoff
    seed: Seed
    store: Store
    evidence: Source = "retrieved"
    tokenizer: TokenizerName = BY_WORDS
    ingest: Ingest | None = None
    query: Rewriter | Expander | None = None
    reranker: Reranker | None = None
    dynamic_k: Reranker | None = None
    repeats: Repeats = 1
    confidence_threshold: Probability | None = None

    def __post_init__(self) -> None:
        if self._retrieves:
            self._ranker  # noqa: B018 - fails here if a stage is of another kind
        check_ingest(self.retriever, self.ingest)
        expect_kind(self.answerer, Answerer, "answerer")

    @property
    def metrics(self) -> Sequence[Metric]:
        """Accuracy, and how well the confidence fits it if the answerer states one."""
        return [ACCURACY, BRIER, ECE] if self.answerer.has_confidence else [ACCURACY]

    @property
    def measures(self) -> Sequence[Metric]:
        """What may be measured besides the metrics: evidence, controls, reasoning, safety, time and tokens."""
        return MEASURES

    @property
    def without_effect(self) -> Sequence[str]:
        """Settings that have no effect on these answers: recorded ones exist already, others need no retrieval."""
        given = () if self.confidence_threshold is not None else ("confidence_threshold",)
        if self.answerer.recorded:
            return (*given, "retriever", *STAGE_SETTINGS, "evidence", "tokenizer", "evaluation.controls")
        if not self._retrieves:
            return (*given, "retriever", *STAGE_SETTINGS, "k")
        return (*given, *(name for name in STAGE_SETTINGS if getattr(self, name) is None))

    def lacks(self, items: Dataset) -> str:
        """Why the metrics of some datasets are not measured of this one; empty if they are."""
        return "" if len(unanswerable(items)) else NONE_MARKED

    def load(self) -> Dataset:
        """Read the cases, read and cut the documents, and print what is left out of both."""
        dataset = dataset_of(self.dataset, self.chunker, self.ingest, self.store)
        if not dataset.cases:
            another = "choose another dataset, such as dataset=clinical_cases"
            raise DatasetError(f"{dataset.name}: has no multiple-choice cases to answer; {another}")
        if len(unanswerable(dataset)) == len(dataset.cases):
            raise DatasetError(f"{dataset.name}: all cases are marked answerable: false; expected one with an answer")
        say_left_out(dataset, len(dataset.cases))
        return dataset

    def check(self, items: Dataset) -> None:
        """Raise an error if the dataset has not the evidence that is asked for, or recorded answers do not fit it."""
        if self.confidence_threshold and ECE not in self.metrics:
            raise ConfigError("task.confidence_threshold: no confidence is stated, so every answer would be withheld")
        if self.answerer.recorded:
            self._answered(items, ["none"], None)
        else:
            if why := lacks_source(items, self.evidence, self._level):
                raise DatasetError(f"{items.name}: {why}")
            if self._retrieves:
                self._ranker.check(search_of(items, as_indexed=False))

    @property
    def retrieval(self) -> Retrieval:
        """For checks of a run."""
        retriever = self.retriever if self._retrieves else None
        return Retrieval(self.dataset, retriever, retriever, self._level, self.store, is_measured=False)

    def item_groups(self, items: Dataset) -> Mapping[str, str]:
        """The cases that have an answer, with their groups."""
        if self._source == "placebo":
            raise ConfigError("hydra/sweeper=race: evidence=placebo is that of another question, so it does not race")
        return groups_of(with_answer(items)[0].queries)

    def measure_some(self, items: Dataset, ids: Collection[str]) -> Measurement:
        """Measure these cases alone, without controls, and with few resamples, as nobody reads their intervals."""
        alone = replace(self, evaluation=replace(self.evaluation, controls=(), resamples=FEW_RESAMPLES))
        return alone.measure(some_queries(items, ids), few=True)

    def measure(self, items: Dataset, *, few: bool = False) -> Measurement:
        """Retrieve, answer and measure; of a `few` questions, confidence is measured, too."""
        answerable, rows = with_answer(items)
        sources = [self._source, *self._controls(answerable)]
        ranking = self._rank(items, *sources)
        answered = self._answered(items, sources, ranking)
        everything, ranking = answered.pop(self._source), ranking and ranking.rows(rows)
        cases, unanswered = everything.iloc[rows].reset_index(drop=True), everything[~everything.index.isin(rows)]
        if not (self.answerer.recorded or retrieves(cases["answer"])):
            cases = cases.assign(**context_tokens(answerable, cases["question"], self.tokenizer, self.store))
        quality = quality_of(cases, self._source, answerable, ranking, k=self.k, settings=self.evaluation)
        evaluation = evaluate(cases, self._source, answered, quality, settings=self.evaluation, dataset=items.name)
        doubts = doubts_of_controls(cases, self._source, answered)
        measured = self._measured(answerable, evaluation, [*doubts], why="" if few else evaluation.uncalibrated)
        if ranking and self._source in NEED_RANKING:
            queries = np.arange(len(answerable.queries))
            unread = unread_texts(self._ranker, search_of(answerable), ranking, queries, self.store)
            measured = unread.added_to(measured)
        drawn = self.evaluation.resamples, self.seed
        return with_false_answers(measured, cases, unanswered, *drawn) if len(unanswered) else measured

    def explain(self, items: Dataset, query: str, record: Record, width: int) -> Iterator[str]:
        """Explain the answer to a case, line by line, for a terminal of `width` columns."""
        row = find(query, items.queries)
        asked = questions(items, contexts(items, self._source, self._rank(items, self._source), self.k, self._level))
        asks = asked if self.answerer.recorded else [asked[row]]  # a file is read as a whole
        units = [items.units[unit] for unit in relevant_units(items, self._level)[row]]
        given = self._ask(items, asks, self._source)[row if self.answerer.recorded else 0]
        [question] = with_own_evidence(items, [asked[row]], [given])
        return explanation(record, items.cases[row], question, given, units, width=width)

    @property
    def _ranker(self) -> Ranker:
        """The retriever with the stages before and after it."""
        return in_stages(self.retriever, self.query, self.reranker, self.dynamic_k)

    @property
    def _source(self) -> Source:
        return "none" if self.answerer.recorded else self.evidence

    @property
    def _level(self) -> int:
        return self.evaluation.relevance_level

    @property
    def _retrieves(self) -> bool:
        return not self.answerer.recorded and not {*NEED_RANKING}.isdisjoint((self.evidence, *self.evaluation.controls))

    def _controls(self, answerable: Dataset) -> list[Source]:
        """The other evidence that the cases with an answer have."""
        wanted = (
            [] if self.answerer.recorded else [source for source in self.evaluation.controls if source != self.evidence]
        )
        return [source for source in dict.fromkeys(wanted) if not lacks_source(answerable, source, self._level)]

    def _rank(self, items: Dataset, *sources: Source) -> Ranking | None:
        """The ranking of the passages for every case; None if these sources of evidence need none."""
        if {*NEED_RANKING}.isdisjoint(sources):
            return None
        ranking = rank(self._ranker, search := search_of(items), max(LEAST_DEPTH, self.k))
        if self._source in NEED_RANKING:
            check_found(self._ranker, search, ranking)
        return ranking

    def _answered(
        self, items: Dataset, sources: Sequence[Source], ranking: Ranking | None
    ) -> dict[Source, pd.DataFrame]:
        """The answers to all questions with the first kind of evidence, and to those that have an answer with others.

        They are asked in no telling order.
        """
        answered: dict[Source, pd.DataFrame] = {}
        answerable, rows = with_answer(items)
        for source in sorted(sources, key=lambda source: digest([items.digest, source])):
            cases, ranked = (items, ranking) if source == sources[0] else (answerable, ranking and ranking.rows(rows))
            asked = questions(cases, contexts(cases, source, ranked, self.k, self._level))
            given = self._ask(items, asked, source)
            own = with_own_evidence(cases, asked, given)
            answered[source] = case_table(cases, own, given, source, self.confidence_threshold)
        return {source: answered[source] for source in sources}

    def _ask(self, items: Dataset, asked: Sequence[Question], source: Source) -> list[Answer]:
        """Answers to questions; recorded ones are found by the ids of the cases."""
        if self.answerer.recorded:
            return with_known_units(items, asked, answer(self.answerer, asked, items.left_out.ids))
        return ask_apart(self.answerer, asked, digest([items.digest, source]))

    def _measured(self, items: Dataset, evaluation: Evaluation, doubts: list[str], why: str) -> Measurement:
        """Everything that is recorded of the answers; `why` is why confidence is not measured, if it is not."""
        asked = items.left_out.of_all(len(items.cases))
        if ECE in self.metrics and not why:
            answers = evaluation.values("confidence"), evaluation.values("right")
            drawn: dict[str, Any] = {"bins": self.evaluation.bins, "groups": evaluation.groups}
            drawn |= {"resamples": self.evaluation.resamples, "seed": self.seed}
            errors = confidence_scores(*answers, **drawn, unread=scores.UNREAD_CONFIDENCE)
            evaluation = replace(evaluation, confidence=confidence_summary(*answers, **drawn), calibration=errors)
        metrics = [scores.accuracy_score(evaluation), *evaluation.calibration]
        given = evaluation.cases["answer"]
        timed = [answer.machines for answer in given if answer.time_ms is not None]
        counted = scores.measures(evaluation, None if self.answerer.recorded else put_together(timed))
        claims = claims_of(evaluation, metrics, counted, asked=asked, recorded=self.answerer.recorded)
        sections = {heading: [claim.sentence for claim in of_heading] for heading, of_heading in claims.items()}
        return Measurement(
            items=tables.items(items),
            scores=metrics,
            details=tables.details(evaluation),
            numbers={TIME: evaluation.values("time_ms")} if timed else {},
            curves=evaluation.evidence.curves if evaluation.evidence else {},
            measures=counted,
            facts=tables.facts(evaluation, metrics, counted),
            findings=[*about_evidence(items, retrieved=retrieves(given)), *doubts],
            sections=sections,
            summary=sections[HEADING],
            method=self._method,
            tables=tables.tables(evaluation),
            files={ANSWER_FILE: tables.answer_lines(evaluation.cases)},
            condition=f"of {asked}",
            control=CONTROLS.get(self._source, ""),
            charts=(charts.draw, evaluation),
            not_measured={
                metric.name: why for metric in self.metrics if metric not in [score.metric for score in metrics]
            },
        )

    @property
    def _method(self) -> Method:
        if self.answerer.recorded:
            return Method(self.answerer.system, chosen_by=("answerer", "answerer.path", "answerer.name"))
        return replace(self.retriever.method, name="", stands_for={}, chosen_by=("answerer", "reasoning"), vary="")
