"""Similarity: embeddings that are made for inner products keep their lengths, held against sentence-transformers."""

import shutil
from dataclasses import dataclass, replace

import numpy as np
import pytest

from ragsweep.core.errors import EncoderError
from ragsweep.retrieval import (
    DenseRetriever,
    Encoder,
    EncoderReranker,
    ExactIndex,
    FaissIndex,
    MmrReranker,
    Ranking,
    Search,
    SentenceTransformerEncoder,
    rank,
)
from ragsweep.store.stage_store import NO_STORE
from ragsweep.tasks.ranking.judging import judge
from ragsweep.tasks.ranking.metrics import ndcg

pytestmark = pytest.mark.usefixtures("models")

PASSAGES = ("iron tablets", "iron tablets for mothers", "tea", "water and tea and iron", "hands", "wash your hands")
QUERIES = ("iron", "tea for mothers")


@dataclass(frozen=True)
class Lengths(Encoder):
    """Counts of letters as they are."""

    similarity: str = "dot"
    fingerprint: str = "lengths"

    def encode(self, texts, role):
        return np.array([[text.count(letter) for letter in "abcdefghimnorstwy"] for text in texts], dtype=np.float32)


def by_products(query):
    """The passages by inner product with a query, by a slow loop."""
    [of_query, *embeddings] = Lengths().encode([query, *PASSAGES], "query").tolist()
    scores = [sum(a * b for a, b in zip(of_query, embedding, strict=True)) for embedding in embeddings]
    order = sorted(range(len(scores)), key=lambda at: (-scores[at], at))
    return order, [scores[at] for at in order]


@pytest.fixture(scope="module")
def dot_model(tmp_path_factory):
    """MiniLM with the pooling of multi-qa-mpnet-base-dot-v1 and its likes, saved as they are."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer import modules

    minilm = str(SentenceTransformerEncoder().folder)
    parts = [modules.Transformer(minilm), modules.Pooling(384, pooling_mode="cls")]
    folder = str(tmp_path_factory.mktemp("dot"))
    SentenceTransformer(modules=parts, similarity_fn_name="dot", device="cpu").save(folder)
    return folder


def test_a_model_made_for_inner_products_is_measured_by_them(dot_model, manual_search):
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.util import cos_sim, dot_score

    some = Search(tuple(sorted(manual_search.passages, key=len)[10:22]), manual_search.queries[:8])
    ranking = rank(DenseRetriever(SentenceTransformerEncoder(dot_model, device="cpu"), NO_STORE), some, 12)
    plain = SentenceTransformer(dot_model, device="cpu")
    queries, passages = (
        plain.encode([text.replace("\f", " ") for text in texts]) for texts in (some.queries, some.passages)
    )
    scores = dot_score(queries, passages).numpy()
    assert ranking.passages.tolist() == np.argsort(-scores, axis=1, kind="stable").tolist()
    np.testing.assert_allclose(ranking.scores, -np.sort(-scores, axis=1), rtol=1e-5)
    assert ranking.passages.tolist() != np.argsort(-cos_sim(queries, passages).numpy(), axis=1).tolist()


@pytest.mark.soak
def test_the_whole_manual_has_the_score_of_sentence_transformers_own_evaluator(dot_model, manual_pages, manual_search):
    """By cosine it would be .5488."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.evaluation import InformationRetrievalEvaluator

    encoder = SentenceTransformerEncoder(dot_model, device="cpu")
    assert encoder.similarity == "dot"
    ranking = rank(DenseRetriever(encoder, NO_STORE), manual_search, 5)
    qrels, units = manual_pages.qrels, manual_pages.passage_units
    judged = judge(units[ranking.passages], qrels.query, qrels.unit, qrels.grade)
    score = float(ndcg(judged, 5).mean())
    relevant = {}
    for query, unit in zip(qrels.query.tolist(), qrels.unit.tolist(), strict=True):
        relevant.setdefault(str(query), set()).add(str(unit))
    corpus = {str(unit): text for unit, text in zip(units.tolist(), manual_search.passages, strict=True)}
    queries = {str(row): text for row, text in enumerate(manual_search.queries)}
    cutoffs = {key: [5] for key in ("ndcg_at_k", "accuracy_at_k", "precision_recall_at_k", "mrr_at_k", "map_at_k")}
    evaluator = InformationRetrievalEvaluator(queries, corpus, relevant, **cutoffs, show_progress_bar=False)
    scores = evaluator(SentenceTransformer(dot_model, device="cpu"))
    [expected] = [value for name, value in scores.items() if name.endswith("dot_ndcg@5")]
    assert score == pytest.approx(expected, abs=1e-9)
    assert round(score, 4) == 0.4761


def test_dense_retrieval_ranks_by_inner_products():
    for index in (ExactIndex(), FaissIndex("HNSW32")):
        ranking = rank(DenseRetriever(Lengths(), NO_STORE, index), Search(PASSAGES, QUERIES), 6)
        for row, query in enumerate(QUERIES):
            assert (ranking.passages[row].tolist(), ranking.scores[row].tolist()) == by_products(query)


def test_a_model_for_another_similarity_is_refused_unless_one_is_set(dot_model, tmp_path):
    shutil.copytree(dot_model, tmp_path / "model")
    settings = tmp_path / "model" / "config_sentence_transformers.json"
    settings.write_text(settings.read_text().replace('"dot"', '"euclidean"'))
    with pytest.raises(EncoderError, match=r"encoder\.similarity: .* compares by 'euclidean'; expected cosine or dot"):
        SentenceTransformerEncoder(str(tmp_path / "model"))
    assert SentenceTransformerEncoder(str(tmp_path / "model"), similarity="cosine").similarity == "cosine"


def test_shortened_embeddings_keep_their_lengths(dot_model):
    encoder = SentenceTransformerEncoder(dot_model, device="cpu", dimensions=2)
    assert encoder.reduce(np.array([[3, 4, 5]], np.float32)).tolist() == [[3, 4]]
    by_cosine = replace(encoder, similarity="cosine")
    assert by_cosine.reduce(np.array([[3, 4, 5]], np.float32)) == pytest.approx(np.array([[0.6, 0.8]]))


def first(passages=(0, 1, 2)):
    return Ranking(np.array([passages] * 2), np.array([np.arange(len(passages), 0, -1.0)] * 2))


def test_a_reranker_of_a_dot_encoder_compares_by_inner_products_and_says_so():
    reranker = EncoderReranker(Lengths(), NO_STORE)
    assert "inner product" in reranker.formula
    ranking = reranker.rerank(Search(PASSAGES, QUERIES), first(), 3)
    for row, query in enumerate(QUERIES):
        assert ranking.scores[row].tolist() == [score for at, score in zip(*by_products(query), strict=True) if at < 3]


def test_the_redundancy_of_mmr_is_a_cosine_whatever_the_encoder():
    """Of two copies, one of them twice as long, the longer is no more redundant."""
    search = Search(("iron", "iron iron", "tea"), QUERIES)
    ranking = MmrReranker(Lengths(), NO_STORE, relevance=0.4, similarity="cosine").rerank(search, first(), 3)
    assert ranking.passages[0].tolist() == [0, 2, 1]
    assert ranking.scores.max() <= 1
