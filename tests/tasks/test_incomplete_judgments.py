"""What is said of a ranking whose judgments are incomplete, compared with a slow loop."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragsweep.datasets import Collection, Dataset, Document, Judgment, PageChunker, Query
from ragsweep.retrieval import SparseRetriever
from ragsweep.store.stage_store import NO_STORE
from ragsweep.tasks.ranking.external import evaluate
from ragsweep.tasks.ranking.metrics import ndcg
from ragsweep.tasks.ranking.ranking_settings import EvaluationSettings
from ragsweep.tasks.ranking.ranking_task import RankingTask

UNITS = st.sampled_from([f"d{number}" for number in range(8)])
RANKING = st.lists(UNITS, min_size=1, max_size=12)  # later passages of a unit repeat it
RUN = st.fixed_dictionaries({"q1": RANKING, "q2": RANKING})
GRADES = st.dictionaries(UNITS, st.integers(0, 2), min_size=1)
QRELS = st.fixed_dictionaries({"q1": GRADES.map(lambda grades: {**grades, "d0": 1}), "q2": GRADES})
K = 5


@given(run=RUN, qrels=QRELS)
def test_judged_at_k_is_that_of_distinct_units(run, qrels):
    found = evaluate(run, qrels, k=K, resamples=1).incomplete
    told_apart = 0 in {*qrels["q1"].values(), *qrels["q2"].values()}
    unknown = any(unit not in qrels[query] for query, units in run.items() for unit in units[:K])
    assert bool(found) == (told_apart and unknown)
    if not found:
        return
    first = [({*units[:K]}, qrels[query]) for query, units in run.items()]  # Judged@k of ir_measures, of distinct units
    assert found["judged_at_k"] == pytest.approx(np.mean([len(units & {*some}) / len(units) for units, some in first]))


def test_of_few_results_that_are_all_judged_nothing_is_unknown():
    found = evaluate({"q1": ["a"], "q2": ["b", "x"], "q3": []}, {q: {"a": 1, "b": 0} for q in ("q1", "q2", "q3")}, k=5)
    assert found.incomplete["judged_at_k"] == pytest.approx((1 + 1 / 2) / 2)


def test_judgments_of_what_is_relevant_alone_say_nothing():
    assert evaluate({"q": ["a", "b"]}, {"q": {"b": 1}}, k=2, resamples=1).incomplete == {}


def test_a_notebook_shows_it():
    assert "Judged@2 0.500" in repr(evaluate({"q": ["a", "b"]}, {"q": {"b": 1, "c": 0}}, k=2, resamples=1))


@pytest.mark.parametrize(("grades", "measured"), [({"a#1": 1, "a#2": 0}, True), ({"a#1": 1}, False)])
def test_a_run_measures_it_where_some_judgments_say_not_relevant(grades, measured):
    pages = [
        (str(number), f"a#{number}", text) for number, text in enumerate(["iron", "iron tea", "iron milk"], start=1)
    ]
    judgments = tuple(Judgment("q", unit, grade) for unit, grade in grades.items())
    collection = Collection("made", "page", (Document.from_pages("a", pages),), (Query("q", "iron"),), judgments)
    evaluation = EvaluationSettings("after_cutoff", 1, "linear", 10, {"ndcg": ndcg})
    task = RankingTask(None, PageChunker(), SparseRetriever(NO_STORE), evaluation, 3, 0, NO_STORE, "words")
    measurement = task.measure(Dataset.from_collection(collection, PageChunker()))
    found = {each.metric.name: each.value for each in measurement.measures}
    assert ("incomplete_judgments" in measurement.facts) == measured
    assert found.get("coverage/judged_at_k") == (pytest.approx(2 / 3) if measured else None)
    assert ("Incomplete judgments" in measurement.sections) == measured
    assert measurement.facts.get("judged") == (pytest.approx((2 / 3, 1 / 2)) if measured else None)
