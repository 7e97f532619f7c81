"""Maximal marginal relevance, held against slow loops over its definition."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragsweep.retrieval import NOTHING, MmrReranker, SparseRetriever, minmax
from ragsweep.retrieval.rerankers.mmr import mmr
from ragsweep.store.stage_store import NO_STORE


def as_in_langchain(query, embeddings, lambda_mult, k):
    """The steps of `maximal_marginal_relevance` of langchain_core.vectorstores.utils."""

    def cosine(one, other):
        return float(np.dot(one, other) / np.linalg.norm(one) / np.linalg.norm(other))

    to_query = [cosine(query, embedding) for embedding in embeddings]
    chosen = [int(np.argmax(to_query))]
    while len(chosen) < min(k, len(embeddings)):
        best_score, best = -np.inf, -1
        for candidate, score in enumerate(to_query):
            if candidate in chosen:
                continue
            redundant = max(cosine(embeddings[candidate], embeddings[other]) for other in chosen)
            value = lambda_mult * score - (1 - lambda_mult) * redundant
            if value > best_score:
                best_score, best = value, candidate
        chosen.append(best)
    return chosen


def unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


@pytest.mark.parametrize("relevance", [0.2, 0.5, 0.9])
def test_the_order_is_that_of_langchain(relevance):
    for seed, depth in product(range(10), (1, 4, 30)):
        random = np.random.default_rng(seed)
        query, embeddings = unit(random.normal(size=5)), unit(random.normal(size=(12, 5)))
        order, _ = mmr(embeddings @ query, embeddings, relevance, depth)
        assert order.tolist() == as_in_langchain(query, embeddings, relevance, depth)


VECTORS = st.lists(st.lists(st.integers(-2, 2), min_size=2, max_size=2).filter(any), min_size=1, max_size=8)


@given(vectors=VECTORS, relevance=st.sampled_from([0, 0.25, 0.5, 1]) | st.floats(0, 1), data=st.data())
def test_scores_descend_and_equal_ones_are_in_corpus_order(vectors, relevance, data):
    embeddings = unit(np.array(vectors, float)).astype(np.float32)
    similarity = np.array(data.draw(st.lists(st.floats(-1, 1), min_size=len(vectors), max_size=len(vectors))))
    order, scores = mmr(similarity, embeddings, relevance, 8)
    assert sorted(order.tolist()) == list(range(len(vectors)))
    assert list(zip(-scores, order, strict=True)) == sorted(zip(-scores, order, strict=True))


@pytest.fixture
def first(manual_search):
    return SparseRetriever(NO_STORE).rank(manual_search, 20)


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize("similarity", ["cosine", "ranking"])
def test_the_scores_are_those_of_the_definition(letters, store, manual_search, first, similarity):
    reranked = MmrReranker(letters, store, 0.6, similarity).rerank(manual_search, first, 10)
    queries = letters.encode(manual_search.queries, "query").astype(float)
    passages = letters.encode(manual_search.passages, "passage").astype(float)
    for query, (chosen, scores) in enumerate(zip(reranked.passages.tolist(), reranked.scores, strict=True)):
        of_ranking = dict(zip(first.passages[query].tolist(), minmax(first)[query], strict=True))
        for rank, passage in enumerate(chosen):
            if passage == NOTHING:
                continue
            to_query = queries[query] @ passages[passage] if similarity == "cosine" else of_ranking[passage]
            redundancy = max([-1.0, *(passages[passage] @ passages[other] for other in chosen[:rank])])
            assert scores[rank] == pytest.approx(0.6 * to_query - 0.4 * redundancy, abs=1e-6)
