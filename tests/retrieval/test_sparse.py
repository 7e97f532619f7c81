"""BM25: what is retrieved, and what the settings do. Scores are held against the libraries in test_bm25.py."""

import numpy as np
import pytest

from ragsweep.core.errors import ConfigError
from ragsweep.retrieval import NOTHING, Search, SparseRetriever
from ragsweep.store.stage_store import Store


@pytest.fixture
def retrieve(store):
    def retrieve(passages, query, depth=100, **settings):
        ranking = SparseRetriever(store, **settings).rank(Search(tuple(passages), (query,)), depth)
        return [passage for passage in ranking.passages[0].tolist() if passage != NOTHING]

    return retrieve


# What is retrieved


def test_a_passage_without_a_word_of_the_query_is_not_retrieved(retrieve):
    assert retrieve(["zinc", "iron", "plan"], "iron") == [1]


def test_a_passage_whose_only_shared_word_weighs_0_is_not_retrieved(retrieve):
    assert retrieve(["zinc", "iron"], "iron") == []  # a word in half of the passages has an IDF of log 1


def test_a_passage_with_a_negative_score_is_retrieved(retrieve):
    passages = ["iron tablet", "iron tablet tablet", "zinc"]  # two of three words have a negative IDF, so has the mean
    assert retrieve(passages, "iron") == [1, 0]


def test_ties_at_the_cut_stay_in_corpus_order(retrieve):
    assert retrieve(["plan", *["iron"] * 30, *["zinc"] * 60], "iron", depth=3) == [1, 2, 3]


# Settings


@pytest.mark.parametrize(
    ("settings", "turned"),
    [
        ({}, {"k1": 0.9}),
        ({}, {"b": 0.4}),
        ({}, {"epsilon": 0.5}),
        ({}, {"stop_words": "english"}),
        ({}, {"stemmer": "english"}),
        ({}, {"backend": "bm25s"}),
    ],
    ids=str,
)
def test_every_setting_changes_the_scores(store, manual_search, settings, turned):
    default = SparseRetriever(store, **settings).rank(manual_search, 10)
    other = SparseRetriever(store, **(settings | turned)).rank(manual_search, 10)
    assert not np.array_equal(other.scores, default.scores)


def test_a_language_without_a_stemmer_is_refused_with_those_that_have_one(store):
    with pytest.raises(ConfigError, match=r"stemmer: found 'klingon', expected null or one of arabic, .*english"):
        SparseRetriever(store, stemmer="klingon")


# The store


class Refusing(Store):
    """A store that builds no `terms`: they have to be there."""

    def get(self, stage, inputs, build):
        def refuse():
            raise AssertionError("counted again")

        refuse.__module__ = build.__module__  # the store knows an entry by the code that builds it, too
        return super().get(stage, inputs, refuse if stage == "terms" else build)


@pytest.mark.parametrize("settings", [{}, {"k1": 0.9}, {"backend": "bm25s"}], ids=["same", "k1", "backend"])
def test_other_queries_and_other_weights_count_no_terms_again(store, manual_search, settings):
    SparseRetriever(store).rank(manual_search, 10)
    again = SparseRetriever(Refusing(store.path), **settings)
    assert again.rank(Search(manual_search.passages, ("iron",)), 10).passages[0, 0] != NOTHING


@pytest.mark.parametrize("settings", [{}, {"stemmer": "english"}, {"backend": "bm25s"}], ids=str)
def test_stored_counts_give_the_same_bits(store, manual_search, settings):
    stored = SparseRetriever(store, **settings)
    stored.index(manual_search.passages)
    kept = SparseRetriever(Refusing(store.path), **settings).rank(manual_search, 10)
    built = SparseRetriever(Store("", enabled=False), **settings).rank(manual_search, 10)
    np.testing.assert_array_equal(kept.passages, built.passages)
    np.testing.assert_array_equal(kept.scores, built.scores)


def test_a_subclass_does_not_take_what_its_parent_stored(store):
    class Shortest(SparseRetriever):
        def index(self, passages):
            return super().index([text[:1] for text in passages])

    search = Search(("iron tablets", "birth plan", "cold chain"), ("iron",))
    assert SparseRetriever(store).rank(search, 2).passages[0, 0] == 0
    assert Shortest(store).rank(search, 2).passages[0, 0] == NOTHING
