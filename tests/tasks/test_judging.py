"""The gain of each rank."""

import numpy as np
import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

from ragsweep.core.arrays import NOTHING
from ragsweep.evaluation import average_precision, judge, ndcg, precision, recall


def judged(ranking, grades, **settings):
    """One query's ranking of units, judged by `{unit: grade}`."""
    units, grade = np.array([*grades]), np.array([*grades.values()])
    return judge(np.array([ranking]), np.zeros(len(units), dtype=np.int64), units, grade, **settings)


def test_repeats_are_dropped_with_before_cutoff():
    assert judged([3, 3, 7, 3, 5], {3: 1, 5: 1}, collapse="before_cutoff").units.tolist() == [
        [3, 7, 5, NOTHING, NOTHING]
    ]


def test_a_unit_keeps_the_rank_of_its_first_passage():
    found = judged([3, 3, 7, 3, 5], {3: 1}, collapse="before_cutoff")
    assert found.ranks[found.units != NOTHING].tolist() == [0, 2, 4]


def test_a_judgment_counts_for_its_own_query_only():
    ranking = np.array([[3, 5], [3, 5]])
    gains = judge(ranking, np.array([0, 1]), np.array([3, 5]), np.array([1, 1])).gains
    assert gains.tolist() == [[1, 0], [0, 1]]


def test_a_query_without_judgments_is_left_out():
    ranking = np.array([[3], [3], [3]])
    assert judge(ranking, np.array([2, 0]), np.array([3, 5]), np.array([1, 1])).queries.tolist() == [0, 2]


@pytest.mark.parametrize("grade", [0, -1])
def test_a_grade_of_0_or_less_is_judged_and_not_relevant(grade):
    assert judged([3], {3: grade, 5: 1}).gains.tolist() == [[0]]


@given(st.permutations(range(6)), st.dictionaries(st.integers(0, 8), st.integers(0, 3), min_size=1), st.integers(1, 6))
def test_relevance_level_2_equals_trec_evals_l_2(ranking, grades, k):
    qrels = {"q": {str(unit): grade for unit, grade in grades.items()}}
    measures = {f"P.{k}", f"recall.{k}", f"map_cut.{k}", f"ndcg_cut.{k}"}
    run = {"q": {str(unit): -float(rank) for rank, unit in enumerate(ranking)}}
    oracle = pytrec_eval.RelevanceEvaluator(qrels, measures, relevance_level=2).evaluate(run)["q"]
    found = judged(ranking, grades, relevance_level=2)
    assert {
        f"P_{k}": precision(found, k)[0],
        f"recall_{k}": recall(found, k)[0],
        f"map_cut_{k}": average_precision(found, k)[0],
        f"ndcg_cut_{k}": ndcg(found, k)[0],
    } == pytest.approx(oracle, abs=1e-12)
