"""What a component is handed leads to no judgment and to no right answer, whatever it looks into."""

import gc
from dataclasses import dataclass, field
from types import BuiltinFunctionType, FrameType, FunctionType, ModuleType

import numpy as np
import pytest

from ragsweep.core.errors import ConfigError
from ragsweep.core.store import NO_STORE, Store
from ragsweep.datasets import Collection, Dataset, Document, Judgment, PageChunker, Query
from ragsweep.retrieval import (
    CentroidClassifier,
    Expansion,
    FusedRetriever,
    PipelineRetriever,
    RoutedRetriever,
    Search,
    SparseRetriever,
    WeightedSum,
    lessons_for,
    rank,
    ranked,
)
from ragsweep.retrieval.lessons import Judgments, dealing
from ragsweep.tasks.search import search_of

GRADE = 73_911  # of every judgment: a number that is nowhere else
TYPE = "a type of query that is nowhere else"
NOT_ARGUMENTS = (type, ModuleType, BuiltinFunctionType, FrameType, str, bytes, int, float)


@pytest.fixture
def items():
    documents = [Document.from_pages(f"d{number}", [("1", f"d{number}", f"iron tablets {number}")]) for number in "123"]
    queries = tuple(Query(f"q{number}", f"iron {number}?", f"{TYPE} {number}") for number in "123456")
    judgments = tuple(Judgment(query.query_id, f"d{1 + row % 3}", GRADE) for row, query in enumerate(queries))
    return Dataset.from_collection(Collection("small", "document", tuple(documents), queries, judgments), PageChunker())


def within(thing, seen):
    """Everything that can be reached from an argument: attributes, items, and what a function holds. Not its module."""
    waiting = [thing]
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen[id(one)] = one
        if isinstance(one, FunctionType):
            waiting += [*(cell.cell_contents for cell in one.__closure__ or ()), one.__defaults__, one.__kwdefaults__]
        elif not isinstance(one, NOT_ARGUMENTS):
            waiting += gc.get_referents(one)
    return seen.values()


def leads_to_judgments(*arguments):
    seen = {}
    for argument in arguments:
        within(argument, seen)
    for one in list(seen.values()):
        if isinstance(one, np.ndarray) and one.dtype.kind == "i" and (one == GRADE).any():
            return True
        if isinstance(one, Judgment | Judgments | Dataset) or (isinstance(one, int | np.integer) and one == GRADE):
            return True
        if isinstance(one, str) and TYPE in one:
            return True
    return False


def test_the_walk_finds_judgments_wherever_they_are(items):
    assert leads_to_judgments(items)
    assert leads_to_judgments({"deep": [lambda: items.qrels]})
    assert leads_to_judgments(Judgments(items.qrels.grade.take, ()))
    assert not leads_to_judgments("text", [1, 2])


@dataclass
class Nosy:
    """Takes any place in a pipeline, and notes what it is handed."""

    handed: list = field(default_factory=list)
    candidates = 3

    def rank(self, search, depth):
        self.handed.append((search, search.names()))
        scores = np.ones((len(search.queries), len(search.passages)))
        return ranked(np.tile(np.arange(scores.shape[1]), (len(scores), 1)), scores, depth)

    def rewrite(self, queries):
        self.handed.append(queries)
        return list(queries)

    def rerank(self, search, ranking, depth):
        self.handed.append((search, search.names(), ranking))
        return ranking

    def fuse(self, rankings):
        self.handed.append(rankings)
        return rankings[0]

    def encode(self, texts, role):
        self.handed.append((texts, role))
        return np.ones((len(texts), 4), dtype=np.float32) / 2

    fingerprint = "nosy"


@dataclass
class NosyExpander:
    handed: list = field(default_factory=list)

    def expand(self, search, ranker):
        self.handed.append((search, search.names(), ranker))
        return Expansion((search,), np.empty(0), ("",) * len(search.queries))


@dataclass
class NosyClassifier:
    encoder: Nosy
    store: Store = NO_STORE
    handed: list = field(default_factory=list)

    def learn(self, embeddings, types):
        self.handed.append((embeddings, types))
        return CentroidClassifier(self.encoder, self.store).learn(embeddings, types)


