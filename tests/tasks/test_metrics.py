"""The ranking metrics: known values, properties that always hold, trec_eval, and what is no metric."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragsweep.core.arrays import NOTHING
from ragsweep.core.errors import ConfigError
from ragsweep.evaluation import average_precision, evaluate, f1, hit_rate, judge, mrr, ndcg, precision, recall
from ragsweep.statistics import confidence_intervals
from ragsweep.tasks.metric import Metric
from ragsweep.tasks.scores import mean_scores

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
    return judge(np.array(rankings), query, unit, np.array([*qrels.values()]), **settings)


def one(ranking, grades, **settings):
    """The ranking of one query, judged by `{unit: grade}`."""
    return judged([ranking], {(0, unit): grade for unit, grade in grades.items()}, **settings)


@given(rankings=RANKINGS, qrels=QRELS, settings=SETTINGS, k=CUTOFFS)
def test_a_metric_stays_between_0_and_1_and_recall_never_falls(rankings, qrels, settings, k):
    of_qrels = judged(rankings, qrels, **settings)
    for metric in METRICS:
        values = metric(of_qrels, k)
        assert ((values >= 0) & (values <= 1)).all(), metric
    assert (recall(of_qrels, k) <= recall(of_qrels, k + 1)).all()


@given(rankings=RANKINGS, qrels=QRELS, k=CUTOFFS, order=st.permutations(range(QUERIES)))
def test_permuting_the_queries_permutes_the_values(rankings, qrels, k, order):
    given_order = judged(rankings, qrels)
    moved = judged(rankings[order], {(order.index(query), unit): grade for (query, unit), grade in qrels.items()})
    for metric in METRICS:
        values = dict(zip(given_order.queries.tolist(), metric(given_order, k), strict=True))
        assert [values[order[query]] for query in moved.queries] == metric(moved, k).tolist(), metric


@given(rankings=RANKINGS, qrels=QRELS, k=CUTOFFS)
def test_exponential_gain_is_linear_gain_of_2_to_the_grade_minus_1_and_the_best_ranking_has_1(rankings, qrels, k):
    raised = judged(rankings, {pair: 2**grade - 1 for pair, grade in qrels.items()})
    assert exponential_ndcg(judged(rankings, qrels), k).tolist() == ndcg(raised, k).tolist()
    assert ndcg(one([*range(10)], dict(enumerate([3, 3, 3, 2]))), 10)[0] == 1


def test_a_rank_earns_the_grade_of_its_own_query_and_a_repeated_unit_keeps_the_rank_of_its_first_passage():
    ranking = one([3, 3, 7, 3, 5], {3: 1, 5: 1}, collapse="before_cutoff")
    assert ranking.units.tolist() == [[3, 7, 5, NOTHING, NOTHING]]
    assert ranking.ranks[ranking.units != NOTHING].tolist() == [0, 2, 4]
    ranking = judged([[3, 5], [3, 5], [3, 5]], {(2, 3): 1, (0, 5): 1})
    assert ranking.queries.tolist() == [0, 2]  # a query without a judgment is left out
    assert ranking.gains.tolist() == [[0, 1], [1, 0]]
    assert [one([3], {3: grade, 5: 1}).gains.tolist() for grade in (0, -1)] == [[[0]], [[0]]]


TYPES = ("why", "how", None)
THREE = judged([[3, 5, 7], [5, 7, 3], [7, 5, 9]], dict.fromkeys([(0, 3), (1, 3), (2, 3)], 1))


def test_every_cutoff_up_to_20_or_k_is_measured_and_the_intervals_are_those_at_k():
    shapes = [evaluate(THREE, {"recall": recall}, k, TYPES, resamples=100).values.shape for k in (2, 20, 25)]
    assert shapes == [(1, cutoffs, 3) for cutoffs in (20, 20, 25)]
    [score] = evaluate(THREE, {"recall": recall}, 2, TYPES, resamples=100).scores
    assert (score.low, score.high) == pytest.approx(confidence_intervals(recall(THREE, 2), resamples=100))


WRONG = [  # what a metric returns, and how it is named
    (0.5, "values of shape ()"),
    ([0.5], "values of shape (1,)"),
    ([[0.5]] * 3, "values of shape (3, 1)"),
    ([0.5, 0.5, np.nan], "nan for query 'third'"),
    ([0.5, -np.inf, np.nan], "-inf for query 'second'"),
    (None, "a non-numeric NoneType"),
    (["high"] * 3, "a non-numeric list"),
    ([[1], [1, 2], 3], "a non-numeric list"),
]


def test_a_metric_without_one_number_per_query_is_refused_with_what_it_returned():
    for values, problem in WRONG:
        mine = {"mine": lambda judged, k, values=values: values}
        with pytest.raises(ConfigError) as error:
            evaluate(THREE, mine, 2, TYPES, ("first", "second", "third"), resamples=100)
        assert str(error.value).startswith(f"evaluation.metrics.mine: returned {problem} at k=1; ")


def test_a_value_that_no_query_can_have_is_named_and_refused():
    share, cost = Metric("share", "Share", low=0, high=1), Metric("cost", "Cost", "ms", low=0)
    hit, gain = Metric("hit", "Hit", low=0, high=1, binary=True), Metric("gain", "Gain")
    cases = [
        (share, [0.0, 0.5, 1.0 + 1e-15], ""),
        (share, [0.5, 7.0], "found 7 as share, expected a number from 0 to 1"),
        (share, [-0.1, 7.0], "found -0.1 as share, expected a number from 0 to 1"),
        (hit, [0.0, 1.0], ""),
        (hit, [1.0, 0.5], "found 0.5 as hit, expected 0 or 1"),
        (cost, [0.0, 1e9], ""),
        (cost, [-1.0], "found -1 as cost, expected a number from 0 to inf"),
        (gain, [-1e9, 1e9], ""),
    ]
    assert [metric.problem_of(np.array(values)) for metric, values, _ in cases] == [problem for *_, problem in cases]
    with pytest.raises(ConfigError, match="found 2 as share"):
        mean_scores([share], np.array([[0.5, 2.0]]), resamples=100, seed=0)
