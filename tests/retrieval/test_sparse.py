"""BM25: scores, held against rank_bm25 and bm25s on the same tokens; what is retrieved, and what is stored."""

import re
from functools import partial
from itertools import chain

import bm25s
import numpy as np
import pytest
import Stemmer
from hypothesis import assume, given
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi
from rankings import are_same, order_of

from ragsweep.core.errors import ConfigError
from ragsweep.retrieval import NOTHING, Search, SparseRetriever
from ragsweep.store.stage_store import NO_STORE, Store
from ragsweep.text.stop_words import LUCENE_STOP_WORDS

WORDS = ["iron", "Tablet", "tablets", "anaemia", "the", "of", "Über", "straße", "ΟΔΟΣ", "鉄", "naïve", "x_1", "", "!"]
TEXTS = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)
CORPUS = st.lists(TEXTS, min_size=1, max_size=12)
QUERIES = st.lists(st.lists(st.sampled_from([*WORDS, "unknown"]), max_size=6).map(" ".join), min_size=1, max_size=3)
# At b = 1 the libraries divide 0 by 0 for a passage without words.
WEIGHING = st.fixed_dictionaries({"k1": st.floats(0.1, 3), "b": st.floats(0, 0.99), "epsilon": st.floats(0, 1)})


def tokens(text):
    return re.findall(r"\w+", text.lower())


def english(text):
    """The tokens with stop words dropped and stemmed, one word at a time."""
    return [Stemmer.Stemmer("english").stemWord(word) for word in tokens(text) if word not in LUCENE_STOP_WORDS]


def okapi_scores(passages, queries, words=tokens, **weighing):
    bm25 = BM25Okapi([words(text) for text in passages], **weighing)
    return np.array([bm25.get_scores(words(text)) for text in queries])


def bm25s_scores(passages, queries, epsilon=None, **weighing):
    bm25 = bm25s.BM25(method="lucene", dtype="float64", **weighing)
    corpus = [tokens(text) for text in passages]
    vocabulary = {*chain.from_iterable(corpus)}
    bm25.index(corpus, show_progress=False)
    # It takes no query without a known token; an empty one is worth nothing.
    terms = [[term for term in tokens(text) if term in vocabulary] for text in queries]
    return np.array([bm25.get_scores(query) if query else np.zeros(len(passages)) for query in terms])


ORACLES = {  # our settings, how a text is cut into words, and whose scores these are
    "rank_bm25": ({}, tokens, okapi_scores),
    "stems": ({"stop_words": "english", "stemmer": "english"}, english, partial(okapi_scores, words=english)),
    "bm25s": ({"backend": "bm25s"}, tokens, bm25s_scores),
}


