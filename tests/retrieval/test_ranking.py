"""Ordering candidates, and timing single queries."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragsweep.core.timing import sample
from ragsweep.retrieval import NOTHING, Search, ranked

CANDIDATES = st.dictionaries(st.integers(0, 9), st.integers(-2, 2), min_size=1)


def rank(passages, scores, depth=100):
    ranking = ranked(np.array(passages), np.array(scores, float), depth, latency_ms=np.empty(0))
    return ranking.passages.tolist(), ranking.scores.tolist()


@given(CANDIDATES, st.integers(1, 10))
def test_the_order_is_score_descending_then_corpus_order(candidates, depth):
    expected = sorted(candidates, key=lambda passage: (-candidates[passage], passage))[:depth]
    assert rank([[*candidates]], [[*candidates.values()]], depth)[0] == [expected]


def test_nothing_stands_behind_every_passage_whatever_its_score():
    assert rank([[NOTHING, 5]], [[9, -3]]) == ([[5, NOTHING]], [[-3, -np.inf]])


@pytest.mark.parametrize(
    ("queries", "expected"), [(1, [0]), (3, [0, 1, 2]), (31, list(range(0, 31, 2))), (133, None), (100_000, None)]
)
def test_a_latency_sample_is_at_most_16_queries_from_first_to_last(queries, expected):
    chosen = sample(queries).tolist()
    assert chosen == expected or (len(chosen) == 16 and (chosen[0], chosen[-1]) == (0, queries - 1))


@pytest.mark.parametrize(
    "other", [Search(("a", "bc"), ("q",)), Search(("ab", "c"), ("p",)), Search(("ab", "c", "q"), ())]
)
def test_other_texts_are_another_search(other):
    assert other.digest != Search(("ab", "c"), ("q",)).digest
