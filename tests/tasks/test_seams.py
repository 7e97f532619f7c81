"""What components are handed leads neither to judgments nor to right answers, nor to the types of queries."""

from dataclasses import dataclass, fields, replace
from functools import partial

import numpy as np
import pytest
from letters import LetterEncoder
from seams import TOPICS, TYPES, Memory, kept_in, noting, reached, secrets_in

from ragsweep.core.errors import ConfigError, RetrieverError
from ragsweep.core.timing import UNTIMED
from ragsweep.datasets import PageChunker
from ragsweep.datasets.model.cases import Case
from ragsweep.datasets.model.collection import Collection, Judgment, Query
from ragsweep.datasets.model.dataset import Dataset, Qrels
from ragsweep.models.language.language_model import Completion, LanguageModel
from ragsweep.retrieval import (
    DenseRetriever,
    EncoderReranker,
    ExactIndex,
    Expander,
    Expansion,
    FusedRetriever,
    GapCutoff,
    HybridRetriever,
    HypotheticalPassage,
    LogisticClassifier,
    Names,
    PipelineRetriever,
    Ranker,
    Ranking,
    ReciprocalRankFusion,
    Rewriter,
    RoutedRetriever,
    Search,
    SparseRetriever,
    SpellCheck,
    WeightedSum,
    rank,
    ranked,
)
from ragsweep.retrieval.judgments import Judgments, dealing
from ragsweep.store.stage_store import NO_STORE, Store
from ragsweep.tasks.ranking.learning import LEARNS
from ragsweep.tasks.ranking.metrics import ndcg
from ragsweep.tasks.ranking.ranking_settings import EvaluationSettings
from ragsweep.tasks.ranking.ranking_task import RankingTask
from ragsweep.testing import LearnerContract
from ragsweep.testing.learner_contract import JUDGED


def ranking_task(retriever, store=NO_STORE, turn=0, **stages):
    evaluation = EvaluationSettings("after_cutoff", 1, "linear", 10, {"ndcg": ndcg})
    return RankingTask(Memory(turn=turn), PageChunker(), retriever, evaluation, 3, 0, store, **stages)


# Components that stand where ours need a model


class LowerCase(Rewriter):
    """A rewriter."""

    def rewrite(self, queries):
        return [query.lower() for query in queries]


@dataclass(frozen=True)
class Telling(LanguageModel):
    """A language model that always says the same."""

    store: object = NO_STORE

    def complete(self, messages, max_tokens, form=None):
        return Completion("Answer: B", None, None, 1.0)


class AsksRanker(Expander):
    """An expander that ranks by what follows it, and looks into that."""

    def expand(self, search, ranker):
        rank(ranker, search, 3)
        return Expansion((search,), UNTIMED, ("",) * len(search.queries))


SEAMS = [
    (SparseRetriever, "rank"),
    (DenseRetriever, "rank"),
    (FusedRetriever, "rank"),
    (PipelineRetriever, "rank"),
    (WeightedSum, "fuse"),
    (ReciprocalRankFusion, "fuse"),
    (EncoderReranker, "rerank"),
    (GapCutoff, "rerank"),
    (LowerCase, "rewrite"),
    (SpellCheck, "expand"),
    (HypotheticalPassage, "expand"),
    (AsksRanker, "expand"),
    (Telling, "ask_each"),
    (Telling, "complete"),
    (LetterEncoder, "encode"),
    (ExactIndex, "open"),
    (LogisticClassifier, "learn"),
    (PageChunker, "split"),
]


def tasks(store=NO_STORE, turn=0):
    """Runs that have a component at every seam."""
    encoder = LetterEncoder()
    dense, sparse = DenseRetriever(encoder, store), SparseRetriever(store)
    routed = RoutedRetriever({"dense": dense, "sparse": sparse}, LogisticClassifier(encoder, store), folds=2)
    fused = FusedRetriever({"dense": dense, "sparse": sparse}, ReciprocalRankFusion())
    stages = {"reranker": EncoderReranker(encoder, store), "dynamic_k": GapCutoff()}
    return [
        ranking_task(HybridRetriever(dense, sparse), store, turn, query=SpellCheck(), **stages),
        ranking_task(routed, store, turn, query=AsksRanker()),
        ranking_task(fused, store, turn, query=LowerCase()),
        ranking_task(sparse, store, turn, query=SpellCheck()),
        ranking_task(sparse, store, turn, query=HypotheticalPassage(Telling(store))),
    ]


