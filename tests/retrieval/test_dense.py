"""Exact nearest neighbours of embeddings, and the published figures of SciFact."""

from pathlib import Path

import numpy as np
import pytest

from ragsweep.datasets import Dataset
from ragsweep.evaluation import average_precision, judge, mrr, ndcg, precision, recall
from ragsweep.retrieval import DenseRetriever, ExactIndex, Search, SentenceTransformerEncoder


def test_the_ranking_is_that_of_all_inner_products(store, letters, manual_search):
    ranking = DenseRetriever(letters, store).rank(manual_search, 10)
    products = letters.encode(manual_search.queries, "query") @ letters.encode(manual_search.passages, "passage").T
    np.testing.assert_allclose(ranking.scores, -np.sort(-products, axis=1)[:, :10], atol=1e-6)


@pytest.mark.parametrize(("passages", "best"), [(["iron"] * 40, [0, 1, 2]), (["irons"] * 40 + ["iron"], [40, 0, 1])])
def test_ties_at_the_cut_stay_in_corpus_order(store, letters, passages, best):
    search = Search(tuple(passages), ("iron",))
    assert DenseRetriever(letters, store).rank(search, 3).passages.tolist() == [best]


def test_a_corpus_is_encoded_once_for_all_depths(store, letters):
    for depth in (1, 2):
        DenseRetriever(letters, store).rank(Search(("zinc", "iron"), ("iron",)), depth)
    stages = Path(store.path).glob("embeddings-*")  # of the passages, and of the queries
    assert [len([entry for entry in stage.iterdir() if entry.is_dir()]) for stage in stages] == [1, 1]


def ranking_of(scifact: Dataset, index, store):
    """The first 100 passages for SciFact's test split, with all-MiniLM-L6-v2."""
    retriever = DenseRetriever(SentenceTransformerEncoder(), store, index)
    return retriever.rank(Search(scifact.texts, tuple(query.text for query in scifact.queries)), 100)


def at_10(scifact: Dataset, ranking, metric):
    """A metric's mean at k = 10."""
    qrels = scifact.qrels
    return metric(judge(scifact.passage_units[ranking.passages], qrels.query, qrels.unit, qrels.grade), 10).mean()


@pytest.mark.real_data
@pytest.mark.soak  # .ci/run runs it, too, by itself: it keeps all cores busy for minutes
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("metric", "published"),  # MTEB results on the card of all-MiniLM-L6-v2
    [(ndcg, 0.64508), (average_precision, 0.59593), (recall, 0.78333), (mrr, 0.60472), (precision, 0.08833)],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_minilm_on_scifact_gives_the_published_figures(scifact, scifact_store, metric, published):
    mean = at_10(scifact, ranking_of(scifact, ExactIndex(), scifact_store), metric)
    assert mean == pytest.approx(published, abs=0.0005)
