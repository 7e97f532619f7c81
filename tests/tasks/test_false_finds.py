"""What is found for questions that should find nothing, compared with scikit-learn and by hand."""

from dataclasses import dataclass

import numpy as np
import pytest
from rankings import dataset_of, ranking_task, unpaged

from ragsweep.datasets import Query
from ragsweep.evaluation import hit_rate
from ragsweep.retrieval import Ranking, RunFileRetriever, Search, Thresholded, ranked
from ragsweep.tasks.ranking.ranking_task import RankingTask


@dataclass(frozen=True)
class Scored(Thresholded):
    """Scores both documents of a question by its text: `0.9 0.1` is the right one first."""

    def rank(self, search: Search, depth: int) -> Ranking:
        scores = np.array([[float(score) for score in query.split()[:2]] for query in search.queries])
        return ranked(np.tile([0, 1], (len(scores), 1)), scores, depth)


def items_of(answerable, unanswerable=()):
    pairs = [*((pair, True) for pair in answerable), *((pair, False) for pair in unanswerable)]
    queries = [Query(f"q{row}", "{} {}".format(*pair), answerable=yes) for row, (pair, yes) in enumerate(pairs)]
    judgments = {(query.query_id, "right"): 1 for query in queries if query.answerable}
    return dataset_of(map(unpaged, ("right", "wrong")), queries, judgments, unit="document")


def measured(items, **settings):
    return ranking_task(Scored(**settings), k=1, resamples=200).measure(items)


ANSWERABLE = [(0.9, 0.1), (0.5, 0.2), (0.3, 0.6), (0.4, 0.1)]  # the third has no hit at k 1
UNANSWERABLE = [(0.2, 0.1), (0.5, 0.3), (0.1, 0.45)]
ITEMS = items_of(ANSWERABLE, UNANSWERABLE)
HEADING = "When nothing should be found"


def test_a_threshold_leaves_out_false_finds_and_hits_and_their_balance_is_0_for_always_and_never():
    names = ("false_find_rate", "answered_rate", "hit_rate", "hit_or_refuse")
    for threshold, expected in (
        (None, (1, 1, 0.75, 0)),
        (0, (1, 1, 0.75, 0)),
        (0.5, (1 / 3, 0.75, 0.5, np.sqrt(0.5 * 2 / 3))),
        (0.55, (0, 0.5, 0.25, np.sqrt(0.25))),
        (99, (0, 0, 0, 0)),
    ):
        values = measured(ITEMS, score_threshold=threshold).values
        assert [values[name] for name in names] == pytest.approx(expected), threshold


def test_the_area_counts_pairs_in_order_and_half_of_the_ties_and_is_the_same_at_every_threshold():
    """Of 4 x 3 pairs: .9 beats 3; .5 beats 2 and ties 1; the third has no hit; .4 beats 1."""
    free, strict = measured(ITEMS), measured(ITEMS, score_threshold=0.55)
    assert strict.values["false_find_auc"] == free.values["false_find_auc"] == pytest.approx(6.5 / 12)
    assert strict.tables["false_finds.csv"].equals(free.tables["false_finds.csv"])
    assert strict.facts["false_finds"]["false_finds"] == [0, 0, 0]


def test_the_area_is_that_of_scikit_learn_where_every_question_has_a_hit():
    metrics = pytest.importorskip("sklearn.metrics")
    for seed in range(5):
        rng = np.random.default_rng(seed)
        right, wrong = rng.integers(3, 12, 20) / 10, rng.integers(0, 10, 15) / 10
        items = items_of([(score, 0) for score in right], [(score, -1) for score in wrong])
        expected = metrics.roc_auc_score([1] * 20 + [0] * 15, [*right, *wrong])
        assert measured(items).values["false_find_auc"] == pytest.approx(expected), seed


def test_the_curve_has_the_rates_of_runs_with_its_thresholds():
    curve = measured(ITEMS).tables["false_finds.csv"]
    assert len(curve) == 6
    for row in curve.itertuples():
        values = measured(ITEMS, score_threshold=row.score_threshold).values
        for name in ("false_find_rate", "answered_rate", "hit_rate"):
            assert values[name] == pytest.approx(getattr(row, name))


def test_the_other_numbers_are_those_without_these_questions():
    with_them, without = measured(ITEMS), measured(items_of(ANSWERABLE))
    scores = {score.metric.name: score for score in with_them.scores}
    for score in without.scores:
        same = scores.pop(score.metric.name)
        assert (same.value, same.low) == (score.value, score.low)
    assert {*scores} == {metric.name for metric in RankingTask.optional_metrics}
    assert "false_finds" not in without.facts


def test_a_run_file_without_such_questions_does_not_measure_them(tmp_path):
    lines = [f"q{at} Q0 right 1 1.5 other\n" for at in range(len(ANSWERABLE))]
    (tmp_path / "judged.trec").write_text("".join(lines))
    (tmp_path / "all.trec").write_text("".join([*lines, "q5 Q0 wrong 1 1.5 other\n"]))
    judged, everything = (
        ranking_task(RunFileRetriever(str(tmp_path / name)), {"hit_rate": hit_rate}, 1)
        for name in ("judged.trec", "all.trec")
    )
    assert "judged.trec" in judged.lacks(ITEMS)
    assert {*judged.measure(ITEMS).values} == {"hit_rate"}
    assert {*judged.measure(ITEMS).not_measured} == {metric.name for metric in RankingTask.optional_metrics}
    assert everything.measure(ITEMS).values["false_find_rate"] == pytest.approx(1 / 3)
    assert not everything.lacks(ITEMS)


def test_a_threshold_is_named_if_it_keeps_something_right_and_tells_questions_apart():
    useless, equal = items_of(ANSWERABLE, [(2, 0.1), (1.5, 0.2)]), items_of([(1, 0), (1, 0.5)], [(1, 0.2)])
    texts = [" ".join(measured(items).sections[HEADING]) for items in (ITEMS, useless, equal)]
    assert ["score_threshold of" in text for text in texts] == [True, False, False]
    assert ["decision.target" in text for text in texts] == [True, False, False]
    assert ["no threshold can tell" in text for text in texts] == [False, False, True]
