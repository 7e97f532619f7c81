"""BM25 scores, held against rank_bm25 and bm25s on the same tokens."""

import re
from itertools import chain

import bm25s
import numpy as np
import pytest
import Stemmer
from hypothesis import given
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi
from rankings import are_same

from ragsweep.retrieval import NOTHING, SparseRetriever
from ragsweep.store.stage_store import Store
from ragsweep.text.stop_words import LUCENE_STOP_WORDS

OFF = Store("", enabled=False)

WORDS = ["iron", "Tablet", "tablets", "anaemia", "the", "of", "Über", "straße", "ΟΔΟΣ", "鉄", "naïve", "x_1", "", "!"]
TEXTS = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)
CORPUS = st.lists(TEXTS, min_size=1, max_size=12).filter(lambda texts: re.search(r"\w", "".join(texts)))
QUERIES = st.lists(st.lists(st.sampled_from([*WORDS, "unknown"]), max_size=6).map(" ".join), min_size=1, max_size=3)
# At b = 1 the libraries divide 0 by 0 for a passage without words.
WEIGHING = {"k1": st.floats(0.1, 3), "b": st.floats(0, 0.99)}


def tokens(text):
    return re.findall(r"\w+", text.lower())


def english(text):
    """The tokens with stop words dropped and stemmed, one word at a time."""
    return [Stemmer.Stemmer("english").stemWord(word) for word in tokens(text) if word not in LUCENE_STOP_WORDS]


def okapi_scores(passages, queries, tokens=tokens, **settings):
    bm25 = BM25Okapi([tokens(text) for text in passages], **settings)
    return np.array([bm25.get_scores(tokens(text)) for text in queries])


def bm25s_scores(passages, queries, **settings):
    bm25 = bm25s.BM25(method="lucene", dtype="float64", **settings)
    corpus = [tokens(text) for text in passages]
    vocabulary = {*chain.from_iterable(corpus)}
    bm25.index(corpus, show_progress=False)
    # It takes no query without a known token; an empty one is worth nothing.
    terms = [[term for term in tokens(text) if term in vocabulary] for text in queries]
    return np.array([bm25.get_scores(query) if query else np.zeros(len(passages)) for query in terms])


def scores_of(retriever, passages, queries):
    """Every score of a ranking that holds the whole corpus; 0 where a passage was not retrieved."""
    ranking = retriever.index(passages).search(queries, len(passages))
    scores = np.zeros((len(queries), len(passages)))
    row, rank = np.nonzero(ranking.passages != NOTHING)
    scores[row, ranking.passages[row, rank]] = ranking.scores[row, rank]
    return scores


# rank_bm25


@given(CORPUS, QUERIES, st.fixed_dictionaries(WEIGHING | {"epsilon": st.floats(0, 1)}))
def test_scores_equal_rank_bm25(passages, queries, settings):
    scores = scores_of(SparseRetriever(OFF, **settings), passages, queries)
    np.testing.assert_allclose(scores, okapi_scores(passages, queries, **settings), rtol=0, atol=1e-9)


@given(CORPUS.filter(lambda texts: any(map(english, texts))), QUERIES)
def test_scores_equal_rank_bm25_on_stems_without_stop_words(passages, queries):
    scores = scores_of(SparseRetriever(OFF, stop_words="english", stemmer="english"), passages, queries)
    np.testing.assert_allclose(scores, okapi_scores(passages, queries, english), rtol=0, atol=1e-9)


def test_scores_equal_rank_bm25_on_the_manual(manual_search):
    scores = scores_of(SparseRetriever(OFF), manual_search.passages, manual_search.queries)
    np.testing.assert_allclose(scores, okapi_scores(manual_search.passages, manual_search.queries), rtol=0, atol=1e-9)


def test_the_ranking_is_rank_bm25s_with_ties_in_corpus_order(store, manual_search):
    ranking = SparseRetriever(store).rank(manual_search, 10)
    scores = okapi_scores(manual_search.passages, manual_search.queries)
    assert ranking.passages.tolist() == np.argsort(-scores.round(9), kind="stable")[:, :10].tolist()


# bm25s


@given(CORPUS, QUERIES, st.fixed_dictionaries(WEIGHING))
def test_scores_equal_bm25s(passages, queries, settings):
    scores = scores_of(SparseRetriever(OFF, backend="bm25s", **settings), passages, queries)
    np.testing.assert_allclose(scores, bm25s_scores(passages, queries, **settings), rtol=0, atol=1e-9)


@pytest.mark.soak
@pytest.mark.real_data
def test_scores_equal_both_libraries_on_scifact(scifact):
    queries = [query.text for query in scifact.queries]
    for backend, oracle in (("rank_bm25", okapi_scores), ("bm25s", bm25s_scores)):
        scores = scores_of(SparseRetriever(OFF, backend=backend), scifact.texts, queries)
        np.testing.assert_allclose(scores, oracle(scifact.texts, queries), rtol=0, atol=1e-9)


# The search


@given(CORPUS, QUERIES, st.integers(1, 12), st.sampled_from([{}, {"backend": "bm25s"}]))
def test_the_best_are_those_of_the_whole_ranking(passages, queries, depth, settings):
    index = SparseRetriever(OFF, **settings).index(passages)
    assert_best(index, queries, depth)


def assert_best(index, queries, depth):
    whole, best = index.search(queries, index.weights.shape[1]), index.search(queries, depth)
    np.testing.assert_array_equal(best.passages, whole.passages[:, :depth])
    np.testing.assert_array_equal(best.scores, whole.scores[:, :depth])


def test_the_best_of_many_passages_are_those_of_the_whole_ranking():
    drawn = np.random.default_rng(0).zipf(1.5, (2000, 6)).clip(max=300)  # many ties, a few very frequent terms
    passages = [" ".join(f"w{number}" for number in row) for row in drawn]
    index = SparseRetriever(OFF).index(passages)
    for depth in (1, 10, 100):
        assert_best(index, ["w1", "w2 w3", "w1 w2 w290", "w1 w1 w4 w5", "w299", "none"], depth)


def test_the_number_of_queries_at_once_changes_no_bit(manual_search):
    for backend in ("rank_bm25", "bm25s"):
        index = SparseRetriever(OFF, backend=backend).index(manual_search.passages)
        together = index.search(manual_search.queries, 10)
        for at_once in (1, 7 * len(manual_search.passages)):
            assert are_same(index.search(manual_search.queries, 10, at_once=at_once), together)
