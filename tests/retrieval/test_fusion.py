"""Fusing rankings."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragsweep.retrieval import (
    NOTHING,
    ReciprocalRankFusion,
    WeightedSum,
    ranked,
)

QUERIES = 3
FEW = settings(max_examples=30)  # of each fusion
SCORES = st.integers(-2, 2) | st.floats(-1e6, 1e6)
DIFFERENT = st.dictionaries(st.integers(0, 7), st.integers(-99, 99), min_size=2).filter(
    lambda scores: len({*scores.values()}) == len(scores)
)
FUSIONS = {
    "minmax": WeightedSum(),
    "zscore": WeightedSum(norm="zscore"),
    "sum": WeightedSum(norm="none"),
    "rrf": ReciprocalRankFusion(),
}
WEIGHTED = {
    "minmax": WeightedSum,
    "zscore": lambda weights: WeightedSum(weights, norm="zscore"),
    "rrf": lambda weights: ReciprocalRankFusion(weights=weights),
}
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
        for passage, score in scores.items() if weight else ():
            fused[passage] = fused.get(passage, 0.0) + weight * score
    return [(p, fused[p]) for p in sorted(fused, key=lambda p: (-fused[p], p))]


def retrieved(fused):
    return [
        [(passage, score) for passage, score in zip(passages, scores, strict=True) if passage != NOTHING]
        for passages, scores in zip(fused.passages.tolist(), fused.scores.tolist(), strict=True)
    ]


@given(
    st.lists(st.tuples(CANDIDATES, st.floats(0, 1)), min_size=1, max_size=4).filter(
        lambda weighted: any(weight for _, weight in weighted)
    )
)
def test_a_weighted_sum_equals_a_slow_loop_over_dictionaries(weighted):
    rankings, weights = zip(*weighted, strict=True)
    expected = [slow_weighted_sum(of_query, weights) for of_query in zip(*rankings, strict=True)]
    assert retrieved(WeightedSum(weights).fuse([ranking(*each) for each in rankings])) == expected


@pytest.fixture(scope="module")
def fuse_of_ranx(ranx):
    """What ranx makes of rankings `{passage: score}`."""

    def fuse(rankings, norm, method, params):
        runs = [ranx.Run({"q": {str(each): float(score) for each, score in scores.items()}}) for scores in rankings]
        fused = ranx.fuse(runs, norm=norm, method=method, params=params)
        return {int(passage): float(score) for passage, score in fused.to_dict()["q"].items()}

    return fuse


@pytest.mark.extra("bench")
@pytest.mark.parametrize(
    ("fusion", "norm", "method"),
    [
        (WeightedSum([0.2, 0.5, 0.3]), "min-max", ("wsum", {"weights": [0.2, 0.5, 0.3]})),
        (WeightedSum([0.2, 0.5, 0.3], norm="zscore"), "zmuv", ("wsum", {"weights": [0.2, 0.5, 0.3]})),
        (WeightedSum([1, 1, 1], norm="none"), None, ("sum", {})),
        (WeightedSum([1, 1, 1], norm="zscore"), "zmuv", ("sum", {})),
        (ReciprocalRankFusion(), None, ("rrf", {"k": 60})),
        (ReciprocalRankFusion(constant=3), None, ("rrf", {"k": 3})),
    ],
)
@FEW
@given(rankings=st.lists(DIFFERENT, min_size=3, max_size=3))
def test_scores_equal_those_of_ranx(fuse_of_ranx, fusion, norm, method, rankings):
    [fused] = retrieved(fusion.fuse([ranking(each) for each in rankings]))
    assert dict(fused) == pytest.approx(fuse_of_ranx(rankings, norm, *method), abs=1e-9)


@pytest.mark.parametrize(("norm", "score"), [("minmax", 1.0), ("zscore", 0.0), ("none", 0.1)])
def test_equal_scores_are_all_normalised_to_the_same(norm, score):
    assert retrieved(WeightedSum(norm=norm).fuse([ranking(dict.fromkeys(range(3), 0.1))])) == [
        [(passage, score) for passage in range(3)]
    ]


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize("fusion", FUSIONS.values(), ids=FUSIONS)
@FEW
@given(rankings=st.lists(CANDIDATES, min_size=3, max_size=3))
def test_the_order_of_the_rankings_does_not_matter(fusion, rankings):
    fused = [fusion.fuse(list(given)) for given in permutations([ranking(*each) for each in rankings])]
    for other in fused[1:]:
        for one, same in zip(retrieved(fused[0]), retrieved(other), strict=True):
            assert dict(one) == pytest.approx(dict(same), rel=1e-9, abs=1e-9)


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize("fusion", WEIGHTED.values(), ids=WEIGHTED)
@FEW
@given(
    rankings=st.lists(CANDIDATES, min_size=2, max_size=2), weights=st.lists(st.floats(0.01, 1), min_size=2, max_size=2)
)
def test_weights_go_with_their_rankings(fusion, rankings, weights):
    given = [ranking(*each) for each in rankings]
    one, other = fusion(weights).fuse(given), fusion(weights[::-1]).fuse(given[::-1])
    assert retrieved(one) == retrieved(other)


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize("fusion", WEIGHTED.values(), ids=WEIGHTED)
@FEW
@given(rankings=st.lists(CANDIDATES, min_size=3, max_size=3))
def test_a_ranking_of_weight_0_counts_as_if_it_were_absent(fusion, rankings):
    first, absent, last = (ranking(*each) for each in rankings)
    assert retrieved(fusion([0.4, 0, 0.6]).fuse([first, absent, last])) == retrieved(
        fusion([0.4, 0.6]).fuse([first, last])
    )


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize("fusion", FUSIONS.values(), ids=FUSIONS)
@FEW
@given(rankings=st.lists(CANDIDATES, min_size=2, max_size=3))
def test_a_query_is_fused_alone_as_beside_others(fusion, rankings):
    together = retrieved(fusion.fuse([ranking(*each) for each in rankings]))
    for query in range(QUERIES):
        assert retrieved(fusion.fuse([ranking(each[query]) for each in rankings])) == [together[query]]