def assert_scores(name, passages, queries, **weighing):
    """Every score is that of the library; 0 where a passage was not retrieved."""
    settings, _, oracle = ORACLES[name]
    ranking = SparseRetriever(NO_STORE, **settings, **weighing).index(passages).search(queries, len(passages))
    scores = np.zeros((len(queries), len(passages)))
    row, rank = np.nonzero(ranking.passages != NOTHING)
    scores[row, ranking.passages[row, rank]] = ranking.scores[row, rank]
    np.testing.assert_allclose(scores, oracle(passages, queries, **weighing), rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", ORACLES)
@given(passages=CORPUS, queries=QUERIES, weighing=WEIGHING)
def test_scores_equal_those_of_the_library(name, passages, queries, weighing):
    assume(any(map(ORACLES[name][1], passages)))
    assert_scores(name, passages, queries, **weighing)


def test_on_the_manual_the_ranking_is_rank_bm25s_whatever_number_of_queries_at_once(store, manual_search):
    passages, queries = manual_search.passages, manual_search.queries
    assert_scores("rank_bm25", passages, queries)
    expected = np.argsort(-okapi_scores(passages, queries).round(9), kind="stable")[:, :10].tolist()
    assert SparseRetriever(store).rank(manual_search, 10).passages.tolist() == expected  # ties in corpus order
    for backend in ("rank_bm25", "bm25s"):
        index = SparseRetriever(NO_STORE, backend=backend).index(passages)
        together = index.search(queries, 10)
        for at_once in (1, 7 * len(passages)):
            assert are_same(index.search(queries, 10, at_once=at_once), together)


@pytest.mark.soak
@pytest.mark.real_data
def test_scores_equal_both_libraries_on_scifact(scifact):
    for name in ("rank_bm25", "bm25s"):
        assert_scores(name, scifact.texts, [query.text for query in scifact.queries])


# The search


def assert_best(index, queries, depth):
    whole, best = index.search(queries, index.weights.shape[1]), index.search(queries, depth)
    np.testing.assert_array_equal(best.passages, whole.passages[:, :depth])
    np.testing.assert_array_equal(best.scores, whole.scores[:, :depth])


@given(CORPUS, QUERIES, st.integers(1, 12), st.sampled_from(["rank_bm25", "bm25s"]))
def test_the_best_are_those_of_the_whole_ranking(passages, queries, depth, backend):
    assume(any(map(tokens, passages)))
    assert_best(SparseRetriever(NO_STORE, backend=backend).index(passages), queries, depth)


def test_the_best_of_many_passages_are_those_of_the_whole_ranking():
    drawn = np.random.default_rng(0).zipf(1.5, (2000, 6)).clip(max=300)  # many ties, a few very frequent terms
    index = SparseRetriever(NO_STORE).index([" ".join(f"w{number}" for number in row) for row in drawn])
    for depth in (1, 10, 100):
        assert_best(index, ["w1", "w2 w3", "w1 w2 w290", "w1 w1 w4 w5", "w299", "none"], depth)


RETRIEVED = [
    (["zinc", "iron", "plan"], [1]),
    (["zinc", "iron"], []),  # a word in half of the passages has an IDF of log 1, so that it weighs 0
    (["iron tablet", "iron tablet tablet", "zinc"], [1, 0]),  # two of three words have a negative IDF, so has the mean
    (["plan", *["iron"] * 30, *["zinc"] * 60], [1, 2, 3]),  # ties at the cut stay in corpus order
]


def test_what_is_retrieved_has_a_word_of_the_query_that_does_not_weigh_0():
    orders = [order_of(SparseRetriever(NO_STORE).rank(Search(tuple(texts), ("iron",)), 3)) for texts, _ in RETRIEVED]
    assert orders == [[order] for _, order in RETRIEVED]


SETTINGS = {"k1": 0.9, "b": 0.4, "epsilon": 0.5, "stop_words": "english", "stemmer": "english", "backend": "bm25s"}


def test_every_setting_changes_the_scores_and_a_language_needs_a_stemmer(store, manual_search):
    of_settings = [{}, *({name: value} for name, value in SETTINGS.items())]
    rankings = [SparseRetriever(store, **settings).rank(manual_search, 10) for settings in of_settings]
    assert len({ranking.scores.tobytes() for ranking in rankings}) == 1 + len(SETTINGS)
    with pytest.raises(ConfigError, match=r"stemmer: found 'klingon', expected null or one of arabic, .*english"):
        SparseRetriever(store, stemmer="klingon")


class Refusing(Store):
    """A store that builds no `terms`: they have to be there."""

    def get(self, stage, inputs, build):
        def refuse():
            raise AssertionError("counted again")

        refuse.__module__ = build.__module__  # the store knows an entry by the code that builds it, too
        return super().get(stage, inputs, refuse if stage == "terms" else build)


def test_stored_counts_serve_other_queries_and_weights_and_give_the_same_bits(store, manual_search):
    for counting, weighings in {"": [{}, {"k1": 0.9}, {"backend": "bm25s"}], "english": [{}]}.items():
        stems = {"stemmer": counting or None}
        SparseRetriever(store, **stems).rank(Search(manual_search.passages, ("tea",)), 10)
        for weighing in weighings:
            kept = SparseRetriever(Refusing(store.path), **stems, **weighing).rank(manual_search, 10)
            assert are_same(kept, SparseRetriever(NO_STORE, **stems, **weighing).rank(manual_search, 10))


def test_a_subclass_does_not_take_what_its_parent_stored(store):
    class Shortest(SparseRetriever):
        def index(self, passages):
            return super().index([text[:1] for text in passages])

    search = Search(("iron tablets", "birth plan", "cold chain"), ("iron",))
    assert order_of(SparseRetriever(store).rank(search, 2)) == [[0]]
    assert order_of(Shortest(store).rank(search, 2)) == [[]]