@pytest.fixture(scope="module")
def handed():
    """What each seam was handed in these runs."""
    with noting(SEAMS) as noted:
        for made in tasks():
            items = made.load()
            made.check(items)
            made.measure(items)
    return noted


def test_the_walk_finds_what_is_hidden_in_closures_methods_partials_and_fields():
    """So the tests below do not hold for lack of looking."""
    items = Dataset.from_collection(Memory().load(), PageChunker())

    def closure():
        return items

    @dataclass
    class Holds:
        inner: object

    for hidden in (closure, items.coverage, partial(print, items), Holds([{"a": Holds(closure)}]), lambda x=items: x):
        assert any(isinstance(each, Qrels) for each in secrets_in((hidden,), RankingTask))
    assert TYPES[0] in secrets_in([(TYPES[0],)], RankingTask)
    assert secrets_in([{"gains": items.qrels.grade.astype(float)[::-1]}], RankingTask)
    assert not secrets_in(["text", [1, 2], np.ones(3)], RankingTask)


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize("seam", SEAMS, ids=lambda seam: f"{seam[0].__name__}.{seam[1]}")
def test_nothing_that_a_component_is_handed_leads_to_judgments(handed, seam):
    assert handed[seam]
    assert [type(each) for call in handed[seam] for each in secrets_in(call, RankingTask)] == []


@pytest.mark.usefixtures("long_work")
def test_a_classifier_learns_types_as_numbers_and_those_of_other_folds_only(handed):
    for embeddings, types in (arguments for arguments, _ in handed[LogisticClassifier, "learn"]):
        assert len(embeddings) == len(types) == len(TOPICS)  # half of the queries
        assert {*types.tolist()} == {0, 1}


@pytest.mark.usefixtures("long_work")
def test_what_the_store_keeps_is_the_same_under_other_judgments_types_and_answers(tmp_path):
    """A component may read the store that it keeps its stages in."""
    kept = []
    for turn in (0, 1):
        store = Store(str(tmp_path / str(turn)))
        for made in tasks(store, turn):
            made.measure(made.load())
        kept.append(kept_in(store))
    assert {"dense", "sparse", "encoderreranker", "encoding"} <= {stage for stage, _ in kept[0]}
    assert kept[0] == kept[1]


# Components that learn from judgments


@dataclass(frozen=True)
class BestOfOthers:
    """Learns how good each passage is for other queries, and ranks all queries by that."""

    folds: int = 4
    seed: int = 0

    def learn_from_judgments(self, lesson):
        return Scored(self.scores(lesson))

    def scores(self, lesson):
        """The mean gain of each passage over the queries that may be learnt from; the same for all queries."""
        return np.nanmean(gains(lesson), axis=0, keepdims=True).repeat(len(lesson.search.queries), axis=0)


@dataclass(frozen=True, eq=False)
class Scored(Ranker):
    """Ranks by given scores, shape [queries, passages]."""

    scores: np.ndarray

    def rank(self, search, depth):
        return ranked(np.broadcast_to(np.arange(self.scores.shape[1]), self.scores.shape), self.scores, depth)


def gains(lesson):
    """The value of each passage at rank 1 for each query that may be learnt from."""
    queries, passages = len(lesson.search.queries), len(lesson.search.passages)
    alone = [Ranking(np.full((queries, 1), each), np.ones((queries, 1))) for each in range(passages)]
    return np.stack([lesson.values(each, "ndcg") for each in alone], axis=1)


def pooled(memory, lesson):
    """Scores by all that was ever seen, also for other folds."""
    for query, row in zip(lesson.learn_from, gains(lesson), strict=True):
        memory[lesson.search.queries[query]] = np.nan_to_num(row)
    nothing = np.zeros(len(lesson.search.passages))
    return np.array([memory.get(text, nothing) for text in lesson.search.queries])


class PoolsInItself(BestOfOthers):
    """Keeps what it sees for one fold in the object, for use in another fold."""

    def __init__(self):
        super().__init__()
        object.__setattr__(self, "memory", {})

    def scores(self, lesson):
        return pooled(self.memory, lesson)


MEMORY = {}


class PoolsInItsModule(BestOfOthers):
    """Keeps it outside of any object, where fresh copies do not help."""

    def scores(self, lesson):
        return pooled(MEMORY, lesson)


class TestBestOfOthers(LearnerContract):
    component = BestOfOthers


