"""How well questions are answered from what is retrieved: what a run of answering measures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from ragsweep.config.run_settings import Cutoff, Repeats, Seed
from ragsweep.core.digest import digest
from ragsweep.core.errors import ConfigError, DatasetError
from ragsweep.core.limits import TokenizerName
from ragsweep.core.timing import put_together
from ragsweep.datasets import Chunker, Dataset, DatasetFormat
from ragsweep.models.encoders.tokenizer import BY_WORDS
from ragsweep.retrieval import Ingest, Ranker, Ranking, Reranker, Rewriter, rank
from ragsweep.retrieval.ingest.ingest import dataset_of
from ragsweep.retrieval.kinds import Expander, Method, Retriever
from ragsweep.retrieval.ranking_checks import expect_method
from ragsweep.statistics.groups import Groups
from ragsweep.statistics.intervals import Array
from ragsweep.store.stage_store import Store
from ragsweep.tasks.false_finds import NONE_MARKED
from ragsweep.tasks.metric import Metric
from ragsweep.tasks.ranking.coverage import say_left_out, unanswerable
from ragsweep.tasks.ranking.nothing_found import check_found
from ragsweep.tasks.ranking.ranking_explanation import find
from ragsweep.tasks.search import STAGE_SETTINGS, Retrieval, check_ingest, in_stages, search_of
from ragsweep.tasks.task import LEAST_DEPTH, Measurement, Record
from ragsweep_answers.answering import Answer, Answerer, Question, answer, ask_apart
from ragsweep_answers.answering.question import SaysIfConfident, SaysIfRecorded
from ragsweep_answers.measuring import answer_charts as charts
from ragsweep_answers.measuring import answer_sentences as words
from ragsweep_answers.measuring import answer_tables as tables
from ragsweep_answers.measuring import scores
from ragsweep_answers.measuring.answer_evaluation import Evaluation, evaluate, quality_of
from ragsweep_answers.measuring.answer_explanation import Explanation
from ragsweep_answers.measuring.answer_settings import AnswerSettings, Probability
from ragsweep_answers.measuring.answered import Answered, doubts_of_controls
from ragsweep_answers.measuring.contexts import (
    CONTROLS,
    NEED_RANKING,
    Planned,
    Source,
    about_evidence,
    check_source,
    context_tokens,
    contexts,
    has_source,
    planned,
    questions,
    relevant_units,
    with_answer,
    with_known_units,
    with_own_evidence,
    with_unread,
)
from ragsweep_answers.measuring.false_answers import ANSWERS, parted, with_false_answers
from ragsweep_answers.measuring.measures.confidence import BRIER, ECE, Confidence, confidence_scores
from ragsweep_answers.measuring.scores import ACCURACY, MEASURES


@dataclass(frozen=True)
class AnswersTask:
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
    metrics_of_some: ClassVar[Sequence[Metric]] = ANSWERS.metrics

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
        expect_method(self.answerer, "answer", "answerer")

    @property
    def metrics(self) -> Sequence[Metric]:
        """Accuracy, and how well the confidence fits it if the answerer states one."""
        unsure = isinstance(self.answerer, SaysIfConfident) and not self.answerer.has_confidence
        return [ACCURACY] if unsure else [ACCURACY, BRIER, ECE]

    @property
    def measures(self) -> Sequence[Metric]:
        """What may be measured besides the metrics: evidence, controls, reasoning, safety, time and tokens."""
        return MEASURES

    @property
    def without_effect(self) -> Sequence[str]:
        """Settings that have no effect on these answers: recorded ones exist already, others need no retrieval."""
        given = () if self.confidence_threshold is not None else ("confidence_threshold",)
        if self._recorded:
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
        if self._recorded:
            self._answered(items, self._planned(items, "none"))
        else:
            check_source(items, self.evidence, self.evaluation.relevance_level)
            if self._retrieves:
                self._ranker.check(search_of(items, as_indexed=False))

    @property
    def retrieval(self) -> Retrieval:
        """For checks of a run."""
        retriever = self.retriever if self._retrieves else None
        return Retrieval(self.dataset, retriever, retriever, self._level, self.store, is_measured=False)

    def measure(self, items: Dataset) -> Measurement:
        """Retrieve, answer and measure."""
        return self.measure_repeats([(self, items)])[0]

    def measure_repeats(self, repeats: Sequence[tuple[AnswersTask, Dataset]]) -> list[Measurement]:
        """The same for each repeat."""
        plans = [task._planned(items, task._source, *task._controls(items)) for task, items in repeats]
        return [task._measure(items, plan) for (task, items), plan in zip(repeats, plans, strict=True)]

    def _measure(self, items: Dataset, asked_of: Planned) -> Measurement:
        everything, *compared = self._answered(items, asked_of)
        known, rows = with_answer(items)
        answered, none = (everything, None) if known is items else parted(everything, rows)
        others: dict[str, Array] = {each.source: each.correct_as_control for each in compared}
        quality = quality_of(answered, known, asked_of.ranking, self.k, self.evaluation)
        evaluation = evaluate(answered, quality, others, self.evaluation, items.name)
        measured = self._measured(known, answered, evaluation, [*doubts_of_controls(answered, compared)])
        measured = with_unread(measured, asked_of, self._ranker, known, self.store)
        drawn = self.evaluation.resamples, self.seed
        return with_false_answers(measured, everything, rows, *drawn) if none else measured

    def explain(self, items: Dataset, query: str, record: Record, width: int) -> Iterator[str]:
        """Explain the answer to a case, line by line, for a terminal of `width` columns."""
        row = find(query, items.queries)
        asked = questions(items, contexts(items, self._source, self._rank(items, self._source), self.k, self._level))
        asks = asked if self._recorded else [asked[row]]  # a file is read as a whole
        units = frozenset(items.units[unit] for unit in relevant_units(items, self._level)[row])
        given = self._ask(items, asks, self._source)[row if self._recorded else 0]
        [question] = with_own_evidence(items, [asked[row]], [given])
        return Explanation(record, items.cases[row], question, given, units).text(width)

    @property
    def _recorded(self) -> bool:
        return isinstance(self.answerer, SaysIfRecorded) and self.answerer.recorded

    @property
    def _ranker(self) -> Ranker:
        """The retriever with the stages before and after it."""
        return in_stages(self.retriever, self.query, self.reranker, self.dynamic_k)

    @property
    def _source(self) -> Source:
        return "none" if self._recorded else self.evidence

    @property
    def _level(self) -> int:
        return self.evaluation.relevance_level

    @property
    def _retrieves(self) -> bool:
        return not self._recorded and not {*NEED_RANKING}.isdisjoint((self.evidence, *self.evaluation.controls))

    def _controls(self, items: Dataset) -> list[Source]:
        """The other evidence that this dataset has for the same questions."""
        wanted = [] if self._recorded else dict.fromkeys(self.evaluation.controls)
        known, _ = with_answer(items)
        return [each for each in wanted if each != self.evidence and has_source(known, each, self._level)]

    def _rank(self, items: Dataset, *sources: Source) -> Ranking | None:
        """The ranking of the passages for every case; None if these sources of evidence need none."""
        if {*NEED_RANKING}.isdisjoint(sources):
            return None
        ranking = rank(self._ranker, search := search_of(items), max(LEAST_DEPTH, self.k))
        if self._source in NEED_RANKING:
            check_found(self._ranker, search, items, ranking)
        return ranking

    def _planned(self, items: Dataset, *sources: Source) -> Planned:
        """What the answerer will be asked."""
        return planned(items, sources, self._rank(items, *sources), self.k, self._level)

    def _answered(self, items: Dataset, asked_of: Planned) -> list[Answered]:
        """Answer all questions from each kind of evidence, one after the other."""
        answered: dict[Source, Answered] = {}
        known, _ = with_answer(items)
        for source, asked in asked_of.asked_of.items():
            given, its = self._ask(items, asked, source), items if source == asked_of.sources[0] else known
            own, groups = with_own_evidence(its, asked, given), Groups.named([query.group for query in its.queries])
            answered[source] = Answered(its.cases, own, given, source, groups, self.confidence_threshold)
        return [answered[source] for source in asked_of.sources]

    def _ask(self, items: Dataset, asked: Sequence[Question], source: Source) -> list[Answer]:
        """Answers to questions; recorded ones are found by the ids of the cases."""
        if self._recorded:
            return with_known_units(items, asked, answer(self.answerer, asked, items.left_out.ids))
        return ask_apart(self.answerer, asked, digest([items.digest, source]))

    def _measured(self, items: Dataset, answered: Answered, evaluation: Evaluation, doubts: list[str]) -> Measurement:
        """Everything that is recorded of the answers."""
        asked = items.left_out.of_all(len(items.cases))
        bins, resamples = self.evaluation.bins, self.evaluation.resamples
        known = (evaluation.confidence, evaluation.right)
        found, why, confidence = [scores.accuracy_score(evaluation)], evaluation.uncalibrated, None
        if ECE in self.metrics and not why:
            drawn: dict[str, Any] = {"bins": bins, "groups": answered.groups, "resamples": resamples, "seed": self.seed}
            confidence = Confidence.of(*known, **drawn)
            of_confidence = confidence_scores(*known, **drawn)
            found += [replace(score, unread=scores.UNREAD_CONFIDENCE) for score in of_confidence]
        summary, has_tokens = confidence.summary if confidence else None, not (self._recorded or answered.retrieved)
        timed = [each.machines for each in answered.answers if each.time_ms is not None]
        machines = None if self._recorded else put_together(timed)
        times = scores.AnswerTimes([each.time_ms for each in answered.answers], machines)
        tokens = context_tokens(items, answered.questions, self.tokenizer, self.store) if has_tokens else None
        used = [answered.known(lambda each: each.tokens_in), answered.known(lambda each: each.tokens_out)]
        counted = [
            *scores.measures(evaluation, self.evidence),
            *(summary.measures() if summary else ()),
            *scores.cost_measures(times, tokens, used),
        ]
        unread = words.unread_texts(answered.unread, recorded=self._recorded)
        sections = words.sections(evaluation, self.evidence, found, counted, summary, asked=asked, unread=unread)
        return Measurement(
            items=tables.items(items),
            scores=found,
            details=tables.details(answered, evaluation),
            curves=evaluation.evidence.curves if evaluation.evidence else {},
            measures=counted,
            facts=tables.facts(answered, evaluation, found, counted, summary.facts() if summary else {}),
            findings=[*about_evidence(items, retrieved=bool(answered.retrieved)), *doubts],
            sections=sections,
            summary=sections.get(words.ANSWERS, ()),
            method=self._method,
            tables=tables.tables(answered, evaluation),
            files={"answers.jsonl": tables.answer_lines(answered, evaluation.confidence)},
            condition=f"of {asked}",
            control=CONTROLS.get(self._source, ""),
            charts=(charts.draw, evaluation, confidence, self.evidence),
            not_measured={each.name: why for each in self.metrics if each not in [score.metric for score in found]},
        )

    @property
    def _method(self) -> Method:
        own = Method() if self._recorded else self.retriever.method
        return replace(own, name="", stands_for={}, chosen_by=("answerer", "reasoning"), vary="")
