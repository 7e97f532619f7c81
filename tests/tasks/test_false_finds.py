"""What is found for questions that should find nothing, compared with scikit-learn and by hand."""

from dataclasses import dataclass

import numpy as np
import pytest

from ragsweep.datasets import Collection, Dataset, Document, Judgment, PageChunker, Query
from ragsweep.evaluation import hit_rate, ndcg
from ragsweep.retrieval import Ranking, RunFileRetriever, Search, Thresholded, ranked
from ragsweep.store.stage_store import NO_STORE
from ragsweep.tasks.ranking.ranking_settings import EvaluationSettings
from ragsweep.tasks.ranking.ranking_task import RankingTask

DOCUMENTS = ("right", "wrong")


@dataclass(frozen=True)
class Scored(Thresholded):
    """Scores both documents of a question by its text: `0.9 0.1` is the right one first."""

    def rank(self, search: Search, depth: int) -> Ranking:
        scores = np.array([[float(score) for score in query.split()[:2]] for query in search.queries])
        return ranked(np.tile([0, 1], (len(scores), 1)), scores, depth)


def items_of(answerable, unanswerable=()):
    documents = tuple(Document.from_pages(name, [("1", name, name)]) for name in DOCUMENTS)
    queries = [*((pair, True) for pair in answerable), *((pair, False) for pair in unanswerable)]
    asked = tuple(
        Query(f"q{number}", "{} {}".format(*pair), answerable=yes) for number, (pair, yes) in enumerate(queries)
    )
    judgments = tuple(Judgment(query.query_id, "right", 1) for query in asked if query.answerable)
    return Dataset.from_collection(Collection("small", "document", documents, asked, judgments), PageChunker())


def measured(items, k=1, **settings):
    evaluation = EvaluationSettings("after_cutoff", 1, "linear", 200, {"ndcg": ndcg, "hit_rate": hit_rate})
    return RankingTask(None, PageChunker(), Scored(**settings), evaluation, k, 0, NO_STORE, "words").measure(items)


ANSWERABLE = [(0.9, 0.1), (0.5, 0.2), (0.3, 0.6), (0.4, 0.1)]  # the third has no hit at k 1
UNANSWERABLE = [(0.2, 0.1), (0.5, 0.3), (0.1, 0.45)]


def test_without_a_threshold_something_is_found_for_every_question():
    values = measured(items_of(ANSWERABLE, UNANSWERABLE)).values
    assert (values["false_find_rate"], values["answered_rate"], values["hit_rate"]) == (1, 1, 0.75)


def test_a_threshold_leaves_out_false_finds_and_hits():
    values = measured(items_of(ANSWERABLE, UNANSWERABLE), score_threshold=0.5).values
    assert values["false_find_rate"] == pytest.approx(1 / 3)
    assert (values["answered_rate"], values["hit_rate"]) == (0.75, 0.5)


def test_neither_always_nor_never_returning_something_is_a_balance():
    items = items_of(ANSWERABLE, UNANSWERABLE)
    found = [
        measured(items, score_threshold=threshold).values["hit_or_refuse"] for threshold in (None, 0, 0.5, 0.55, 99)
    ]
    assert found == pytest.approx([0, 0, np.sqrt(0.5 * 2 / 3), np.sqrt(0.25), 0])


def test_the_area_counts_pairs_in_order_and_half_of_the_ties():
    """Of 4 x 3 pairs: .9 beats 3; .5 beats 2 and ties 1; the third has no hit; .4 beats 1."""
    assert measured(items_of(ANSWERABLE, UNANSWERABLE)).values["false_find_auc"] == pytest.approx(6.5 / 12)


@pytest.mark.parametrize("seed", range(5))
def test_the_area_is_that_of_scikit_learn_where_every_question_has_a_hit(seed):
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(seed)
    found, others = rng.integers(3, 12, 20) / 10, rng.integers(0, 10, 15) / 10
    items = items_of([(score, 0) for score in found], [(score, -1) for score in others])
    expected = metrics.roc_auc_score([1] * 20 + [0] * 15, [*found, *others])
    assert measured(items).values["false_find_auc"] == pytest.approx(expected)


def test_the_area_and_the_curve_are_the_same_at_every_threshold():
    items = items_of(ANSWERABLE, UNANSWERABLE)
    free, strict = measured(items), measured(items, score_threshold=0.55)
    assert strict.values["false_find_auc"] == free.values["false_find_auc"]
    assert strict.tables["false_finds.csv"].equals(free.tables["false_finds.csv"])
    assert strict.facts["false_finds"]["false_finds"] == [0, 0, 0]


def test_the_curve_has_the_rates_of_runs_with_its_thresholds():
    items = items_of(ANSWERABLE, UNANSWERABLE)
    curve = measured(items).tables["false_finds.csv"]
    assert len(curve) == 6
    for row in curve.itertuples():
        values = measured(items, score_threshold=row.score_threshold).values
        for name in ("false_find_rate", "answered_rate", "hit_rate"):
            assert values[name] == pytest.approx(getattr(row, name))


def test_the_other_numbers_are_those_without_these_questions():
    with_them, without = measured(items_of(ANSWERABLE, UNANSWERABLE)), measured(items_of(ANSWERABLE))
    scores = {score.metric.name: score for score in with_them.scores}
    for score in without.scores:
        assert (scores[score.metric.name].value, scores[score.metric.name].low) == (score.value, score.low)
    assert set(scores) - {score.metric.name for score in without.scores} == {
        "false_find_rate", "answered_rate", "hit_or_refuse", "false_find_auc",
    }  # fmt: skip
    assert "false_finds" not in without.facts


def test_equal_first_scores_are_pointed_out():
    items = items_of([(1, 0), (1, 0.5)], [(1, 0.2)])
    assert "no threshold can tell" in " ".join(measured(items).sections["When nothing should be found"])


def test_a_run_file_without_such_questions_does_not_measure_them(tmp_path):
    items = items_of(ANSWERABLE, UNANSWERABLE)
    lines = [f"q{at} Q0 right 1 1.5 other\n" for at in range(len(ANSWERABLE))]
    (tmp_path / "judged.trec").write_text("".join(lines))
    (tmp_path / "all.trec").write_text("".join([*lines, "q5 Q0 wrong 1 1.5 other\n"]))
    evaluation = EvaluationSettings("after_cutoff", 1, "linear", 200, {"hit_rate": hit_rate})
    judged, everything = (
        RankingTask(None, PageChunker(), RunFileRetriever(str(path)), evaluation, 1, 0, NO_STORE, "words")
        for path in (tmp_path / "judged.trec", tmp_path / "all.trec")
    )
    assert "judged.trec" in judged.lacks(items)
    assert {*judged.measure(items).values} == {"hit_rate"}
    assert {*judged.measure(items).not_measured} == {each.name for each in RankingTask.optional_metrics}
    assert everything.measure(items).values["false_find_rate"] == pytest.approx(1 / 3)
    assert not everything.lacks(items)


def test_a_threshold_that_keeps_nothing_right_is_not_said():
    def said(of_others):
        return " ".join(measured(items_of(ANSWERABLE, of_others)).sections["When nothing should be found"])

    assert "score_threshold of" in said(UNANSWERABLE)
    assert "decision.target" in said(UNANSWERABLE)
    assert "score_threshold of" not in said([(2, 0.1), (1.5, 0.2)])
    assert "decision.target" not in said([(2, 0.1), (1.5, 0.2)])
