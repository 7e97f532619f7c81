"""The ranking metrics: known values, and properties that always hold."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragsweep.core.arrays import NOTHING
from ragsweep.evaluation import average_precision, f1, hit_rate, judge, mrr, ndcg, precision, recall

exponential_ndcg = partial(ndcg, gain="exponential")
METRICS = [precision, recall, f1, mrr, hit_rate, ndcg, exponential_ndcg, average_precision]
DEPTH, QUERIES = 8, 3

SETTINGS = st.fixed_dictionaries(
    {"collapse": st.sampled_from(["after_cutoff", "before_cutoff"]), "relevance_level": st.integers(1, 3)}
)
CUTOFFS = st.integers(1, 12)
UNITS = st.integers(0, 5)
RANKINGS = st.lists(
    st.lists(UNITS, max_size=DEPTH).map(lambda units: units + [NOTHING] * (DEPTH - len(units))),
    min_size=QUERIES,
    max_size=QUERIES,
).map(np.array)
QRELS = st.dictionaries(st.tuples(st.integers(0, QUERIES - 1), UNITS), st.integers(0, 3), min_size=1)


def judged(rankings, qrels, **settings):
    """Rankings of units, judged by `{(query, unit): grade}`."""
    query, unit = np.array([*qrels]).T
    return judge(rankings, query, unit, np.array([*qrels.values()]), **settings)


def one(ranking, grades):
    return judged(np.array([ranking]), {(0, unit): grade for unit, grade in grades.items()})


# Golden values, from trec_eval


@pytest.mark.parametrize(
    ("metric", "value"),
    [
        (precision, 0.4),
        (recall, 1),
        (f1, 0.571429),
        (mrr, 1),
        (hit_rate, 1),
        (average_precision, 0.833333),
        (ndcg, 0.919721),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_two_relevant_pages_at_ranks_1_and_3(metric, value):
    assert metric(one([34, 78, 35, 102, 45], {34: 1, 35: 1}), 5)[0] == pytest.approx(value, abs=1e-6)


def test_the_ideal_is_not_limited_to_retrieved_units():
    ranking = one([1, 10, 11, 12, 13], dict.fromkeys(range(1, 6), 1))
    assert ndcg(ranking, 5)[0] == pytest.approx(0.339160, abs=1e-6)


@pytest.mark.parametrize(
    ("gain", "k", "value"), [("linear", 3, 0.342499), ("exponential", 3, 0.226869), ("linear", 5, 0.613827)]
)
def test_graded_judgments_in_the_worst_order(gain, k, value):
    ranking = one([4, 3, 2, 1], {1: 3, 2: 2, 3: 1, 4: 0})
    assert ndcg(ranking, k, gain=gain)[0] == pytest.approx(value, abs=1e-6)


# What must always hold


@pytest.mark.parametrize("metric", METRICS)
@given(rankings=RANKINGS, qrels=QRELS, settings=SETTINGS, k=CUTOFFS)
def test_a_metric_stays_between_0_and_1(metric, rankings, qrels, settings, k):
    values = metric(judged(rankings, qrels, **settings), k)
    assert ((values >= 0) & (values <= 1)).all()


def test_the_ndcg_of_the_best_ranking_is_1_to_the_last_bit():
    assert ndcg(one([*range(10)], dict(enumerate([3, 3, 3, 2]))), 10)[0] == 1


@given(rankings=RANKINGS, qrels=QRELS, settings=SETTINGS, k=CUTOFFS)
def test_recall_never_falls_as_k_grows(rankings, qrels, settings, k):
    found = judged(rankings, qrels, **settings)
    assert (recall(found, k) <= recall(found, k + 1)).all()


@given(rankings=RANKINGS, qrels=QRELS, k=CUTOFFS)
def test_f1_is_the_harmonic_mean_of_precision_and_recall(rankings, qrels, k):
    found = judged(rankings, qrels)
    product, total = precision(found, k) * recall(found, k), precision(found, k) + recall(found, k)
    np.testing.assert_allclose(f1(found, k), 2 * product / np.where(total > 0, total, 1), atol=1e-12)


@pytest.mark.parametrize("metric", METRICS)
@given(rankings=RANKINGS, qrels=QRELS, k=CUTOFFS, order=st.permutations(range(QUERIES)))
def test_permuting_the_queries_permutes_the_values(metric, rankings, qrels, k, order):
    found = judged(rankings, qrels)
    moved = judged(rankings[order], {(order.index(query), unit): grade for (query, unit), grade in qrels.items()})
    values = dict(zip(found.queries.tolist(), metric(found, k), strict=True))
    assert [values[order[query]] for query in moved.queries] == metric(moved, k).tolist()


# Settings


@pytest.mark.parametrize(
    "changed",
    [
        lambda rankings, qrels: ndcg(judged(rankings, qrels, collapse="before_cutoff"), 3),
        lambda rankings, qrels: ndcg(judged(rankings, qrels), 3, gain="exponential"),
        lambda rankings, qrels: ndcg(judged(rankings, qrels), 2),
    ],
    ids=["collapse", "gain", "k"],
)
def test_every_setting_changes_the_result(changed):
    rankings, qrels = np.array([[1, 1, 4, 3]]), {(0, 1): 1, (0, 3): 3, (0, 4): 2}
    assert changed(rankings, qrels) != ndcg(judged(rankings, qrels), 3)


@given(rankings=RANKINGS, qrels=QRELS, k=CUTOFFS)
def test_exponential_gain_is_linear_gain_of_2_to_the_grade_minus_1(rankings, qrels, k):
    raised = judged(rankings, {pair: 2**grade - 1 for pair, grade in qrels.items()})
    assert exponential_ndcg(judged(rankings, qrels), k).tolist() == ndcg(raised, k).tolist()
