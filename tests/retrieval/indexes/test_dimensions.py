"""Shortened embeddings, held against sentence-transformers."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from ragsweep.core.errors import EncoderError
from ragsweep.models.encoders.embeddings import embed
from ragsweep.retrieval import DenseRetriever, Reducible, Search, SentenceTransformerEncoder, rank
from ragsweep.store.stage_store import NO_STORE

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
