"""Exact search of the engines finds what our exact search finds."""

import pytest
from postgres import address, postgres

from ragsweep.datasets import Dataset
from ragsweep.evaluation import judge, ndcg
from ragsweep.retrieval import DenseRetriever, ExactIndex, Search, SentenceTransformerEncoder
from ragsweep_engines.pgvector_index import PgvectorIndex


def ranking_of(scifact: Dataset, index, store):
    """The first 100 passages for SciFact's test split, with all-MiniLM-L6-v2."""
    retriever = DenseRetriever(SentenceTransformerEncoder(), store, index)
    return retriever.rank(Search(scifact.texts, tuple(query.text for query in scifact.queries)), 100)


def at_10(scifact: Dataset, ranking, metric):
    """A metric's mean at k = 10."""
    qrels = scifact.qrels
    return metric(judge(scifact.passage_units[ranking.passages], qrels.query, qrels.unit, qrels.grade), 10).mean()


@pytest.mark.real_data
@pytest.mark.soak  # as above
@pytest.mark.timeout(900)
def test_exact_search_of_an_engine_finds_the_passages_of_exact_search_on_scifact(scifact, scifact_store, monkeypatch):
    with postgres() as server:
        monkeypatch.setenv("PGVECTOR_URL", address(server))
        found = ranking_of(scifact, PgvectorIndex(exact=True), scifact_store)
    assert found.passages.tolist() == ranking_of(scifact, ExactIndex(), scifact_store).passages.tolist()
    assert found.recall_of_exact.min() == 1
    assert at_10(scifact, found, ndcg) == pytest.approx(0.6451, abs=0.0005)
