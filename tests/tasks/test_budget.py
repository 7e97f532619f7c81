"""A cutoff in tokens, against a slow and obvious loop."""

from dataclasses import replace

import numpy as np
import pytest

from ragsweep.core.arrays import NOTHING
from ragsweep.core.errors import ConfigError
from ragsweep.datasets import Collection, Dataset, Document, Judgment, PageChunker, Query
from ragsweep.retrieval import SparseRetriever
from ragsweep.store.stage_store import NO_STORE
from ragsweep.tasks.ranking.metrics import ndcg, precision, recall
from ragsweep.tasks.ranking.ranking_costs import cut_short
from ragsweep.tasks.ranking.ranking_settings import EvaluationSettings
from ragsweep.tasks.ranking.ranking_task import RankingTask

METRICS = {"recall": recall, "precision": precision, "ndcg": ndcg}


@pytest.fixture
def items():
    """Thirty documents of 3 to 40 words that share words, and ten questions of two words."""
    rng = np.random.default_rng(5)
    words = [f"word{number}" for number in range(25)]
    texts = [" ".join(rng.choice(words, rng.integers(3, 41))) for _ in range(30)]
    documents = tuple(Document.from_pages(f"d{row}", [("1", f"d{row}", text)]) for row, text in enumerate(texts))
    queries = tuple(Query(f"q{row}", " ".join(rng.choice(words, 2, replace=False)), None) for row in range(10))
    judgments = tuple(
        Judgment(f"q{row}", f"d{unit}", 1) for row in range(10) for unit in rng.choice(30, 4, replace=False)
    )
    collection = Collection("small", "document", documents, queries, judgments)
    return Dataset.from_collection(collection, PageChunker())


def task(**settings):
    evaluation = EvaluationSettings("after_cutoff", 1, "linear", 100, METRICS)
    return RankingTask(None, PageChunker(), SparseRetriever(NO_STORE), evaluation, 5, 0, NO_STORE, "words", **settings)


@pytest.mark.parametrize("budget", [1, 10, 60, 100_000])
def test_as_many_whole_passages_count_as_fit(items, budget):
    measures = task(budget=budget)
    ranking = measures.rank(items)
    measured = measures.measured(items, ranking, measures.shown(items, ranking))
    values = {score.metric.name: score.per_item for score in measured.scores}
    [tokens] = [each.per_item for each in measured.measures if each.metric.name == "context/tokens"]
    relevant = {row: set(items.qrels.unit[items.qrels.query == row].tolist()) for row in range(10)}
    for query in range(10):
        taken, spent = [], 0
        for passage in ranking.passages[query][ranking.passages[query] != NOTHING]:
            length = len(items.texts[passage].split())
            if spent + length > budget:
                break
            taken.append(int(items.passage_units[passage]))
            spent += length
        hits = len(relevant[query] & set(taken))
        assert tokens[query] == spent <= budget
        assert values["recall"][query] == pytest.approx(hits / len(relevant[query]))
        assert values["precision"][query] == pytest.approx(hits / len(taken) if taken else 0)
        assert measured.per_item["retrieved"][query].count("d") == len(taken)


def test_a_budget_needs_questions_that_have_an_answer(items):
    nobody = replace(items.queries[0], query_id="nobody", answerable=False)
    with pytest.raises(ConfigError, match="budget: found questions without an answer"):
        task(budget=50).check(replace(items, queries=(*items.queries, nobody)))


def test_a_ranking_that_ends_before_the_budget_does_is_said(items):
    fine = task(budget=100_000).measure(items)
    assert not fine.notices
    [said] = cut_short(1, 2, 5, 9000)
    assert said.startswith("budget: for 1 of 2 queries, all ranked passages fit into 9,000 tokens")
    assert not [*cut_short(0, 2, 5, 9000)]
