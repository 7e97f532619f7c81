"""Cutoffs of dynamic k, held against their definitions in slow loops."""

from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from letters import LetterEncoder
from scipy.special import softmax

from ragsweep.core.errors import ConfigError
from ragsweep.retrieval import (
    NOTHING,
    ConfidenceCutoff,
    GapCutoff,
    MmrReranker,
    PipelineRetriever,
    Ranking,
    Search,
    SparseRetriever,
    rank,
    ranked,
)
from ragsweep.store.stage_store import NO_STORE
from ragsweep.testing import RerankerContract


class TestGap(RerankerContract):
    component = GapCutoff


class TestGapOfSomeSize(RerankerContract):
    component = GapCutoff
    settings: ClassVar = {"least": 2, "most": 4, "ratio": 0.4}


class TestConfidence(RerankerContract):
    component = ConfidenceCutoff


class TestConfidenceOfBm25(RerankerContract):
    component = ConfidenceCutoff
    settings: ClassVar = {"mass": 0.5, "temperature": 2.0, "least": 2, "most": 4}


SCORES = st.lists(st.lists(st.integers(-3, 3) | st.floats(-100, 100), max_size=9), min_size=1, max_size=3)
BOUNDS = st.tuples(st.integers(1, 10), st.integers(1, 10)).map(sorted)


def ranking(queries):
    """A ranking with these scores."""
    width = max(1, *map(len, queries), 1)
    passages = [[*range(len(scores)), *[NOTHING] * (width - len(scores))] for scores in queries]
    return ranked(np.array(passages), np.array([[*each, *[0.0] * (width - len(each))] for each in queries]), width)


def lengths(cutoff, given, depth=100):
    search = Search(("iron",) * given.passages.shape[1], ("iron",) * len(given.passages))
    found = cutoff.rerank(search, given, depth)
    stays = found.passages != NOTHING
    for query, length in enumerate(stays.sum(axis=1)):  # the order is kept and the tail is dropped
        assert found.passages[query, :length].tolist() == given.passages[query, :length].tolist()
        assert found.scores[query, :length].tolist() == given.scores[query, :length].tolist()
        assert (found.scores[query, length:] == -np.inf).all()
    return stays.sum(axis=1).tolist()


def retrieved(given):
    return [[score for score in row if score > -np.inf] for row in given.scores.tolist()]


def by_gap(scores, least, most, ratio):
    drops = {end: scores[end - 1] - scores[end] for end in range(1, min(most, len(scores) - 1) + 1)}
    allowed = {end: drop for end, drop in drops.items() if end >= least}
    largest = max(allowed.values(), default=0)
    if not largest or largest < ratio * sum(drops.values()):
        return len(scores)
    return min(end for end, drop in allowed.items() if drop == largest)


@given(queries=SCORES, bounds=BOUNDS, ratio=st.sampled_from([0.0, 0.25, 0.5, 1.0]))
def test_a_ranking_ends_at_its_largest_drop(queries, bounds, ratio):
    given = ranking(queries)
    expected = [by_gap(scores, *bounds, ratio) for scores in retrieved(given)]
    assert lengths(GapCutoff(*bounds, ratio), given) == expected


@pytest.mark.parametrize(
    ("cutoff", "length"),
    [
        (GapCutoff(), 2),
        (GapCutoff(least=3), 5),
        (GapCutoff(most=1), 1),
        (GapCutoff(ratio=0.5), 2),
        (GapCutoff(ratio=0.6), 6),
    ],
    ids=str,
)
def test_the_settings_of_the_gap_move_it(cutoff, length):
    assert lengths(cutoff, ranking([[10, 9, 4, 3.5, 3, 0]])) == [length]


def test_equal_scores_have_no_gap():
    assert lengths(GapCutoff(), ranking([[1, 1, 1], [2, 2, 2]])) == [3, 3]


def by_mass(scores, mass, temperature, least, most):
    scores = scores[:most]
    total = np.cumsum(softmax(np.array(scores) / temperature))
    return [min(max(end, least), len(scores)) for end in range(1, len(scores) + 1) if total[end - 1] >= mass - 1e-12]


