"""Types of queries that are predicted from their words on other folds, and a k for each type."""

import itertools

import numpy as np
import pytest
from letters import LetterEncoder
from rankings import SPARSE, collection_of, paged, ranking_task

from ragsweep.core.errors import ConfigError
from ragsweep.datasets import Query
from ragsweep.evaluation import ndcg, recall
from ragsweep.retrieval import LogisticClassifier, RoutedRetriever, Search, TypeCutoff
from ragsweep.store.stage_store import Store
from ragsweep.tasks.ranking.query_types import HEADING, QueryTypes, predicted_types, words_of

WORDS = "iron tablet tea malaria test fever child worm blood zinc water milk".split()
KINDS = ("what", "why")
ROUTED = RoutedRetriever({"one": SPARSE, "two": SPARSE}, LogisticClassifier(LetterEncoder()))


def asked(rare=0, typed=24, moved=None):
    """Queries of two types that their first word tells, of three that are rare if wanted, and what answers them.

    What answers a `what` is the page that has its words; of a `why`, so are the next two pages of its document. The
    judgments of one query can be moved to another page.
    """
    pairs = [" ".join(pair) for pair in itertools.combinations(WORDS, 2)][:24]
    types = [(KINDS[row % 2] if row >= rare else "rare") if row < typed else None for row in range(24)]
    queries = [Query(f"q{row}", f"{KINDS[row % 2]} {text}", types[row]) for row, text in enumerate(pairs)]
    judgments = {
        (f"q{row}", "d20#3" if row == moved else f"d{row}#{page}"): 1
        for row in range(24)
        for page in ((1,), (1, 2, 3))[row % 2]
    }
    return collection_of([paged(f"d{row}", *[text] * 3) for row, text in enumerate(pairs)], queries, judgments)


def task_of(retriever, collection, **settings):
    return ranking_task(retriever, {"ndcg": ndcg, "recall": recall}, 10, collection=collection, **settings)


def measured(collection=None, **settings):
    task = task_of(SPARSE, collection or asked(), **settings)
    task.check(items := task.load())
    return task.measure(items)


def test_every_run_has_the_predicted_types_and_says_how_many_are_right():
    measurement = measured()
    table = measurement.per_item
    right = table["type_predicted"] == table["query_type"]
    assert right.mean() > 0.8
    assert table["type_confidence"].astype(float).between(0.5, 1).all()
    accuracy, by_type = measurement.sections[HEADING]
    assert f"{right.mean():.0%} of 24 queries were right" in accuracy
    assert all(f"{kind} {right[table['query_type'] == kind].sum()} of 12" in by_type for kind in KINDS)
    task = task_of(ROUTED, asked())
    routed = task.measure(task.load())
    assert {"type_predicted", "route"} <= {*routed.per_item}  # those that its router predicted
    assert HEADING not in routed.sections


def test_what_has_too_few_queries_to_learn_from_is_not_predicted_and_named():
    measurement = measured(asked(rare=4))
    table = measurement.per_item
    assert table["type_predicted"].tolist()[:4] == [""] * 4
    assert {*table["type_predicted"][4:]} <= {*KINDS}
    assert "rare (4)" in measurement.sections[HEADING][-1]
    for typed, says in ((0, False), (1, True)):  # no two types
        measurement = measured(asked(typed=typed))
        assert "type_predicted" not in measurement.per_item
        assert (HEADING in measurement.sections) == says


def test_types_are_predicted_from_other_folds_alone():
    """The types are chance, so only a classifier that had seen a query would be right about it."""
    rng = np.random.default_rng(0)
    types = rng.integers(0, 2, 200)
    features = words_of([f"word{row} {WORDS[row % 12]}" for row in range(200)])
    predicted = predicted_types(features, types, np.arange(200), folds=5, c=10.0, seed=0)
    assert abs((predicted.type == types).mean() - 0.5) < 0.12


def test_what_was_predicted_is_kept_in_the_store(tmp_path, monkeypatch):
    items = task_of(SPARSE, asked()).load()
    first = QueryTypes.of(items, Store(str(tmp_path)))
    monkeypatch.setattr("ragsweep.tasks.ranking.query_types.words_of", None)
    again = QueryTypes.of(items, Store(str(tmp_path)))
    assert all(np.array_equal(*pair) for pair in zip(first.predicted, again.predicted, strict=True))


# A k by type


def lengths(table):
    return [len(retrieved.split("; ")) for retrieved in table["retrieved"]]


def test_a_given_k_is_that_of_the_predicted_type_and_a_learnt_one_the_best_by_type_on_other_folds():
    table = measured(dynamic_k=TypeCutoff(k={"what": 2})).per_item
    assert lengths(table) == [2 if kind == "what" else 10 for kind in table["type_predicted"]]  # else that of the run
    measurement = measured(dynamic_k=TypeCutoff(metric="recall", most=6))
    table = measurement.per_item
    assert lengths(table) == table["k_of_type"].astype(int).tolist()
    assert max(lengths(table)) <= 6
    assert measurement.facts["learns_from_judgments"] == ["dynamic_k"]
    by_type = table.groupby("type_predicted")["k_of_type"].agg(lambda ks: ks.astype(int).mean())
    assert by_type["why"] > by_type["what"]


def test_the_judgments_of_a_query_do_not_decide_its_k():
    before = measured(dynamic_k=TypeCutoff(metric="ndcg")).per_item
    for row in (0, 5):
        after = measured(asked(moved=row), dynamic_k=TypeCutoff(metric="ndcg")).per_item
        assert after["k_of_type"][row] == before["k_of_type"][row]


REFUSED = [
    (SPARSE, TypeCutoff(k={"who": 3}), asked(), r"dynamic_k\.k: .*who \(there is what, why\)"),
    (SPARSE, TypeCutoff(metric="mrr"), asked(), r"dynamic_k\.metric: .*mrr"),
    (SPARSE, TypeCutoff(metric="ndcg"), asked(typed=0), "no query types can be learnt"),
    (ROUTED, TypeCutoff(metric="ndcg"), asked(), "dynamic_k=by_type"),  # no other stage may learn
]


def test_what_cannot_be_learnt_is_refused_before_anything_runs():
    for retriever, cutoff, collection, message in REFUSED:
        task = task_of(retriever, collection, dynamic_k=cutoff)
        with pytest.raises(ConfigError, match=message):
            task.check(task.load())
    with pytest.raises(ConfigError, match="dynamic_k=by_type"):
        TypeCutoff().check(Search(("iron",), ("iron",)))
