"""Fusing rankings."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragsweep.core.errors import ConfigError
from ragsweep.retrieval import NOTHING, WeightedSum, minmax, ranked

QUERIES = 3
SCORES = st.integers(-2, 2) | st.floats(-1e6, 1e6)
CANDIDATES = st.lists(st.dictionaries(st.integers(0, 7), SCORES), min_size=QUERIES, max_size=QUERIES)


def ranking(*queries):
    """A ranking from one dictionary `{passage: score}` a query."""
    width = max(1, *map(len, queries), 1)
    passages = [[*scores, *[NOTHING] * (width - len(scores))] for scores in queries]
    values = [[*scores.values(), *[0.0] * (width - len(scores))] for scores in queries]
    return ranked(np.array(passages), np.array(values, float), width, latency_ms=np.empty(0))


def normalised(scores):
    low, high = min(scores.values(), default=0), max(scores.values(), default=0)
    return {passage: 1.0 if high == low else (score - low) / (high - low) for passage, score in scores.items()}


def slow_weighted_sum(rankings, weights):
    fused = {}
    for weight, scores in zip(weights, map(normalised, rankings), strict=True):
        for passage, score in scores.items():
            fused[passage] = fused.get(passage, 0.0) + weight * score
    return [(p, fused[p]) for p in sorted(fused, key=lambda p: (-fused[p], p))]


def retrieved(fused):
    return [
        [(passage, score) for passage, score in zip(passages, scores, strict=True) if passage != NOTHING]
        for passages, scores in zip(fused.passages.tolist(), fused.scores.tolist(), strict=True)
    ]


@given(st.lists(st.tuples(CANDIDATES, st.floats(0, 1)), min_size=1, max_size=4))
def test_a_weighted_sum_equals_a_slow_loop_over_dictionaries(weighted):
    rankings, weights = zip(*weighted, strict=True)
    expected = [slow_weighted_sum(of_query, weights) for of_query in zip(*rankings, strict=True)]
    assert retrieved(WeightedSum(weights).fuse([ranking(*each) for each in rankings])) == expected


def test_without_weights_all_rankings_count_the_same():
    rankings = [ranking({0: 2.0, 1: 1.0}), ranking({1: 3.0}), ranking({1: 2.0, 0: 1.0})]
    assert retrieved(WeightedSum().fuse(rankings)) == retrieved(WeightedSum([1 / 3] * 3).fuse(rankings))


def test_another_number_of_weights_is_refused():
    with pytest.raises(ConfigError, match="weights: found 3, expected one for each of the 2 rankings"):
        WeightedSum([1, 1, 1]).fuse([ranking({0: 1.0}), ranking({1: 1.0})])


def test_the_best_gets_1_and_the_last_0():
    assert minmax(ranking({0: 4.0, 1: 2.0, 2: 3.0})).tolist() == [[1.0, 0.5, 0.0]]


def test_a_list_of_equal_scores_normalises_to_1():
    assert minmax(ranking({0: 4.0, 1: 4.0})).tolist() == [[1.0, 1.0]]


def test_every_query_is_normalised_on_its_own():
    assert minmax(ranking({0: 4.0, 1: 2.0}, {0: 40.0, 1: 20.0})).tolist() == [[1.0, 0.0], [1.0, 0.0]]


def test_no_passage_has_a_normalised_score_of_0():
    assert minmax(ranking({}, {0: 4.0})).tolist() == [[0.0], [1.0]]


@pytest.mark.parametrize(("alpha", "score"), [(0.25, 0.25), (0.75, 0.75)])
def test_a_passage_absent_from_the_sparse_list_gets_0_from_it(alpha, score):
    assert retrieved(WeightedSum([alpha, 1 - alpha]).fuse([ranking({0: 1.0}), ranking({})])) == [[(0, score)]]
