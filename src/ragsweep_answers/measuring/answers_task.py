"""How well questions are answered from what is retrieved: what a run of answering measures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ragsweep.config.run_settings import Cutoff, Repeats, Seed
from ragsweep.core.digest import digest
from ragsweep.core.errors import DatasetError
from ragsweep.core.limits import Text
from ragsweep.datasets import Chunker, Dataset, DatasetFormat
from ragsweep.models.encoders.prompt_tokens import token_counts
from ragsweep.models.encoders.tokenizer import BY_WORDS
from ragsweep.retrieval import Ranker, Ranking, Reranker, Rewriter, rank
from ragsweep.retrieval.method import Method, method_of
from ragsweep.retrieval.ranking_checks import expect_method
from ragsweep.retrieval.stages import check_search
from ragsweep.statistics.groups import Groups
from ragsweep.statistics.intervals import Array
from ragsweep.store.stage_store import Store
from ragsweep.tasks.metric import Metric
from ragsweep.tasks.ranking.ranking_explanation import find
from ragsweep.tasks.ranking.units import units_of_ranking
from ragsweep.tasks.search import STAGE_SETTINGS, Retrieval, expect_known_members, in_stages, search_of
from ragsweep.tasks.task import Measurement, Record
from ragsweep_answers.answering import Answer, Answerer, Question, announce, answer, ask_apart
from ragsweep_answers.answering.question import SaysIfConfident, SaysIfRecorded
from ragsweep_answers.measuring import answer_charts as charts
from ragsweep_answers.measuring import answer_sentences as words
from ragsweep_answers.measuring import answer_tables as tables
from ragsweep_answers.measuring import scores
from ragsweep_answers.measuring.answer_evaluation import Evaluation, evaluate
from ragsweep_answers.measuring.answer_explanation import Explanation
from ragsweep_answers.measuring.answer_settings import AnswerSettings
from ragsweep_answers.measuring.answered import Answered, doubts_of_controls
from ragsweep_answers.measuring.contexts import (
    CONTROLS,
    NEED_RANKING,
    Planned,
    Source,
    about_evidence,
    check_source,
    contexts,
    has_source,
    questions,
    with_own_evidence,
)
from ragsweep_answers.measuring.measures.confidence import BRIER, ECE, Confidence, confidence_scores
from ragsweep_answers.measuring.measures.retrieved import EvidenceQuality, as_units, evidence_quality
from ragsweep_answers.measuring.scores import ACCURACY, MEASURES

LEAST_DEPTH = 100  # a ranking has at least this many passages, and at least k


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
        query: Changes the queries before the retriever searches for them; None does not change them.
        reranker: Reorders the first passages; None leaves their order.
        dynamic_k: Drops the last passages of a ranking; None keeps all.
        repeats: How often a configuration is measured whose answers vary.
    """

    loads: ClassVar[Sequence[str]] = ("dataset", "chunker", "store")

    dataset: DatasetFormat
    chunker: Chunker
    retriever: Ranker
    answerer: Answerer
    evaluation: AnswerSettings
    k: Cutoff
    seed: Seed
    store: Store
    evidence: Source = "retrieved"
    tokenizer: Text = BY_WORDS
    query: Rewriter | None = None
    reranker: Reranker | None = None
    dynamic_k: Reranker | None = None
    repeats: Repeats = 1

    def __post_init__(self) -> None:
        self._ranker  # noqa: B018 - fails here if a stage lacks its method
        expect_known_members(self.retriever, self.query, self.reranker, self.dynamic_k, self.answerer)
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
        if self._recorded:
            return ("retriever", *STAGE_SETTINGS, "evidence", "tokenizer", "evaluation.controls")
        if not self._retrieves:
            return ("retriever", *STAGE_SETTINGS, "k")
        return tuple(name for name in STAGE_SETTINGS if getattr(self, name) is None)

    def load(self) -> Dataset:
        """Read the cases, and read and cut the documents."""
        dataset = Dataset.from_collection(self.dataset.load(), self.chunker, self.store)
        if not dataset.cases:
            another = "choose another dataset, such as dataset=clinical_cases"
            raise DatasetError(f"{dataset.name}: has no multiple-choice cases to answer; {another}")
        return dataset

    def check(self, items: Dataset) -> None:
        """Raise an error if the dataset has not the evidence that is asked for, or recorded answers do not fit it."""
        if self._recorded:
            self._answered(items, self._planned(items, "none"))
        else:
            check_source(items, self.evidence, self.evaluation.relevance_level)
            if self._retrieves:
                check_search(self._ranker, search_of(items))

    @property
    def retrieval(self) -> Retrieval:
        """For checks of a run."""
        retriever = self.retriever if self._retrieves else None
        return Retrieval(self.dataset, retriever, retriever, self._level, self.store, is_measured=False)

    def measure(self, items: Dataset) -> Measurement:
        """Retrieve, answer and measure."""
        return self.measure_repeats([(self, items)])[0]

    def measure_repeats(self, repeats: Sequence[tuple[AnswersTask, Dataset]]) -> list[Measurement]:
        """The same for each repeat, after what all of them will cost."""
        planned = [task._planned(items, task._source, *task._controls(items)) for task, items in repeats]
        announce(*(task._asks(items, plan) for (task, items), plan in zip(repeats, planned, strict=True)))
        return [task._measure(items, plan) for (task, items), plan in zip(repeats, planned, strict=True)]

    def _measure(self, items: Dataset, planned: Planned) -> Measurement:
        answered, *compared = self._answered(items, planned)
        others: dict[str, Array] = {each.source: each.correct_as_control for each in compared}
        evaluation = evaluate(
            answered, self._quality(items, answered, planned.ranking), others, self.evaluation, items.name
        )
        return self._measured(items, answered, evaluation, [*doubts_of_controls(answered, compared)])

    def explain(self, items: Dataset, query: str, record: Record, width: int) -> Iterator[str]:
        """Explain the answer to a case, line by line, for a terminal of `width` columns."""
        row = find(query, items.queries)
        passages = contexts(items, self._source, self._rank(items, self._source), self.k, self._level)
        asked = questions(items, passages)
        asks = asked if self._recorded else [asked[row]]  # a file is read as a whole
        announce((self.answerer, {query: asks}))
        qrels = items.qrels
        relevant = qrels.unit[(qrels.query == row) & (qrels.grade >= self._level)]
        units = frozenset(items.units[unit] for unit in relevant)
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
        return [each for each in wanted if each != self.evidence and has_source(items, each, self._level)]

    def _rank(self, items: Dataset, *sources: Source) -> Ranking | None:
        """The ranking of the passages for every case; None if these sources of evidence need none."""
        if {*NEED_RANKING}.isdisjoint(sources):
            return None
        return rank(self._ranker, search_of(items), max(LEAST_DEPTH, self.k))

    def _planned(self, items: Dataset, *sources: Source) -> Planned:
        """All questions with each of these kinds of evidence, in no telling order."""
        ranking = self._rank(items, *sources)
        order = sorted(sources, key=lambda source: digest([items.digest, source]))
        asked_of = {each: questions(items, contexts(items, each, ranking, self.k, self._level)) for each in order}
        return Planned(sources, ranking, asked_of)

    def _answered(self, items: Dataset, planned: Planned) -> list[Answered]:
        """Answer all questions from each kind of evidence, one after the other."""
        answered: dict[Source, Answered] = {}
        groups = Groups.named([query.group for query in items.queries])
        for source, asked in planned.asked_of.items():
            given = self._ask(items, asked, source)
            own = with_own_evidence(items, asked, given)
            answered[source] = Answered(items.cases, own, given, self.seed, source, groups)
        return [answered[source] for source in planned.sources]

    def _asks(self, items: Dataset, planned: Planned) -> tuple[Answerer, dict[str, Sequence[Question]]]:
        """The answerer, and what it will be asked, by the digest of the kind of evidence."""
        return self.answerer, {digest([items.digest, source]): asked for source, asked in planned.asked_of.items()}

    def _ask(self, items: Dataset, asked: Sequence[Question], source: Source) -> list[Answer]:
        """Answers to questions; recorded ones are found by the ids of the cases."""
        if self._recorded:
            return answer(self.answerer, asked, items.left_out.ids)
        return ask_apart(self.answerer, asked, digest([items.digest, source]))

    def _quality(self, items: Dataset, answered: Answered, ranking: Ranking | None) -> EvidenceQuality | None:
        """How good the evidence is; None if there is none or it is not judged."""
        if self._source == "none" and not answered.retrieved:
            return None
        ranked = given = as_units(answered.units, items)
        if self._source == "retrieved" and not answered.retrieved:
            assert ranking is not None
            ranked = units_of_ranking(ranking.passages, items)
        collapse = self.evaluation.collapse
        return evidence_quality(ranked, given, items, self.k, collapse=collapse, relevance_level=self._level)

    def _measured(self, items: Dataset, answered: Answered, evaluation: Evaluation, doubts: list[str]) -> Measurement:
        """Everything that is recorded of the answers."""
        asked, scaled = items.left_out.of_all(len(items.cases)), answered.scaled
        bins, resamples = self.evaluation.bins, self.evaluation.resamples
        known = (evaluation.confidence, evaluation.correct)
        found, why, confidence = [scores.accuracy_score(evaluation)], evaluation.uncalibrated, None
        if ECE in self.metrics and not why:
            drawn: dict[str, Any] = {"bins": bins, "groups": answered.groups, "resamples": resamples, "seed": self.seed}
            confidence = Confidence.of(*known, **drawn)
            of_confidence = confidence_scores(*known, **drawn)
            found += [replace(score, unread=scores.UNREAD_CONFIDENCE) for score in of_confidence]
        summary = confidence.summary if confidence else None
        counted = [
            *scores.measures(evaluation, self.evidence),
            *(summary.measures() if summary else ()),
            *scores.cost_measures(
                [each.time_ms for each in answered.answers],
                self._context_tokens(items, answered),
                [answered.known(lambda each: each.tokens_in), answered.known(lambda each: each.tokens_out)],
            ),
        ]
        sections = words.sections(evaluation, self.evidence, found, counted, summary, asked=asked, scaled=scaled)
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

    def _context_tokens(self, items: Dataset, answered: Answered) -> Array | None:
        """Tokens of the evidence of each question, shape [cases]; None if they are not known."""
        known = not (self._recorded or answered.retrieved)
        if not known or (counts := token_counts(items.texts, self.tokenizer, self.store)) is None:
            return None
        tokens = dict(zip(items.texts, counts.tolist(), strict=True))
        totals = [sum(tokens[passage.text] for passage in each.evidence) for each in answered.questions]
        return np.array(totals, dtype=float)

    @property
    def _method(self) -> Method:
        method = Method() if self._recorded else method_of(self.retriever)
        return replace(method, name="", stands_for={}, chosen_by=("answerer", "reasoning"), vary="")
