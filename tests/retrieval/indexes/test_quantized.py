"""Shortened and quantised embeddings, held against sentence-transformers, FAISS and plain loops."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from ragsweep.core.errors import ConfigError, EncoderError
from ragsweep.models.encoders.embeddings import embed
from ragsweep.retrieval import DenseRetriever, HnswIndex, Reducible, Search, SentenceTransformerEncoder, rank
from ragsweep.retrieval.indexes.quantized import QuantizedIndex
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
QUERY, PASSAGE = (
    DrawnEncoder().encode(texts, role) for texts, role in ((SEARCH.queries, "query"), (SEARCH.passages, "passage"))
)


def retrieve(depth=10, store=NO_STORE, encoder=DrawnEncoder, **settings):
    return rank(DenseRetriever(encoder(**settings), store), SEARCH, depth)


def built(_, build):
    return build()


def best(scores, depth=10):
    """The passages with the highest scores of each query, equal ones in corpus order."""
    return np.argsort(-scores, axis=1, kind="stable")[:, :depth]


def middles():
    """The passages as 256 levels a dimension tell them."""
    lowest, highest = PASSAGE.min(axis=0), PASSAGE.max(axis=0)
    codes = ((PASSAGE - lowest) / ((highest - lowest) / 255)).astype(np.uint8)
    return lowest.astype(float) + (codes + 0.5) * (highest.astype(float) - lowest) / 255


def signs():
    return 1 - 2 * np.array([[np.mean((q > 0) != (p > 0)) for p in PASSAGE] for q in QUERY])


SCORES = {"int8": QUERY.astype(float) @ middles().T, "binary": signs()}


@pytest.mark.parametrize("quantize", SCORES)
@pytest.mark.usefixtures("models")
def test_codes_are_those_of_sentence_transformers(quantize):
    from sentence_transformers.util.quantization import quantize_embeddings

    kept = []
    QuantizedIndex(quantize).open(PASSAGE, lambda _, build: kept.append(build()) or kept[0])
    expected = quantize_embeddings(PASSAGE, {"int8": "int8", "binary": "ubinary"}[quantize])
    np.testing.assert_array_equal(kept[0]["codes"].view(expected.dtype), expected)


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize("quantize", SCORES)
def test_without_rescoring_the_codes_decide(quantize):
    found = retrieve(quantize=quantize, rescore=False)
    np.testing.assert_array_equal(found.passages, best(SCORES[quantize]))
    np.testing.assert_allclose(found.scores, -np.sort(-SCORES[quantize], axis=1)[:, :10], atol=1e-6)


def test_int8_scores_are_those_of_faiss():
    """As far as a number between two levels may get either."""
    import faiss

    index = faiss.IndexScalarQuantizer(DIMENSIONS, faiss.ScalarQuantizer.QT_8bit, faiss.METRIC_INNER_PRODUCT)
    index.train(PASSAGE)
    index.add(PASSAGE)
    scores, _ = index.search(QUERY, 10)
    np.testing.assert_allclose(retrieve(quantize="int8", rescore=False).scores, scores, atol=1e-3)


@pytest.mark.usefixtures("models")
def test_binary_distances_are_those_of_sentence_transformers():
    from sentence_transformers.util.quantization import quantize_embeddings, semantic_search_faiss

    codes = quantize_embeddings(PASSAGE, "ubinary")
    hits, _ = semantic_search_faiss(QUERY, codes, corpus_precision="ubinary", top_k=10, rescore=False)
    expected = [[1 - 2 * hit["score"] / DIMENSIONS for hit in row] for row in hits]
    np.testing.assert_allclose(retrieve(quantize="binary", rescore=False).scores, expected)


@pytest.mark.parametrize("quantize", SCORES)
@pytest.mark.parametrize("oversample", [1, 3])
def test_rescoring_ranks_the_best_codes_by_the_embeddings(quantize, oversample):
    found = retrieve(quantize=quantize, oversample=oversample)
    products = QUERY.astype(float) @ PASSAGE.T.astype(float)
    candidates = best(SCORES[quantize], 10 * oversample)
    masked = np.full_like(products, -np.inf)
    np.put_along_axis(masked, candidates, np.take_along_axis(products, candidates, axis=1), axis=1)
    np.testing.assert_array_equal(found.passages, best(masked))


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize("quantize", SCORES)
def test_recall_is_of_the_ranking_by_the_embeddings(quantize):
    exact, found = retrieve(), retrieve(quantize=quantize, rescore=False)
    expected = [len({*a} & {*b}) / 10 for a, b in zip(exact.passages.tolist(), found.passages.tolist(), strict=True)]
    assert found.recall_of_exact.tolist() == expected
    assert retrieve(quantize=quantize, oversample=PASSAGES).recall_of_exact.tolist() == [1] * QUERIES


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, PASSAGES * DIMENSIONS * 4),
        ({"dimensions": 64}, PASSAGES * 64 * 4),
        ({"quantize": "int8", "rescore": False}, PASSAGES * DIMENSIONS + 2 * DIMENSIONS * 4),
        ({"quantize": "binary", "rescore": False}, PASSAGES * DIMENSIONS / 8),
        ({"quantize": "binary", "dimensions": 64, "rescore": False}, PASSAGES * 64 / 8),
        ({"quantize": "binary", "oversample": 3}, PASSAGES * DIMENSIONS / 8 + 3 * 10 * DIMENSIONS * 4),
    ],
    ids=str,
)
def test_the_bytes_of_a_search_are_codes_and_the_embeddings_that_are_read(settings, expected):
    assert retrieve(**settings).index_bytes == pytest.approx(expected, abs=8)


CHANGES = [
    ({}, {"dimensions": 64}),
    ({}, {"quantize": "int8", "rescore": False}),
    ({"quantize": "binary"}, {"quantize": "int8"}),
    ({"quantize": "binary"}, {"rescore": False}),
    ({"quantize": "binary"}, {"oversample": 1}),
]


@pytest.mark.parametrize(("settings", "change"), CHANGES, ids=str)
def test_every_setting_changes_the_ranking_also_beside_a_stored_one(store, settings, change):
    one, other = (retrieve(store=store, **each) for each in (settings, settings | change))
    assert not np.array_equal(one.scores, other.scores)


@pytest.mark.usefixtures("long_work")
def test_a_sweep_over_the_settings_encodes_every_text_once(store):
    asked = []
    for settings, change in CHANGES:
        retrieve(store=store, asked=asked, **settings | change)
    once = {"queries": QUERIES, "passages": PASSAGES, "timing": 1 + 16}  # the first timed query is encoded twice
    assert len(asked) == sum(once.values())


@pytest.mark.usefixtures("models")
def test_the_first_dimensions_are_those_of_sentence_transformers(store):
    from sentence_transformers import SentenceTransformer

    folder = str(SentenceTransformerEncoder(device="cpu").folder)
    model = SentenceTransformer(folder, device="cpu", truncate_dim=48)
    texts = ["Iron tablets are taken daily.", "Malaria is found with a rapid test."]
    found = embed(SentenceTransformerEncoder(folder, device="cpu", dimensions=48), store, texts, "passage")
    np.testing.assert_allclose(found, model.encode(texts, normalize_embeddings=True), atol=1e-6)


def test_more_dimensions_than_there_are_cannot_be_kept():
    with pytest.raises(EncoderError, match=r"^encoder.dimensions: found 129, expected at most the model's 128$"):
        retrieve(dimensions=129)


def test_quantised_embeddings_are_searched_without_an_index():
    with pytest.raises(ConfigError, match=r"^encoder.quantize: .* with index=exact, found HnswIndex$"):
        DenseRetriever(DrawnEncoder(quantize="int8"), NO_STORE, HnswIndex())


def test_a_dimension_in_which_all_passages_are_alike_adds_nothing_to_the_order():
    passages = np.array([[0.6, 0.8], [0.6, -0.8]], np.float32)
    found = QuantizedIndex("int8", rescore=False).open(passages, built)(np.array([[0, 1]], np.float32), 2)
    assert found.passages.tolist() == [[0, 1]]
    assert np.isfinite(found.scores).all()
