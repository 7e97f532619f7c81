"""Cutoffs of dynamic k, held against their definitions in slow loops."""

from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rankings import ranking_of
from scipy.special import softmax

from ragsweep.core.errors import ConfigError
from ragsweep.retrieval import (
    NOTHING,
    ConfidenceCutoff,
    GapCutoff,
    QueryCutoffs,
    Search,
)
from ragsweep.testing import RerankerContract
from ragsweep.testing.component import SEARCH


class TestByQuery(RerankerContract):
    component = QueryCutoffs
    settings: ClassVar = {"lengths": {text: row for row, text in enumerate(SEARCH.queries[:3], start=1)}}


def test_a_ranking_ends_at_the_k_of_its_query():
    given = ranking([[3, 2, 1], [3, 2, 1], [3, 2, 1]])
    search = Search(("iron",) * 3, ("one", "two", "other"))
    passages = QueryCutoffs({"one": 1, "two": 2}).rerank(search, given, 3).passages
    assert (passages != NOTHING).sum(axis=1).tolist() == [1, 2, 3]


SCORES = st.lists(st.lists(st.integers(-3, 3) | st.floats(-100, 100), max_size=9), min_size=1, max_size=3)
BOUNDS = st.tuples(st.integers(1, 10), st.integers(1, 10)).map(sorted)


def ranking(queries):
    """A ranking with these scores."""
    return ranking_of(*(dict(enumerate(scores)) for scores in queries))


def lengths(cutoff, given, depth=100):
    search = Search(("iron",) * given.passages.shape[1], ("iron",) * len(given.passages))
    cut = cutoff.rerank(search, given, depth)
    stays = cut.passages != NOTHING
    for query, length in enumerate(stays.sum(axis=1)):  # the order is kept and the tail is dropped
        assert cut.passages[query, :length].tolist() == given.passages[query, :length].tolist()
        assert cut.scores[query, :length].tolist() == given.scores[query, :length].tolist()
        assert (cut.scores[query, length:] == -np.inf).all()
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
    cut_lengths = lengths(ConfidenceCutoff(*bounds, mass, temperature), given)
    for scores, length in zip(retrieved(given), cut_lengths, strict=True):
        if not scores:
            assert length == 0
            continue
        ends = by_mass(scores, mass, temperature, *bounds)
        totals = np.cumsum(softmax(np.array(scores[: bounds[1]]) / temperature))
        on_the_edge = np.abs(totals - mass).min() < 1e-9  # rounding decides
        assert length == ends[0] or on_the_edge


@given(queries=SCORES, bounds=BOUNDS, depth=st.integers(1, 9))
def test_a_query_keeps_the_least_as_far_as_it_has_them_and_no_more_than_the_depth(queries, bounds, depth):
    given = ranking(queries)
    for cutoff in (GapCutoff(*bounds), ConfidenceCutoff(*bounds, 0.5, 1.0)):
        for scores, length in zip(retrieved(given), lengths(cutoff, given, depth), strict=True):
            assert min(bounds[0], len(scores), depth) <= length <= depth


def test_the_least_must_not_be_more_than_the_most():
    for cutoff in (GapCutoff, ConfidenceCutoff):
        with pytest.raises(ConfigError, match=r"^least: found 5, expected at most 4 \(most\)"):
            cutoff(least=5, most=4)
