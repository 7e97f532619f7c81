"""How well passages are ranked for queries: what a run of retrieval measures."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from ragsweep.config.run_settings import Budget, Cutoff, Repeats, Seed
from ragsweep.core.errors import DatasetError
from ragsweep.core.limits import TokenizerName
from ragsweep.core.timing import noting
from ragsweep.datasets import Chunker, Dataset, DatasetFormat, PageChunker
from ragsweep.models.encoders.tokenizer import BY_WORDS
from ragsweep.retrieval import (
    ExternalRetriever,
    Ingest,
    Ranker,
    Ranking,
    Reranker,
    Rewriter,
    RoutedRetriever,
    TypeCutoff,
    rank,
)
from ragsweep.retrieval.ingest.ingest import dataset_of
from ragsweep.retrieval.kinds import Expander, Retriever
from ragsweep.retrieval.returned_units.units import ReturnedUnit
from ragsweep.store.stage_store import Store
from ragsweep.tasks.false_finds import FalseFinds
from ragsweep.tasks.metric import Metric
from ragsweep.tasks.ranking import ranking_costs as costs
from ragsweep.tasks.ranking import ranking_false_finds as finds
from ragsweep.tasks.ranking.coverage import check_measurable, measured_queries, say_unusual
from ragsweep.tasks.ranking.nothing_found import check_found
from ragsweep.tasks.ranking.query_types import Learnt, QueryTypes
from ragsweep.tasks.ranking.ranking_evaluation import Evaluation, described
from ragsweep.tasks.ranking.ranking_explanation import Explanation, find
from ragsweep.tasks.ranking.ranking_measurement import MeasuredRanking
from ragsweep.tasks.ranking.ranking_settings import EvaluationSettings
from ragsweep.tasks.ranking.routing import check_routing, routed
from ragsweep.tasks.ranking.shown import PASSAGES_OF_A_PART, Measuring, Shown, check_returns
from ragsweep.tasks.ranking.spans.needs import check_spans
from ragsweep.tasks.ranking.type_cutoffs import check_type_cutoff, type_cutoffs
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
from ragsweep.tasks.systems.own_passages import Returned, needs_nothing, returned
from ragsweep.tasks.task import LEAST_DEPTH, Measurement, Record, Task


@dataclass(frozen=True)
class RankingTask(Task):
    """Ranks the passages of a corpus for its queries, and judges the ranking.

    Attributes:
        dataset: Reads documents, queries and judgments.
        chunker: Cuts the documents into passages.
        retriever: Ranks the passages.
        evaluation: What is measured.
        k: The cutoff: how many passages go into the prompt.
        budget: How many tokens go into it instead, in whole passages; None takes the first k passages.
        returns: What is returned for what is found, if that is more than the passage; k counts what is returned.
        seed: Of the bootstrap.
        store: Keeps where documents were cut, and how many tokens passages have.
        tokenizer: Counts the tokens of the context: a model by its folder or name on the hub, or `words`.
        ingest: Says what is indexed for each passage besides its own text; None indexes that alone.
        query: Changes the queries before the retriever searches for them; None does not change them.
        reranker: Reorders the first passages; None leaves their order.
        dynamic_k: Drops the last passages of a ranking; None keeps all.
        repeats: How often a configuration is measured whose results vary, as those of a language model may.
    """

    optional_metrics: ClassVar[Sequence[Metric]] = finds.PASSAGES.metrics

    dataset: DatasetFormat
    chunker: Chunker
    retriever: Retriever
    evaluation: EvaluationSettings
    k: Cutoff
    seed: Seed
    store: Store
    tokenizer: TokenizerName = BY_WORDS
    ingest: Ingest | None = None
    query: Rewriter | Expander | None = None
    reranker: Reranker | None = None
    dynamic_k: Reranker | None = None
    repeats: Repeats = 1
    budget: Budget | None = None
    returns: ReturnedUnit | None = None

    def __post_init__(self) -> None:
        self._staged  # noqa: B018 - fails here if a stage is of another kind
        check_ingest(self.retriever, self.ingest)

    @property
    def loads(self) -> Sequence[str]:
        """What decides what is loaded; a system has passages of its own, so that no chunker cuts any."""
        cut = () if self.retriever.brings_passages else ("chunker", "ingest")
        kept = () if self.returns is None else ("documents",)  # no setting: whatever is returned, they are the same
        return ("dataset", *cut, *kept, "store", "evaluation.relevance_level", "evaluation.fuzzy_threshold")

    @property
    def without_effect(self) -> Sequence[str]:
        """Settings that have no effect on the measurement: stages that are None, a chunker that cuts nothing."""
        stages = [name for name in (*STAGE_SETTINGS, "budget", "returns") if getattr(self, name) is None]
        return [*stages, *(["chunker", "ingest"] if self.retriever.brings_passages else [])]

    @property
    def cutoff(self) -> str:
        """Name of the setting that is the cutoff."""
        return "k" if self.budget is None else "budget"

    @property
    def metrics(self) -> Sequence[Metric]:
        """What will be measured, in the order in which it is shown."""
        return described(self.evaluation.metrics)

    @property
    def measures(self) -> Sequence[Metric]:
        """What is measured besides the metrics: what a query costs, and how much can be found."""
        return costs.MEASURES

    def lacks(self, items: Dataset) -> str:
        """Why the metrics of some datasets are not measured of this one; empty if they are."""
        return finds.asked_unanswerable(self.retriever, items)[1]

    def load(self) -> Dataset:
        """Read and cut the documents, and print what is unusual about them."""
        is_system = self.retriever.brings_passages
        chunker, ingest = (PageChunker(), None) if is_system else (self.chunker, self.ingest)
        least, keep = self.evaluation.fuzzy_threshold, self.returns is not None
        dataset = dataset_of(self.dataset, chunker, ingest, self.store, keep_documents=keep, fuzzy_threshold=least)
        check_measurable(dataset, brings_passages=is_system)
        say_unusual(dataset, self.evaluation.relevance_level, brings_passages=is_system)
        return dataset

    def check(self, items: Dataset) -> None:
        """Raise an error if this dataset cannot be searched or measured."""
        if external := self._external:
            if not needs_nothing(external, self.query, items):
                external.check()
        else:
            self._check_ranker(items)
        check_spans(items, self.evaluation.metrics)
        check_returns(self.returns, self.retriever, items)
        costs.check_budget(self.budget, items)

    @property
    def retrieval(self) -> Retrieval:
        """For checks of a run."""
        level = self.evaluation.relevance_level
        return Retrieval(self.dataset, self.retriever, self._staged, level, self.store, is_measured=True)

    def item_groups(self, items: Dataset) -> Mapping[str, str]:
        """The queries that have judgments, with their groups."""
        judged = {*items.qrels.query.tolist()} | {reference.query_id for reference in items.references}
        return groups_of([query for row, query in enumerate(items.queries) if {row, query.query_id} & judged])

    def measure_some(self, items: Dataset, ids: Collection[str]) -> Measurement:
        """Measure these queries alone, without their types, and with few resamples, as nobody reads their intervals."""
        alone = replace(self, evaluation=replace(self.evaluation, resamples=FEW_RESAMPLES))
        return alone.measure_ranking(some_queries(items, ids))

    def measure(self, items: Dataset) -> Measurement:
        """Retrieve, judge and measure, and predict the types of the queries."""
        measured = self.measure_ranking(items)
        return measured if self._routing else QueryTypes.of(items, self.store).added_to(measured, items)

    def measure_ranking(self, items: Dataset) -> Measurement:
        """Retrieve, judge and measure."""
        if prepared := self._prepared(items):
            task, source = prepared
            return source.added_to(task.measure_ranking(source.items))
        with noting() as noted:
            ranking = self.rank(items)
        queries = measured_queries(items)
        check_found(self.ranker, search_of(items), ranking, queries, may_remove=True)
        measured = self.measured(items, ranking, self.shown(items, ranking))
        return costs.with_note(measured, noted, self.retriever)

    def explain(self, items: Dataset, query: str, record: Record, width: int) -> Iterator[str]:
        """Explain the ranking of a query, line by line, for a terminal of `width` columns."""
        if prepared := self._prepared(items):
            task, source = prepared
            yield from task.explain(source.items, query, record, width)
            if isinstance(source, Learnt):
                row, details = find(query, items.queries), QueryTypes.of(items, self.store).details(items)
                yield ", ".join(f"{name}: {texts[row]}" for name, texts in {**details, **source.details}.items())
            return
        row = find(query, items.queries)
        if row not in items.qrels.query:
            raise DatasetError(f"query {query!r}: has no judgments, so the run left it out")
        ranking = self.rank(items)
        shown = self.shown(items, ranking)
        table = self.measured(items, ranking, shown).per_item
        explanation = Explanation(record, items, search_of(items), self.ranker, row, ranking, shown, table)
        yield from explanation.text(width)

    def rank(self, items: Dataset) -> Ranking:
        """Rank the passages for every query."""
        return rank(self.ranker, search_of(items), self.depth)

    def shown(self, items: Dataset, ranking: Ranking) -> Shown:
        """What is returned for the passages of the ranking, measured."""
        if self.returns is None:
            return self._measuring.passages(items, ranking)
        return self._measuring.parts(items, ranking, self.returns)

    def _false_finds(self, items: Dataset, ranking: Ranking, evaluation: Evaluation) -> FalseFinds | None:
        """What is found for questions without an answer, and by which scores before a threshold."""
        if not len(rows := finds.asked_unanswerable(self.retriever, items)[0]):
            return None
        free, judged = ranking, evaluation.judged
        if self.reranker is None and self.retriever.score_threshold is not None:
            free = replace(self, retriever=self.retriever.without_threshold()).rank(items)
            judged = self.evaluation.judged(items, free, self.k)
        return finds.false_finds_of(
            items, rows, self.k, given=ranking, judged=evaluation.judged, free=free, free_judged=judged
        )

    def _prepared(self, items: Dataset) -> tuple[RankingTask, Returned | Learnt] | None:
        """The task that is measured instead, by what a system has returned or a setting has learnt; else None."""
        if external := self._external:
            threshold = self.evaluation.fuzzy_threshold
            answered = returned(external, self.query, items, depth=self.depth, k=self.k, fuzzy_threshold=threshold)
            return replace(self, retriever=answered.ranker), answered
        if routing := self._routing:
            learnt = self._routed(items, routing)
            return replace(self, retriever=learnt.stage), learnt
        if cutoff := self._type_cutoff:
            ranking = rank(replace(self, dynamic_k=None).ranker, search_of(items), self.depth)
            most = cutoff.most if self.budget is not None else min(cutoff.most, self.k)
            learnt = type_cutoffs(cutoff, items, ranking, self.evaluation, most=most, store=self.store)
            return replace(self, dynamic_k=learnt.stage), learnt
        return None

    def _routed(self, items: Dataset, settings: RoutedRetriever) -> Learnt:
        """What ranks each query by its route, learnt from the judgments of other queries."""
        search = search_of(items)
        rankers = [in_stages(ranker, self.query, None, None) for ranker in settings.routes.values()]
        rankings = [rank(ranker, search, self.depth) for ranker in rankers]
        return routed(settings, items, rankings, self.evaluation, self.k)

    def _check_ranker(self, items: Dataset) -> None:
        """Raise an error if the rankers cannot search this dataset, or nothing can be learnt from it."""
        search, rankers = search_of(items, as_indexed=False), [self.ranker]
        if (cutoff := self._type_cutoff) and not self._routing:
            check_type_cutoff(cutoff, items, self.evaluation, self.store)
            rankers = [replace(self, dynamic_k=None).ranker]
        elif cutoff:
            cutoff.check(search)
        if routing := self._routing:
            check_routing(routing, items, self.evaluation)
            rankers = [*routing.routes.values()]
        for ranker in rankers:
            ranker.check(search)

    @property
    def depth(self) -> int:
        """How many passages are ranked for each query, at most."""
        wanted = self.k if self.returns is None else self.returns.candidates or PASSAGES_OF_A_PART * self.k
        return max(LEAST_DEPTH, wanted)

    @property
    def _measuring(self) -> Measuring:
        """How what is returned is measured."""
        return Measuring(self.evaluation, self.k, self.budget, self.depth, (self.tokenizer, self.store), self.seed)

    @property
    def _external(self) -> ExternalRetriever | None:
        """The retriever, if it has passages of its own."""
        return self.retriever if isinstance(self.retriever, ExternalRetriever) else None

    @property
    def _routing(self) -> RoutedRetriever | None:
        """The retriever, if it learns from judgments."""
        return self.retriever if isinstance(self.retriever, RoutedRetriever) else None

    @property
    def _type_cutoff(self) -> TypeCutoff | None:
        """The cutoff, if it decides by the types of queries."""
        return self.dynamic_k if isinstance(self.dynamic_k, TypeCutoff) else None

    @property
    def _staged(self) -> Retriever:
        """The retriever with the stages before and after it; one that brings passages stands alone."""
        return self._external or self.ranker

    @property
    def ranker(self) -> Ranker:
        """The same, where the retriever ranks."""
        return in_stages(self.retriever, self.query, self.reranker, self.dynamic_k)

    def measured(self, items: Dataset, ranking: Ranking, shown: Shown) -> Measurement:
        """Everything that is recorded of a ranking."""
        measured = MeasuredRanking(self._measuring, self.retriever, self.ranker, items, ranking, shown)
        return measured.measurement(self._false_finds(items, ranking, shown.evaluation))
