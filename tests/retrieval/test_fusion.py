"""Fusing rankings."""

from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rankings import pairs_of, ranking_of

from ragsweep.retrieval import ReciprocalRankFusion, WeightedSum

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


def normalised(scores):
    low, high = min(scores.values(), default=0), max(scores.values(), default=0)
    return {passage: 1.0 if high == low else (score - low) / (high - low) for passage, score in scores.items()}


def slow_weighted_sum(rankings, weights):
    fused = {}
    for weight, scores in zip(weights, map(normalised, rankings), strict=True):
        for passage, score in scores.items() if weight else ():
            fused[passage] = fused.get(passage, 0.0) + weight * score
    return [(p, fused[p]) for p in sorted(fused, key=lambda p: (-fused[p], p))]


@given(
    st.lists(st.tuples(CANDIDATES, st.floats(0, 1)), min_size=1, max_size=4).filter(
        lambda weighted: any(weight for _, weight in weighted)
    )
)
def test_a_weighted_sum_equals_a_slow_loop_over_dictionaries(weighted):
    rankings, weights = zip(*weighted, strict=True)
    expected = [slow_weighted_sum(of_query, weights) for of_query in zip(*rankings, strict=True)]
    assert pairs_of(WeightedSum(weights).fuse([ranking_of(*scores) for scores in rankings])) == expected


@pytest.fixture(scope="module")
def fuse_of_ranx(ranx):
    """What ranx makes of rankings `{passage: score}`."""

    def fuse(rankings, norm, method, params):
        runs = [
            ranx.Run({"q": {str(passage): float(score) for passage, score in scores.items()}}) for scores in rankings
        ]
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
    [fused] = pairs_of(fusion.fuse([ranking_of(scores) for scores in rankings]))
    assert dict(fused) == pytest.approx(fuse_of_ranx(rankings, norm, *method), abs=1e-9)


def test_equal_scores_are_all_normalised_to_the_same():
    equal = ranking_of(dict.fromkeys(range(3), 0.1))
    for norm, score in (("minmax", 1.0), ("zscore", 0.0), ("none", 0.1)):
        assert pairs_of(WeightedSum(norm=norm).fuse([equal])) == [[(passage, score) for passage in range(3)]]


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize("fusion", FUSIONS.values(), ids=FUSIONS)
@FEW
@given(candidates=st.lists(CANDIDATES, min_size=3, max_size=3))
def test_neither_the_order_of_the_rankings_nor_other_queries_matter(fusion, candidates):
    rankings = [ranking_of(*scores) for scores in candidates]
    fused = pairs_of(fusion.fuse(rankings))
    for order in permutations(rankings):
        for one, other in zip(fused, pairs_of(fusion.fuse([*order])), strict=True):
            assert dict(one) == pytest.approx(dict(other), rel=1e-9, abs=1e-9)
    for query in range(QUERIES):
        assert pairs_of(fusion.fuse([ranking_of(scores[query]) for scores in candidates])) == [fused[query]]


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize("fusion", WEIGHTED.values(), ids=WEIGHTED)
@FEW
@given(candidates=st.lists(CANDIDATES, min_size=3, max_size=3), weights=st.tuples(*[st.floats(0.01, 1)] * 2))
def test_weights_go_with_their_rankings_and_one_of_weight_0_counts_as_if_it_were_absent(fusion, candidates, weights):
    first, absent, last = (ranking_of(*scores) for scores in candidates)
    two = pairs_of(fusion(weights).fuse([first, last]))
    assert pairs_of(fusion(weights[::-1]).fuse([last, first])) == two
    assert pairs_of(fusion([weights[0], 0, weights[1]]).fuse([first, absent, last])) == two