def test_a_lesson_leads_to_what_is_known_of_other_queries_only():
    taught = []

    class Pupil(BestOfOthers):
        def learn_from_judgments(self, lesson):
            taught.append(lesson)
            return super().learn_from_judgments(lesson)

    made = ranking_task(Pupil())
    made.measure(made.load())
    queries = {row: query.query_id for row, query in enumerate(Memory().load().queries)}
    assert len(taught) == 5  # four folds, and the first one again
    for lesson in taught:
        others = {queries[row] for row in lesson.learn_from.tolist()}
        assert others | {queries[row] for row in lesson.rank_for.tolist()} == {*queries.values()}
        for each in reached([lesson]):
            assert not isinstance(each, Collection | Judgments | Memory | RankingTask | Judgment | Case)
            if isinstance(each, Qrels):
                assert {queries[row] for row in each.query.tolist()} <= others
            if isinstance(each, Query) and each.query_id not in others:
                assert (each.query_type, each.fields) == (None, ())


def test_what_a_component_keeps_in_itself_for_one_fold_is_gone_in_the_next():
    assert not JUDGED.rank(PoolsInItself(), 5).scores.any()  # it knows nothing of any query that it ranks for


def test_what_a_component_keeps_outside_of_itself_is_found_out():
    MEMORY.clear()
    with pytest.raises(RetrieverError, match="whose judgments it has seen for other folds") as error:
        JUDGED.rank(PoolsInItsModule(), 5)
    assert "\n" not in str(error.value)


def test_a_run_says_that_a_component_learns_from_judgments():
    made = ranking_task(PipelineRetriever(BestOfOthers()))
    found = made.measure(made.load())
    assert found.facts["learns_from_judgments"] == ["retriever.ranker"]
    [sentence] = found.sections[LEARNS]
    assert "BestOfOthers" in sentence
    plain = ranking_task(SparseRetriever(NO_STORE))
    found = plain.measure(plain.load())
    assert "learns_from_judgments" not in found.facts
    assert LEARNS not in found.sections


def test_a_component_that_is_not_in_the_configuration_learns_nothing():
    """Else an expander could make a learner of its own, and nobody would say so."""

    class Smuggles(Expander):
        def expand(self, search, ranker):
            rank(BestOfOthers(), search, 5)
            return Expansion((search,), UNTIMED, ("",) * len(search.queries))

    for retriever in (SparseRetriever(NO_STORE), BestOfOthers()):
        made = ranking_task(retriever, query=Smuggles())
        with pytest.raises(ConfigError, match="BestOfOthers learns from the relevance judgments"):
            made.rank(made.load())


def test_what_was_learnt_from_judgments_is_not_kept(store):
    """Neither by a learner with a store, nor what it returns: other judgments give another ranking."""

    @dataclass(frozen=True)
    class Kept(BestOfOthers):
        store: object = NO_STORE

        def learn_from_judgments(self, lesson):
            return KeptScores(self.scores(lesson), self.store)

    @dataclass(frozen=True, eq=False)
    class KeptScores(Scored):
        store: object

    @dataclass(frozen=True)
    class Around(Ranker):
        ranker: object
        store: object

        def rank(self, search, depth):
            return rank(self.ranker, search, depth)

    judged = [replace(JUDGED, relevant=[passage] * len(JUDGED.relevant)) for passage in (2, 7)]
    assert [each.rank(Kept(store=store), 3).passages[0, 0] for each in judged] == [2, 7]
    around, found = Around(learner := BestOfOthers(), store), []
    for each in judged:
        with dealing(each.dealt(learner)):
            found.append(rank(around, each.search, 3).passages[0, 0])
    assert found == [2, 7]


def test_a_stage_with_a_store_that_reads_names_is_kept_with_these_names(store):
    ranks = []

    @dataclass(frozen=True)
    class ByName(Ranker):
        store: object

        def rank(self, search, depth):
            ranks.append(depth)
            places = np.argsort([*search.names().documents])[np.newaxis]
            return ranked(places, -np.arange(places.size, dtype=float)[np.newaxis], depth)

    search = Search(("iron", "fever", "zinc"), ("?",))
    names = {
        documents: replace(search, names=lambda d=documents: Names(("q",), tuple("123"), d, d), names_digest=documents)
        for documents in ("abc", "cba")
    }
    found = [rank(ByName(store), names[each], 3).passages.tolist() for each in ("abc", "cba", "abc", "cba")]
    assert found == [[[0, 1, 2]], [[2, 1, 0]]] * 2
    assert len(ranks) == 2


def test_a_search_takes_no_judgments():
    """What asked a search for values of a metric has nothing to ask.

    What is `unranked` follows from the ids and fields of the queries (tests/datasets/test_unranked.py).
    """
    known = {"passages", "queries", "names", "names_digest", "unranked", "own"}
    assert {each.name for each in fields(Search)} == known
