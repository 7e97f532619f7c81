"""BM25, held against rank_bm25."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi

from ragsweep.errors import ConfigError
from ragsweep.retrieval import NOTHING, SparseRetriever, Task

TEXTS = st.lists(st.sampled_from(["iron", "tablet", "anaemia", "the", "of"]), max_size=8).map(" ".join)


def okapi_scores(passages, queries, **settings):
    bm25 = BM25Okapi([re.findall(r"\w+", text.lower()) for text in passages], **settings)
    return [bm25.get_scores(re.findall(r"\w+", text.lower())) for text in queries]


@pytest.fixture
def retrieve(store):
    def retrieve(passages, query, depth=100, **settings):
        found = SparseRetriever(store, **settings).retrieve(Task(tuple(passages), (query,)), depth)
        return [passage for passage in found.passages[0].tolist() if passage != NOTHING]

    return retrieve


# The oracle


@given(
    st.lists(TEXTS, min_size=1, max_size=8).filter(any),
    st.lists(TEXTS, min_size=1, max_size=3),
    # At b = 1 rank_bm25 divides 0 by 0 for a passage without words.
    st.fixed_dictionaries({"k1": st.floats(0.1, 3), "b": st.floats(0, 0.99), "epsilon": st.floats(0, 1)}),
)
def test_scores_equal_rank_bm25(passages, queries, settings):
    scores = SparseRetriever(None, **settings).index(passages).scores(queries).toarray()
    np.testing.assert_allclose(scores, okapi_scores(passages, queries, **settings), atol=1e-9)


def test_scores_equal_rank_bm25_on_the_manual(store, manual_task):
    scores = SparseRetriever(store).index(manual_task.passages).scores(manual_task.queries).toarray()
    np.testing.assert_allclose(scores, okapi_scores(manual_task.passages, manual_task.queries), rtol=0, atol=1e-9)


@pytest.mark.real_data
def test_scores_equal_rank_bm25_on_scifact(store, scifact):
    queries = [query.text for query in scifact.queries]
    scores = SparseRetriever(store).index(scifact.texts).scores(queries).toarray()
    np.testing.assert_allclose(scores, okapi_scores(scifact.texts, queries), rtol=0, atol=1e-9)


def test_the_ranking_is_rank_bm25s_with_ties_in_corpus_order(store, manual_task):
    ranking = SparseRetriever(store).retrieve(manual_task, 10)
    scores = okapi_scores(manual_task.passages, manual_task.queries)
    expected = [np.argsort(-row.round(9), kind="stable")[:10].tolist() for row in scores]
    assert ranking.passages.tolist() == expected


# What is retrieved


def test_a_passage_without_a_word_of_the_query_is_not_retrieved(retrieve):
    assert retrieve(["zinc", "iron", "plan"], "iron") == [1]


def test_a_passage_whose_only_shared_word_weighs_0_is_not_retrieved(retrieve):
    assert retrieve(["zinc", "iron"], "iron") == []  # a word in half of the passages has an IDF of log 1


def test_a_query_of_unknown_words_retrieves_nothing(retrieve):
    assert retrieve(["iron", "plan"], "zinc") == []


def test_ties_at_the_cut_stay_in_corpus_order(retrieve):
    assert retrieve(["plan", *["iron"] * 30, *["zinc"] * 60], "iron", depth=3) == [1, 2, 3]


def test_words_are_lower_cased_and_end_at_punctuation(retrieve):
    assert retrieve(["other", "(IRON), tablets", "more"], "iron") == [1]


# Settings


@pytest.mark.parametrize(
    "settings",
    [{"k1": 0.9}, {"b": 0.4}, {"epsilon": 0.5}, {"stop_words": "english"}, {"stemmer": "english"}],
    ids=lambda settings: next(iter(settings)),
)
def test_every_setting_changes_the_scores(store, manual_task, settings):
    default = SparseRetriever(store).retrieve(manual_task, 10)
    assert not np.array_equal(SparseRetriever(store, **settings).retrieve(manual_task, 10).scores, default.scores)


def test_stop_words_are_not_searched_for(retrieve):
    assert retrieve(["the plan", "iron", "zinc"], "the iron", stop_words="english") == [1]


def test_a_stemmer_finds_another_form_of_a_word(retrieve):
    assert retrieve(["tablets given", "iron", "zinc"], "giving a tablet", stemmer="english") == [0]


def test_a_language_without_a_stemmer_is_refused_with_those_that_have_one(store):
    with pytest.raises(ConfigError, match=r"stemmer: found 'klingon', expected null or one of arabic, .*english"):
        SparseRetriever(store, stemmer="klingon")


def test_passages_of_stop_words_alone_cannot_be_searched(retrieve):
    with pytest.raises(ConfigError, match=r"retriever\.stop_words leaves no token in any passage"):
        retrieve(["the", "of"], "iron", stop_words="english")


def test_a_subclass_does_not_take_what_its_parent_stored(store):
    class Shortest(SparseRetriever):
        def index(self, passages):
            return super().index([text[:1] for text in passages])

    task = Task(("iron tablets", "birth plan", "cold chain"), ("iron",))
    assert SparseRetriever(store).retrieve(task, 2).passages[0, 0] == 0
    assert Shortest(store).retrieve(task, 2).passages[0, 0] == NOTHING
