"""Small datasets and ranking tasks, which tests make of a few texts."""

import numpy as np
import pytest

from ragsweep.datasets import Collection, Dataset, Document, Judgment, PageChunker, Query
from ragsweep.evaluation import hit_rate, ndcg
from ragsweep.retrieval import NOTHING, SparseRetriever, ranked
from ragsweep.store.stage_store import NO_STORE
from ragsweep.tasks.ranking.ranking_settings import EvaluationSettings
from ragsweep.tasks.ranking.ranking_task import RankingTask
from ragsweep.testing.datasets import Loaded

SPARSE = SparseRetriever(NO_STORE)


@pytest.fixture(autouse=True)
def short_times(monkeypatch):
    """Takes times once, not five times."""
    monkeypatch.setattr("ragsweep.core.timing.ROUNDS", 1)


def paged(name, *texts):
    """A document with a page for each text; the pages are judged as `name#1`, `name#2` and so on."""
    return Document.from_pages(name, [(str(page), f"{name}#{page}", text) for page, text in enumerate(texts, start=1)])


def unpaged(name, text=None):
    """A document that is judged as a whole, by its name; this is its text, too, if there is no other."""
    return Document.from_pages(name, [("1", name, name if text is None else text)])


def collection_of(documents, queries, judgments=(), unit="page", **more):
    """Documents, queries or their texts by id, and judgments or grades by query and unit."""
    asked = (Query(*query) for query in queries.items()) if isinstance(queries, dict) else queries
    graded = (Judgment(*pair, grade) for pair, grade in judgments.items()) if isinstance(judgments, dict) else judgments
    return Collection("small", unit, tuple(documents), tuple(asked), tuple(graded), **more)


def dataset_of(*content, chunker=None, **more):
    """The dataset of a collection, cut at its pages or by a chunker."""
    return Dataset.from_collection(collection_of(*content, **more), chunker or PageChunker())


def ranking_task(
    retriever=SPARSE, metrics=None, k=3, *, collection=None, chunker=None, resamples=10, evaluation=None, **settings
):
    """A task that measures a retriever; `evaluation` are settings of it besides these."""
    measured = metrics or {"ndcg": ndcg, "hit_rate": hit_rate}
    of_evaluation = {"collapse": "after_cutoff", "relevance_level": 1, "gain": "linear", **(evaluation or {})}
    return RankingTask(
        dataset=Loaded(collection),
        chunker=chunker or PageChunker(),
        retriever=retriever,
        evaluation=EvaluationSettings(**of_evaluation, resamples=resamples, metrics=measured),
        k=k,
        seed=0,
        **{"store": NO_STORE, **settings},
    )


def ranking_of(*queries):
    """A ranking from one dictionary `{passage: score}` a query."""
    width = max(1, *map(len, queries), 1)
    passages = [[*scores, *[NOTHING] * (width - len(scores))] for scores in queries]
    values = [[*scores.values(), *[0.0] * (width - len(scores))] for scores in queries]
    return ranked(np.array(passages), np.array(values, float), width)


def pairs_of(ranking):
    """Passage and score at each rank of every query, without the empty ranks."""
    rows = zip(ranking.passages.tolist(), ranking.scores.tolist(), strict=True)
    return [[pair for pair in zip(*row, strict=True) if pair[0] != NOTHING] for row in rows]


def order_of(ranking):
    """The passages of every query in their order."""
    return [[passage for passage, _ in row] for row in pairs_of(ranking)]


def are_same(one, other):
    """Whether two rankings are equal to the last bit."""
    return np.array_equal(one.passages, other.passages) and np.array_equal(one.scores, other.scores)
