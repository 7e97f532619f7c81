"""BM25: what is retrieved, and what the settings do. Scores are held against the libraries in test_bm25.py."""

import pytest
from rankings import are_same, order_of

from ragsweep.core.errors import ConfigError
from ragsweep.retrieval import NOTHING, Search, SparseRetriever
from ragsweep.store.stage_store import NO_STORE, Store

RETRIEVED = [
    (["zinc", "iron", "plan"], [1]),
    (["zinc", "iron"], []),  # a word in half of the passages has an IDF of log 1, so that it weighs 0
    (["iron tablet", "iron tablet tablet", "zinc"], [1, 0]),  # two of three words have a negative IDF, so has the mean
    (["plan", *["iron"] * 30, *["zinc"] * 60], [1, 2, 3]),  # ties at the cut stay in corpus order
]


def test_what_is_retrieved_has_a_word_of_the_query_that_does_not_weigh_0():
    for passages, expected in RETRIEVED:
        assert order_of(SparseRetriever(NO_STORE).rank(Search(tuple(passages), ("iron",)), 3)) == [expected]


def test_every_setting_changes_the_scores(store, manual_search):
    usual = SparseRetriever(store).rank(manual_search, 10).scores.tolist()
    for name, value in {
        "k1": 0.9,
        "b": 0.4,
        "epsilon": 0.5,
        "stop_words": "english",
        "stemmer": "english",
        "backend": "bm25s",
    }.items():
        assert SparseRetriever(store, **{name: value}).rank(manual_search, 10).scores.tolist() != usual, name


def test_a_language_without_a_stemmer_is_refused_with_those_that_have_one(store):
    with pytest.raises(ConfigError, match=r"stemmer: found 'klingon', expected null or one of arabic, .*english"):
        SparseRetriever(store, stemmer="klingon")


class Refusing(Store):
    """A store that builds no `terms`: they have to be there."""

    def get(self, stage, inputs, build):
        def refuse():
            raise AssertionError("counted again")

        refuse.__module__ = build.__module__  # the store knows an entry by the code that builds it, too
        return super().get(stage, inputs, refuse if stage == "terms" else build)


def test_other_queries_and_other_weights_count_no_terms_again(store, manual_search):
    SparseRetriever(store).rank(manual_search, 10)
    for settings in ({}, {"k1": 0.9}, {"backend": "bm25s"}):
        again = SparseRetriever(Refusing(store.path), **settings)
        assert again.rank(Search(manual_search.passages, ("iron",)), 10).passages[0, 0] != NOTHING


def test_stored_counts_give_the_same_bits(store, manual_search):
    for settings in ({}, {"stemmer": "english"}, {"backend": "bm25s"}):
        SparseRetriever(store, **settings).index(manual_search.passages)
        kept = SparseRetriever(Refusing(store.path), **settings).rank(manual_search, 10)
        assert are_same(kept, SparseRetriever(NO_STORE, **settings).rank(manual_search, 10))


def test_a_subclass_does_not_take_what_its_parent_stored(store):
    class Shortest(SparseRetriever):
        def index(self, passages):
            return super().index([text[:1] for text in passages])

    search = Search(("iron tablets", "birth plan", "cold chain"), ("iron",))
    assert order_of(SparseRetriever(store).rank(search, 2)) == [[0]]
    assert order_of(Shortest(store).rank(search, 2)) == [[]]
