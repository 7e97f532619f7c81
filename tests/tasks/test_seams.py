"""What components are handed leads neither to judgments nor to right answers, nor to the types of queries."""

from dataclasses import dataclass, fields, replace
from functools import partial
from typing import ClassVar

import numpy as np
import pytest
from letters import LetterEncoder
from rankings import ranking_task
from seams import TYPES, Memory, kept_in, noting, secrets_in

from ragsweep.core.timing import UNTIMED
from ragsweep.datasets import PageChunker
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
    LogisticClassifier,
    Names,
    PipelineRetriever,
    Ranker,
    ReciprocalRankFusion,
    Rewriter,
    RoutedRetriever,
    Search,
    SparseRetriever,
    SpellCheck,
    WeightedSum,
    WrittenQuery,
    rank,
    ranked,
)
from ragsweep.store.stage_store import NO_STORE, Store
from ragsweep.tasks.ranking.ranking_task import RankingTask


class LowerCase(Rewriter):
    """A rewriter that stands where ours needs a model."""

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


SEAMS = [(kind, "rank") for kind in (SparseRetriever, DenseRetriever, FusedRetriever, PipelineRetriever)]
SEAMS += [(WeightedSum, "fuse"), (ReciprocalRankFusion, "fuse"), (EncoderReranker, "rerank"), (GapCutoff, "rerank")]
SEAMS += [(LowerCase, "rewrite"), (SpellCheck, "expand"), (WrittenQuery, "expand"), (AsksRanker, "expand")]
SEAMS += [(Telling, "ask_each"), (Telling, "complete"), (LetterEncoder, "encode"), (ExactIndex, "open")]
SEAMS += [(PageChunker, "split")]


def tasks(store=NO_STORE, turn=0):
    """Runs that have a component at every seam."""
    encoder = LetterEncoder()
    dense, sparse = DenseRetriever(encoder, store), SparseRetriever(store)
    routed = RoutedRetriever({"dense": dense, "sparse": sparse}, LogisticClassifier(encoder, store), folds=2)
    fused = FusedRetriever({"dense": dense, "sparse": sparse}, ReciprocalRankFusion())
    reranked = {"reranker": EncoderReranker(encoder, store), "dynamic_k": GapCutoff()}
    made = [
        (HybridRetriever(dense, sparse), {"query": SpellCheck(), **reranked}),
        (routed, {"query": AsksRanker()}),
        (fused, {"query": LowerCase()}),
        (sparse, {"query": SpellCheck()}),
        (sparse, {"query": WrittenQuery(language_model=Telling(store), prompt="{query}")}),
    ]
    memory = Memory(turn=turn)
    return [replace(ranking_task(retriever, store=store, **stages), dataset=memory) for retriever, stages in made]


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
        assert any(isinstance(secret, Qrels) for secret in secrets_in((hidden,), RankingTask))
    assert TYPES[0] in secrets_in([(TYPES[0],)], RankingTask)
    assert secrets_in([{"gains": items.qrels.grade.astype(float)[::-1]}], RankingTask)
    assert not secrets_in(["text", [1, 2], np.ones(3)], RankingTask)


@pytest.mark.usefixtures("long_work")
def test_nothing_that_a_component_is_handed_leads_to_judgments(handed):
    for seam in SEAMS:
        assert handed[seam], seam
        secrets = [type(secret) for call in handed[seam] for secret in secrets_in(call, RankingTask)]
        assert secrets == [], seam


@pytest.mark.usefixtures("long_work")
def test_what_the_store_keeps_is_the_same_under_other_judgments_types_and_answers(tmp_path):
    """A component may read the store that it keeps its stages in."""
    kept = []
    for turn in (0, 1):
        store = Store(str(tmp_path / str(turn)))
        for made in tasks(store, turn):
            made.measure(made.load())
        own = "query_types"  # of the task, which predicts types from types, and hands them to no component
        kept.append({key: arrays for key, arrays in kept_in(store).items() if key[0] != own})
    assert {"dense", "sparse", "encoderreranker", "encoding"} <= {stage for stage, _ in kept[0]}
    assert kept[0] == kept[1]


def test_a_ranker_that_finds_by_name_is_never_kept(store):
    ranks = []

    @dataclass(frozen=True)
    class ByName(Ranker):
        finds_by_name: ClassVar = True

        store: object

        def rank(self, search, depth):
            ranks.append(search.names)
            places = np.argsort([*(search.names.documents if search.names else "abc")])[np.newaxis]
            return ranked(places, -np.arange(3.0)[np.newaxis], depth)

    class Forgets(ByName):
        finds_by_name: ClassVar = False

    search = Search(("iron", "fever", "zinc"), ("?",))
    named = [replace(search, names=Names(("q",), tuple("123"), (*order,), (*order,))) for order in ("abc", "cba")]
    rankings = [rank(ByName(store), one, 3).passages.tolist() for one in named * 2]
    assert rankings == [[[0, 1, 2]], [[2, 1, 0]]] * 2
    assert len(ranks) == 4
    rank(Forgets(store), named[0], 3)
    assert ranks[4:] == [None]  # what is kept by texts sees no names


def test_a_search_takes_no_judgments():
    """What is `unranked` follows from the ids and fields of the queries (tests/datasets/test_unranked.py)."""
    assert {field.name for field in fields(Search)} == {"passages", "queries", "names", "unranked", "own"}
