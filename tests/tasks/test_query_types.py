"""Types of queries that are predicted from their words on other folds, and a k for each type."""

import itertools

import numpy as np
import pytest
from letters import LetterEncoder

from ragsweep.core.errors import ConfigError
from ragsweep.datasets import Collection, DatasetFormat, Document, Judgment, PageChunker, Query
from ragsweep.evaluation import ndcg, recall
from ragsweep.retrieval import LogisticClassifier, RoutedRetriever, Search, SparseRetriever, TypeCutoff
from ragsweep.store.stage_store import NO_STORE, Store
from ragsweep.tasks.ranking.query_types import HEADING, QueryTypes, predicted_types, words_of
from ragsweep.tasks.ranking.ranking_settings import EvaluationSettings
from ragsweep.tasks.ranking.ranking_task import RankingTask

WORDS = "iron tablet tea malaria test fever child worm blood zinc water milk".split()
KINDS = ("what", "why")
SPARSE = SparseRetriever(NO_STORE)
ROUTED = RoutedRetriever({"one": SPARSE, "two": SPARSE}, LogisticClassifier(LetterEncoder()))


class Asked(DatasetFormat):
    """Queries of two types that their first word tells, of three that are rare if wanted, and what answers them.

    What answers a `what` is the page that has its words; of a `why`, so are the next two pages of its document.
    """

    def __init__(self, rare=0, typed=24):
        pairs = [" ".join(pair) for pair in itertools.combinations(WORDS, 2)][:24]
        documents = tuple(
            Document.from_pages(f"d{row}", [(str(page), f"d{row}#{page}", text) for page in (1, 2, 3)])
            for row, text in enumerate(pairs)
        )
        queries = [
            Query(
                f"q{row}",
                f"{KINDS[row % 2]} {text}",
                (KINDS[row % 2] if row >= rare else "rare") if row < typed else None,
            )
            for row, text in enumerate(pairs)
        ]
        judgments = [
            Judgment(query.query_id, f"d{row}#{page}", 1)
            for row, query in enumerate(queries)
            for page in ((1,), (1, 2, 3))[row % 2]
        ]
        self.collection = Collection("asked", "page", documents, tuple(queries), tuple(judgments))

    def load(self):
        return self.collection


def task_of(retriever, dataset, **options):
    evaluation = EvaluationSettings("after_cutoff", 1, "linear", 50, {"ndcg": ndcg, "recall": recall})
    return RankingTask(dataset, PageChunker(), retriever, evaluation, 10, 0, NO_STORE, **options)


def measured(**options):
    made = task_of(SPARSE, options.pop("dataset", None) or Asked(), **options)
    made.check(items := made.load())
    return made.measure(items)


def test_every_run_has_the_predicted_types_and_says_how_many_are_right():
    found = measured()
    table = found.per_item
    right = table["type_predicted"] == table["query_type"]
    assert right.mean() > 0.8
    assert table["type_confidence"].astype(float).between(0.5, 1).all()
    accuracy, by_type = found.sections[HEADING]
    assert f"{right.mean():.0%} of 24 queries were right" in accuracy
    assert all(f"{kind} {right[table['query_type'] == kind].sum()} of 12" in by_type for kind in KINDS)


def test_a_type_of_too_few_queries_is_not_predicted_and_named():
    found = measured(dataset=Asked(rare=4))
    table = found.per_item
    assert table["type_predicted"].tolist()[:4] == [""] * 4
    assert {*table["type_predicted"][4:]} <= {*KINDS}
    assert "rare (4)" in found.sections[HEADING][-1]


def test_nothing_is_predicted_where_there_are_no_two_types_to_learn():
    for dataset, says in ((Asked(typed=0), False), (Asked(typed=1), True)):
        found = measured(dataset=dataset)
        assert "type_predicted" not in found.per_item
        assert (HEADING in found.sections) == says


def test_a_routed_run_has_the_types_that_its_router_predicted():
    made = task_of(ROUTED, Asked())
    found = made.measure(made.load())
    assert {"type_predicted", "route"} <= {*found.per_item}
    assert HEADING not in found.sections


def test_types_are_predicted_from_other_folds_alone():
    """The types are chance, so only a classifier that had seen a query would be right about it."""
    rng = np.random.default_rng(0)
    types = rng.integers(0, 2, 200)
    features = words_of([f"word{row} {WORDS[row % 12]}" for row in range(200)])
    found = predicted_types(features, types, np.arange(200), folds=5, c=10.0, seed=0)
    assert abs((found.type == types).mean() - 0.5) < 0.12


def test_what_was_predicted_is_kept_in_the_store(tmp_path, monkeypatch):
    items = task_of(SPARSE, Asked()).load()
    first = QueryTypes.of(items, Store(str(tmp_path)))
    monkeypatch.setattr("ragsweep.tasks.ranking.query_types.words_of", None)
    again = QueryTypes.of(items, Store(str(tmp_path)))
    assert all(np.array_equal(*pair) for pair in zip(first.predicted, again.predicted, strict=True))


# A k by type


def lengths(table):
    return [len(retrieved.split("; ")) for retrieved in table["retrieved"]]


def test_a_given_k_is_that_of_the_predicted_type_and_types_without_one_keep_the_k_of_the_run():
    table = measured(dynamic_k=TypeCutoff(k={"what": 2})).per_item
    assert lengths(table) == [2 if kind == "what" else 10 for kind in table["type_predicted"]]


def test_a_learnt_k_is_the_best_by_type_on_other_folds():
    found = measured(dynamic_k=TypeCutoff(metric="recall", most=6))
    table = found.per_item
    assert lengths(table) == table["k_of_type"].astype(int).tolist()
    assert max(lengths(table)) <= 6
    assert found.facts["learns_from_judgments"] == ["dynamic_k"]
    by_type = table.groupby("type_predicted")["k_of_type"].agg(lambda ks: ks.astype(int).mean())
    assert by_type["why"] > by_type["what"]


def test_the_judgments_of_a_query_do_not_decide_its_k():
    before = measured(dynamic_k=TypeCutoff(metric="ndcg")).per_item
    for row in (0, 5):
        dataset = Asked()
        judgments = tuple(
            judgment._replace(unit="d20#3") if judgment.query_id == f"q{row}" else judgment
            for judgment in dataset.collection.judgments
        )
        object.__setattr__(dataset.collection, "judgments", judgments)
        after = measured(dataset=dataset, dynamic_k=TypeCutoff(metric="ndcg")).per_item
        assert after["k_of_type"][row] == before["k_of_type"][row]


@pytest.mark.parametrize(
    ("cutoff", "dataset", "message"),
    [
        (TypeCutoff(k={"who": 3}), Asked(), r"dynamic_k\.k: .*who \(there is what, why\)"),
        (TypeCutoff(metric="mrr"), Asked(), r"dynamic_k\.metric: .*mrr"),
        (TypeCutoff(metric="ndcg"), Asked(typed=0), "no query types can be learnt"),
    ],
    ids=["type", "metric", "dataset"],
)
def test_what_cannot_be_learnt_is_refused_before_anything_runs(cutoff, dataset, message):
    with pytest.raises(ConfigError, match=message):
        measured(dataset=dataset, dynamic_k=cutoff)


def test_it_stands_beside_no_other_stage_that_learns():
    made = task_of(ROUTED, Asked(), dynamic_k=TypeCutoff(metric="ndcg"))
    with pytest.raises(ConfigError, match="dynamic_k=by_type"):
        made.check(made.load())
    with pytest.raises(ConfigError, match="dynamic_k=by_type"):
        TypeCutoff().check(Search(("iron",), ("iron",)))
