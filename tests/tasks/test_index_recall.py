"""What a run says where an approximate index finds almost none of the exact neighbours."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from ragsweep.datasets import Collection, Dataset, Document, Judgment, PageChunker, Query
from ragsweep.evaluation import hit_rate, ndcg
from ragsweep.retrieval import NOTHING, Ranking, SparseRetriever
from ragsweep.store.stage_store import NO_STORE
from ragsweep.tasks.ranking.conventions import lost_neighbours
from ragsweep.tasks.ranking.ranking_settings import EvaluationSettings
from ragsweep.tasks.ranking.ranking_task import RankingTask


def found(returned, recall):
    passages = np.full((4, 100), NOTHING)
    passages[:, :returned] = np.arange(returned)
    return Ranking(passages, np.where(passages == NOTHING, -np.inf, 1.0), recall_of_exact=np.full(4, recall))


@pytest.mark.parametrize(("returned", "recall"), [(100, 0.0), (100, 0.09), (0, 0.0), (10, 0.005)])
def test_an_index_that_finds_almost_nothing_is_news(returned, recall):
    [line] = lost_neighbours(found(returned, recall), 100)
    assert f"{recall:.1%} of the 100 passages" in line
    assert "index=exact" in line


@pytest.mark.parametrize(("returned", "recall"), [(100, 0.5), (100, 0.1), (3, 0.03), (1, 0.01)])
def test_an_index_that_returns_few_passages_but_the_right_ones_is_none(returned, recall):
    assert lost_neighbours(found(returned, recall), 100) == ()


@dataclass(frozen=True)
class Approximate(SparseRetriever):
    recall: float = 0.0

    def rank(self, search, depth):
        ranking = super().rank(search, depth)
        return replace(ranking, recall_of_exact=np.full(len(search.queries), self.recall))


@pytest.mark.parametrize(("recall", "lines"), [(0.0, 1), (0.9, 0)])
def test_a_run_says_it_first_and_in_its_report(recall, lines):
    documents = tuple(Document.from_pages(text, [("1", text, text)]) for text in ("tea", "iron", "zinc"))
    collection = Collection("small", "document", documents, (Query("q", "tea"),), (Judgment("q", "tea", 1),))
    evaluation = EvaluationSettings("after_cutoff", 1, "linear", 10, {"ndcg": ndcg, "hit_rate": hit_rate})
    retriever = Approximate(NO_STORE, recall=recall)
    task = RankingTask(None, PageChunker(), retriever, evaluation, 3, 0, NO_STORE, "words")
    measured = task.measure(Dataset.from_collection(collection, PageChunker()))
    said = [notice for notice in measured.notices if "the index, not the retriever" in notice]
    assert len(said) == lines
    assert measured.caution == "".join(said)
    assert sum(said == [*section] for section in measured.sections.values()) == lines