def pipelines(nosy, expander):
    """Each seam: a component that is asked, in a pipeline."""
    sparse = SparseRetriever(NO_STORE)
    return {
        "ranker": nosy,
        "rewriter": PipelineRetriever(sparse, nosy),
        "expander": PipelineRetriever(sparse, expander),
        "expander before a ranker that learns": PipelineRetriever(routed(sparse), expander),
        "fusion": FusedRetriever({"one": sparse, "two": sparse}, nosy),
        "part of a fusion": FusedRetriever({"one": nosy, "two": sparse}, WeightedSum()),
        "reranker": PipelineRetriever(sparse, reranker=nosy),
        "dynamic_k": PipelineRetriever(sparse, dynamic_k=nosy),
        "route": routed(nosy),
        "encoder of a classifier": RoutedRetriever({"one": sparse}, CentroidClassifier(nosy, NO_STORE), folds=2),
    }


def routed(ranker):
    return RoutedRetriever({"one": ranker}, CentroidClassifier(Nosy(), NO_STORE), folds=2)


@pytest.mark.parametrize("seam", [
    "ranker", "rewriter", "expander", "expander before a ranker that learns", "fusion", "part of a fusion",
    "reranker", "dynamic_k", "route", "encoder of a classifier",
])  # fmt: skip
def test_nothing_that_a_component_is_handed_leads_to_judgments(items, seam):
    nosy, expander = Nosy(), NosyExpander()
    judgments = Judgments(
        lambda ranking, metric: items.qrels.grade[:6] / GRADE, tuple(q.query_type for q in items.queries)
    )
    with dealing(judgments):
        rank(pipelines(nosy, expander)[seam], search_of(items), 3)
    handed = nosy.handed + expander.handed
    assert handed
    assert not leads_to_judgments(*handed)


def test_a_classifier_gets_types_of_other_folds_as_numbers_only(items):
    classifier = NosyClassifier(Nosy())
    types = ("x", "y", "x", "y", "x", "y")
    with dealing(Judgments(lambda ranking, metric: np.ones(6), types)):
        rank(RoutedRetriever({"one": SparseRetriever(NO_STORE)}, classifier, folds=3), search_of(items), 3)
    assert [len(given) for _, given in classifier.handed] == [4, 4, 4]  # of six queries, two are in each fold
    assert not leads_to_judgments(*classifier.handed)


def test_a_component_that_does_not_declare_it_gets_no_lessons(items):
    with (
        dealing(Judgments(lambda ranking, metric: np.ones(6), (None,) * 6)),
        pytest.raises(ConfigError, match="declare"),
    ):
        lessons_for(Nosy(), search_of(items))


@dataclass
class Declared(Nosy):
    learns_from_judgments = True
    folds: int = 2
    seed: int = 0

    def rank(self, search, depth):
        lessons = lessons_for(self, search)
        self.handed.append((lessons.fold, lessons.type_of, lessons.values(super().rank(search, depth), "ndcg")))
        return super().rank(search, depth)


def test_a_component_that_declares_it_gets_those_of_other_folds_and_is_named(items):
    learner, judgments = Declared(), Judgments(lambda ranking, metric: np.arange(6.0), tuple("ababab"))
    with dealing(judgments):
        rank(learner, search_of(items), 3)
    fold, types, values = next(each for each in learner.handed if len(each) == 3)
    own = fold == np.arange(2)[:, np.newaxis]
    assert (types[own] == -1).all()
    assert np.isnan(values[own]).all()
    assert (types[~own] >= 0).all()
    np.testing.assert_array_equal(values[~own], np.broadcast_to(np.arange(6.0), (2, 6))[~own])
    assert "Declared learns from relevance judgments" in judgments.sections["Learnt from judgments"][0]


def test_a_search_has_nothing_else():
    """What is `unranked` follows from ids and fields of the queries (tests/datasets/test_unranked.py)."""
    assert {*Search.__dataclass_fields__} == {"passages", "queries", "names", "names_digest", "feedback", "unranked"}