@given(
    queries=SCORES,
    bounds=BOUNDS,
    mass=st.sampled_from([0.0, 0.5, 0.9, 0.99]),
    temperature=st.sampled_from([0.1, 1.0, 50.0]),
)
def test_a_ranking_ends_when_its_passages_have_the_mass(queries, bounds, mass, temperature):
    given = ranking(queries)
    found = lengths(ConfidenceCutoff(*bounds, mass, temperature), given)
    for scores, length in zip(retrieved(given), found, strict=True):
        if not scores:
            assert length == 0
            continue
        ends = by_mass(scores, mass, temperature, *bounds)
        totals = np.cumsum(softmax(np.array(scores[: bounds[1]]) / temperature))
        on_the_edge = np.abs(totals - mass).min() < 1e-9  # rounding decides
        assert length == ends[0] or on_the_edge


@given(queries=SCORES, bounds=BOUNDS, low=st.floats(0, 1), high=st.floats(0, 1))
def test_more_mass_keeps_more_passages(queries, bounds, low, high):
    low, high = sorted((low, high))
    fewer, more = (lengths(ConfidenceCutoff(*bounds, mass, 1.0), ranking(queries)) for mass in (low, high))
    assert all(one <= other for one, other in zip(fewer, more, strict=True))


@given(queries=SCORES, bounds=BOUNDS, depth=st.integers(1, 9))
def test_a_query_keeps_the_least_as_far_as_it_has_them_and_no_more_than_the_depth(queries, bounds, depth):
    given = ranking(queries)
    for cutoff in (GapCutoff(*bounds), ConfidenceCutoff(*bounds, 0.5, 1.0)):
        for scores, length in zip(retrieved(given), lengths(cutoff, given, depth), strict=True):
            assert min(bounds[0], len(scores), depth) <= length <= depth


@pytest.mark.parametrize(
    ("cutoff", "length"),
    [
        (ConfidenceCutoff(mass=0.6, temperature=1.0), 1),
        (ConfidenceCutoff(mass=0.7, temperature=1.0), 2),
        (ConfidenceCutoff(mass=0.6, temperature=2.0), 2),
        (ConfidenceCutoff(mass=0.6, temperature=1.0, least=3), 3),
        (ConfidenceCutoff(mass=1.0, temperature=1.0), 4),
        (ConfidenceCutoff(mass=1.0, temperature=1.0, most=2), 2),
    ],
    ids=str,
)
def test_the_settings_of_the_confidence_move_it(cutoff, length):
    assert lengths(cutoff, ranking([[3.0, 2.0, 1.0, 0.0]])) == [length]  # probabilities .644 .237 .087 .032


def test_scores_of_any_size_have_probabilities():
    assert lengths(ConfidenceCutoff(mass=0.9, temperature=1e-6), ranking([[1e30, 1e29], [-1e29, -1e30]])) == [1, 1]


@pytest.mark.parametrize("cutoff", [GapCutoff, ConfidenceCutoff])
def test_the_least_must_not_be_more_than_the_most(cutoff):
    with pytest.raises(ConfigError, match=r"^least: found 5, expected at most 4 \(most\)"):
        cutoff(least=5, most=4)


def test_the_given_ranking_stays_as_it_is():
    first = SparseRetriever(NO_STORE).rank(RerankerContract.search, 8)
    before = first.passages.copy()
    GapCutoff().rerank(RerankerContract.search, first, 5)
    assert isinstance(first, Ranking)
    np.testing.assert_array_equal(first.passages, before)


@pytest.mark.parametrize("cutoff", [GapCutoff(most=6), ConfidenceCutoff(most=6, temperature=0.3)])
@pytest.mark.parametrize("reranker", [None, MmrReranker(LetterEncoder(), NO_STORE, relevance=0.9)])
def test_a_ranking_to_a_lower_depth_is_the_beginning_of_one_to_a_higher(cutoff, reranker):
    passages = ["b a", "b c d e", "b b f g h", "b b b", "a b b i j", "c", "a c d", "b d d k", "b e e b"]
    search = Search(tuple(passages), ("b", "a b", "c b d"))
    pipeline = PipelineRetriever(SparseRetriever(NO_STORE), reranker=reranker, dynamic_k=cutoff)
    whole = rank(pipeline, search, 9).passages
    lengths = (whole != NOTHING).sum(axis=1)
    assert len({*lengths.tolist()}) > 1
    for depth in range(1, 9):
        found = rank(pipeline, search, depth).passages
        assert [row[row != NOTHING].tolist() for row in found] == [
            row[: min(length, depth)].tolist() for row, length in zip(whole, lengths, strict=True)
        ]
