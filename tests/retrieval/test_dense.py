"""Exact nearest neighbours of embeddings, also shortened ones, and the published figures of SciFact."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from ragsweep.core.errors import EncoderError
from ragsweep.datasets import Dataset
from ragsweep.evaluation import average_precision, judge, mrr, ndcg, precision, recall
from ragsweep.models.encoders.embeddings import embed
from ragsweep.retrieval import DenseRetriever, ExactIndex, Reducible, Search, SentenceTransformerEncoder, rank
from ragsweep.store.stage_store import NO_STORE


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


# Fewer dimensions

PASSAGES, QUERIES, DIMENSIONS = 600, 20, 128


@dataclass(frozen=True)
class DrawnEncoder(Reducible):
    """Embeds the text of a number as random numbers, the later the smaller, and remembers what it was asked for."""

    asked: list[str] = field(default_factory=list)
    fingerprint = "drawn"

    def encode(self, texts, role):
        self.asked.extend(texts)
        drawn = [np.random.default_rng([int(text), role == "query"]).standard_normal(DIMENSIONS) for text in texts]
        embeddings = (np.array(drawn) + 0.1) * np.linspace(1, 0.2, DIMENSIONS)
        return (embeddings / np.linalg.norm(embeddings, axis=1, keepdims=True)).astype(np.float32)


SEARCH = Search(tuple(map(str, range(PASSAGES))), tuple(map(str, range(QUERIES))))


def retrieve(depth=10, store=NO_STORE, encoder=DrawnEncoder, **settings):
    return rank(DenseRetriever(encoder(**settings), store), SEARCH, depth)


def test_fewer_dimensions_change_the_ranking_also_beside_a_stored_one(store):
    one, other = (retrieve(store=store, dimensions=number) for number in (None, 64))
    assert not np.array_equal(one.scores, other.scores)


def test_a_sweep_over_dimensions_encodes_every_text_once(store, monkeypatch):
    monkeypatch.setattr("ragsweep.core.timing.ROUNDS", 1)
    asked = []
    for dimensions in (None, 64, 32):
        retrieve(store=store, asked=asked, dimensions=dimensions)
    once = {"queries": QUERIES, "passages": PASSAGES, "timing": 1 + QUERIES}  # one to warm up
    assert len(asked) == sum(once.values())


@pytest.mark.usefixtures("models")
def test_the_first_dimensions_are_those_of_sentence_transformers(store):
    from sentence_transformers import SentenceTransformer

    folder = str(SentenceTransformerEncoder(device="cpu").folder)
    model = SentenceTransformer(folder, device="cpu", truncate_dim=48)
    texts = ["Iron tablets are taken daily.", "Malaria is found with a rapid test."]
    embeddings = embed(SentenceTransformerEncoder(folder, device="cpu", dimensions=48), store, texts, "passage")
    np.testing.assert_allclose(embeddings, model.encode(texts, normalize_embeddings=True), atol=1e-6)


def test_more_dimensions_than_there_are_cannot_be_kept():
    with pytest.raises(EncoderError, match=r"^encoder.dimensions: found 129, expected at most the model's 128$"):
        retrieve(dimensions=129)
