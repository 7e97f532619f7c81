"""Queries for which nothing is found, and those for which nothing should be: by hand and against scikit-learn."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from outcomes import decided, facts_of, of_scores
from rankings import SPARSE, dataset_of, ranking_task, unpaged

from ragsweep.core.errors import NothingFoundError
from ragsweep.datasets import Qrels, Query
from ragsweep.evaluation import hit_rate
from ragsweep.report.claims import claims_of
from ragsweep.retrieval import (
    NOTHING,
    FusedRetriever,
    Ranker,
    Ranking,
    Reranker,
    Rewriter,
    RunFileRetriever,
    Search,
    Thresholded,
    ranked,
)
from ragsweep.tasks.measurement_files import facts
from ragsweep.tasks.ranking.ranking_task import RankingTask

# ruff: noqa: RUF001  # letters that look alike are the point


TEXTS = ("iron tablets", "iron and tea", "rest", "sleep")  # iron is in exactly half of them
FOUND, UNKNOWN, WEIGHTLESS = "tea", "Eisen", "iron"


@dataclass(frozen=True)
class Talkative(Ranker):
    """Ranks the whole corpus for every query, and has something to say."""

    def rank(self, search: Search, depth: int) -> Ranking:
        rows = np.tile(np.arange(len(search.passages)), (len(search.queries), 1))
        return ranked(rows, -rows.astype(float), depth)

    def sections(self, search):
        return {"What was found": ["Some texts are of other pages."]}


@dataclass(frozen=True)
class NothingForTheFirst(Ranker):
    """Finds nothing for the first query, or the first few, and does not say why."""

    number: int = 1

    def rank(self, search: Search, depth: int) -> Ranking:
        rows = np.maximum(np.arange(len(search.queries))[:, None] - self.number, NOTHING)
        return Ranking(rows, np.where(rows == NOTHING, -np.inf, 1.0))


@dataclass(frozen=True)
class Dropping(Reranker):
    """Drops whatever was ranked."""

    def rerank(self, search: Search, ranking: Ranking, depth: int) -> Ranking:
        return NothingForTheFirst(len(search.queries)).rank(search, depth)


@dataclass(frozen=True)
class Translated(Rewriter):
    def rewrite(self, queries):
        return [{"Eisen": "tea"}.get(query, query) for query in queries]


def items_of(*queries):
    ids = [f"q{number}" for number in range(len(queries))]
    judgments = {(query, TEXTS[0]): 1 for query in ids}
    return dataset_of(map(unpaged, TEXTS), dict(zip(ids, queries, strict=True)), judgments, unit="document")


def measured(items, retriever=SPARSE, **stages):
    return ranking_task(retriever, **stages).measure(items)


def test_a_run_says_for_how_many_queries_nothing_is_found_and_measures_0_where_its_settings_remove_all():
    for retriever, query in (
        (SPARSE, UNKNOWN),
        (FusedRetriever({"words": SPARSE}), WEIGHTLESS),
        (NothingForTheFirst(), FOUND),
        (replace(SPARSE, score_threshold=0.7), FOUND),
    ):
        measurement = measured(items_of(query, "tablets"), retriever)
        [line] = [line for line in measurement.notices if query in line]
        assert "1 of 2 queries" in line
        assert line in next(iter(measurement.sections.values()))
    strict = replace(SPARSE, score_threshold=99)
    fused = FusedRetriever({"words": strict})
    for retriever, stages in ((strict, {"query": Translated()}), (SPARSE, {"dynamic_k": Dropping()}), (fused, {})):
        measurement = measured(items_of(FOUND, "tablets"), retriever, **stages)
        assert set(measurement.values.values()) == {0}
        [line] = measurement.notices
        assert "2 of 2 queries" in line


NOTHING_FOUND = [
    ((FOUND, "tablets"), {"retriever": NothingForTheFirst(2)}),
    ((UNKNOWN, "Tee"), {}),
    ((FOUND,), {"reranker": Dropping()}),
    ((UNKNOWN,), {"retriever": replace(SPARSE, score_threshold=0.1)}),
]


def test_a_run_that_finds_nothing_for_any_query_that_is_measured_fails():
    for queries, stages in NOTHING_FOUND:
        with pytest.raises(NothingFoundError, match=f"any of {len(queries)} quer"):
            measured(items_of(*queries), **stages)
    items = items_of(UNKNOWN, FOUND)
    first = items.qrels.query == 0
    of_first = Qrels(*(column[first] for column in (items.qrels.query, items.qrels.unit, items.qrels.grade)))
    with pytest.raises(NothingFoundError, match="any of 1 query"):
        measured(replace(items, qrels=of_first))
    none_right = replace(items, queries=(items.queries[0], replace(items.queries[1], answerable=False)), qrels=of_first)
    assert measured(none_right).values["ndcg"] == 0  # of one whose documents do not answer it, something is found


def test_what_a_ranker_says_is_printed_once_and_in_the_report_and_else_nothing():
    measurement = measured(items_of(FOUND), Talkative())
    assert "Some texts are of other pages." in measurement.notices
    assert measurement.sections["What was found"] == ["Some texts are of other pages."]
    assert not measurement.summary
    measurement = measured(items_of(FOUND, "tablets"))
    assert (measurement.notices, measurement.caution) == ([], "")
    assert facts(measurement, items_of(FOUND), "ndcg")["caution"] == ""
    assert measured(items_of(UNKNOWN, FOUND), query=Translated()).notices == []


def test_nothing_found_for_many_queries_comes_first_in_a_run_and_in_a_decision():
    for queries in ((UNKNOWN, FOUND, "tablets", "tea tablets"), (UNKNOWN, FOUND, "tablets")):
        items = items_of(*queries)
        measurement = measured(items)
        assert bool(measurement.caution) == (len(queries) < 4)
        assert facts_of(facts(measurement, items, "ndcg")).caution == measurement.caution
    caution = "Nothing is found for 20 of 20 queries: no passage has a word of theirs."
    good, bad = np.linspace(0.7, 0.9, 20), np.zeros(20)
    none = [of_scores(f"k={k}", bad, {"k": k}, facts={"caution": caution}, k=str(k)) for k in (3, 5)]
    some = of_scores("alpha=1", good, {"retriever.alpha": 1})
    mixed = decided(some, of_scores("alpha=0", bad, {"retriever.alpha": 0}, facts={"caution": caution}))
    for decision, place in ((decided(*none), "headline"), (mixed, "evidence")):
        assert [claim.place for claim in claims_of(decision) if claim.name == "caution"] == [place]


SCRIPTS = [  # passages, each with a query about it
    ("図書館は九時に開きます。", "図書館は何時に開くか"),
    ("ห้องสมุดเปิดเวลาเก้าโมง", "ห้องสมุดเปิดกี่โมง"),
    ("पिता घर पर", "पिता"),
    ("पोता घर पर", "पोता"),  # the same letters without vowel signs
    ("Die Gebu\u0308hr betra\u0308gt 5 Euro", "Gebühr"),
    ("ＣＯＶＩＤ－１９ vaccine", "covid 19"),
    ("Wirt\u00adschafts\u00adkrise", "\ufeffWirtschaftskrise"),
]


def test_words_of_every_script_are_found():
    ranking = SPARSE.rank(Search(*zip(*SCRIPTS, strict=True)), 1)
    assert ranking.passages.ravel().tolist() == [*range(len(SCRIPTS))]


@dataclass(frozen=True)
class Scored(Thresholded):
    """Scores both documents of a question by its text: `0.9 0.1` is the right one first."""

    def rank(self, search: Search, depth: int) -> Ranking:
        scores = np.array([[float(score) for score in query.split()[:2]] for query in search.queries])
        return ranked(np.tile([0, 1], (len(scores), 1)), scores, depth)


def asked(answerable, unanswerable=()):
    pairs = [*((pair, True) for pair in answerable), *((pair, False) for pair in unanswerable)]
    queries = [Query(f"q{row}", "{} {}".format(*pair), answerable=yes) for row, (pair, yes) in enumerate(pairs)]
    judgments = {(query.query_id, "right"): 1 for query in queries if query.answerable}
    return dataset_of(map(unpaged, ("right", "wrong")), queries, judgments, unit="document")


def measured_at_1(items, **settings):
    return ranking_task(Scored(**settings), k=1, resamples=200).measure(items)


ANSWERABLE = [(0.9, 0.1), (0.5, 0.2), (0.3, 0.6), (0.4, 0.1)]  # the third has no hit at k 1
UNANSWERABLE = [(0.2, 0.1), (0.5, 0.3), (0.1, 0.45)]
ITEMS = asked(ANSWERABLE, UNANSWERABLE)
HEADING = "When nothing should be found"


def test_a_threshold_leaves_out_false_finds_and_hits_and_is_named_if_it_keeps_something_right():
    names = ("false_find_rate", "answered_rate", "hit_rate", "hit_or_refuse")
    for threshold, expected in (
        (None, (1, 1, 0.75, 0)),
        (0, (1, 1, 0.75, 0)),
        (0.5, (1 / 3, 0.75, 0.5, np.sqrt(0.5 * 2 / 3))),
        (0.55, (0, 0.5, 0.25, np.sqrt(0.25))),
        (99, (0, 0, 0, 0)),
    ):
        values = measured_at_1(ITEMS, score_threshold=threshold).values
        assert [values[name] for name in names] == pytest.approx(expected), threshold
    useless, equal = asked(ANSWERABLE, [(2, 0.1), (1.5, 0.2)]), asked([(1, 0), (1, 0.5)], [(1, 0.2)])
    texts = [" ".join(measured_at_1(items).sections[HEADING]) for items in (ITEMS, useless, equal)]
    assert ["score_threshold of" in text for text in texts] == [True, False, False]
    assert ["decision.target" in text for text in texts] == [True, False, False]
    assert ["no threshold can tell" in text for text in texts] == [False, False, True]


def test_the_area_is_that_of_scikit_learn_counts_half_of_the_ties_and_is_the_same_at_every_threshold():
    """Of 4 x 3 pairs: .9 beats 3; .5 beats 2 and ties 1; the third has no hit; .4 beats 1."""
    free, strict = measured_at_1(ITEMS), measured_at_1(ITEMS, score_threshold=0.55)
    assert strict.values["false_find_auc"] == free.values["false_find_auc"] == pytest.approx(6.5 / 12)
    assert strict.tables["false_finds.csv"].equals(free.tables["false_finds.csv"])
    assert strict.facts["false_finds"]["false_finds"] == [0, 0, 0]
    metrics = pytest.importorskip("sklearn.metrics")
    for seed in range(5):
        rng = np.random.default_rng(seed)
        right, wrong = rng.integers(3, 12, 20) / 10, rng.integers(0, 10, 15) / 10
        items = asked([(score, 0) for score in right], [(score, -1) for score in wrong])
        expected = metrics.roc_auc_score([1] * 20 + [0] * 15, [*right, *wrong])
        assert measured_at_1(items).values["false_find_auc"] == pytest.approx(expected), seed


def test_the_curve_has_the_rates_of_runs_with_its_thresholds_and_other_numbers_do_not_change():
    curve = measured_at_1(ITEMS).tables["false_finds.csv"]
    assert len(curve) == 6
    for row in curve.itertuples():
        values = measured_at_1(ITEMS, score_threshold=row.score_threshold).values
        for name in ("false_find_rate", "answered_rate", "hit_rate"):
            assert values[name] == pytest.approx(getattr(row, name))
    with_them, without = measured_at_1(ITEMS), measured_at_1(asked(ANSWERABLE))
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
