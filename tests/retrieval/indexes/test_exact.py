"""Exact search against loops that are slow and obvious, and against FAISS."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rankings import are_same
from threadpoolctl import threadpool_limits

from ragsweep.retrieval.indexes.exact import ExactSearch, canonical_scores

FEW = st.lists(st.tuples(*[st.integers(-2, 2)] * 3), min_size=1, max_size=40)  # vectors, most of them several times


def vectors(rng, count, dimensions=24):
    drawn = rng.standard_normal((count, dimensions)).astype(np.float32)
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


def obvious(queries, passages, depth):
    """Every inner product in double precision, sorted in Python."""
    best = []
    for query in queries.tolist():
        scores = [sum(a * b for a, b in zip(query, passage, strict=True)) for passage in passages.tolist()]
        best.append(sorted(range(len(scores)), key=lambda passage: (-scores[passage], passage))[:depth])
    return best


@given(FEW, FEW, st.integers(1, 50), st.integers(1, 50), st.integers(1, 3))
def test_the_order_is_score_then_corpus_order_whatever_the_ties(queries, passages, depth, block, threads):
    queries, passages = np.array(queries, np.float32), np.array(passages, np.float32)
    ranking = ExactSearch(passages, block, threads)(queries, depth)
    assert ranking.passages.tolist() == obvious(queries, passages, depth)


def test_copies_of_one_passage_stand_in_corpus_order():
    rng = np.random.default_rng(0)
    passages = np.repeat(vectors(rng, 3), 400, axis=0)[rng.permutation(1200)]
    queries = vectors(rng, 5)
    for block in (7, 64, 5000):
        assert ExactSearch(passages, block, 2)(queries, 10).passages.tolist() == obvious(queries, passages, 10)


def test_passages_that_single_precision_cannot_tell_apart_are_ranked_by_double_precision():
    rng = np.random.default_rng(1)
    query = vectors(rng, 1, 384)
    noise = (1 + np.float32(1e-7) * rng.integers(-3, 4, (500, 384))).astype(np.float32)
    passages = query * noise  # their products differ by less than a sum in single precision errs
    ranking = ExactSearch(passages, 64, 2)(query, 20)
    exact = (passages.astype(np.float64) * query).sum(axis=1)
    assert ranking.passages[0].tolist() == sorted(range(500), key=lambda passage: (-exact[passage], passage))[:20]


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize("order", ["random", "worst first"])
def test_blocks_threads_batches_and_blas_do_not_show(order):
    rng = np.random.default_rng(2)
    passages, queries = vectors(rng, 3000), vectors(rng, 300)  # more queries than a batch
    if order == "worst first":
        passages = passages[np.argsort(passages @ queries[0])]
    expected = ExactSearch(passages, 3000, 1)(queries, 50)
    for block, threads in ((11, 1), (97, 3), (2048, 2), (5000, 7)):
        assert are_same(ExactSearch(passages, block, threads)(queries, 50), expected)
    alone = [ExactSearch(passages)(queries[[row]], 50) for row in range(20)]
    assert all(are_same(ranking, expected.row(row)) for row, ranking in enumerate(alone))
    with threadpool_limits(2):
        assert are_same(ExactSearch(passages)(queries, 50), expected)


def test_embeddings_of_any_length_are_ranked():
    rng = np.random.default_rng(3)
    passages = vectors(rng, 500) * np.geomspace(1e-3, 1e3, 500, dtype=np.float32)[:, np.newaxis]
    queries = np.vstack([vectors(rng, 3) * 50, np.zeros((1, 24), np.float32)])
    assert ExactSearch(passages, 64, 2)(queries, 20).passages.tolist() == obvious(queries, passages, 20)


def test_the_depth_may_exceed_the_corpus():
    ranking = ExactSearch(np.eye(3, dtype=np.float32))(np.eye(3, dtype=np.float32)[[1]], 100)
    assert (ranking.passages.tolist(), ranking.scores.tolist()) == ([[1, 0, 2]], [[1, 0, 0]])
    assert ExactSearch(np.ones((1, 4), np.float32))(np.ones((2, 4), np.float32), 5).scores.tolist() == [[4], [4]]


def test_embeddings_may_be_mapped_from_a_file(tmp_path):
    rng = np.random.default_rng(4)
    passages, queries = vectors(rng, 500), vectors(rng, 5)
    np.save(tmp_path / "passages.npy", passages)
    mapped = np.load(tmp_path / "passages.npy", mmap_mode="r")
    assert are_same(ExactSearch(mapped, 64)(queries, 9), ExactSearch(passages, 64)(queries, 9))


def test_faiss_finds_the_same_passages():
    import faiss

    rng = np.random.default_rng(5)
    passages, queries = vectors(rng, 5000, 384), vectors(rng, 20, 384)
    index = faiss.IndexFlatIP(384)
    index.add(passages)
    scores, candidates = index.search(queries, 100)
    ranking = ExactSearch(passages)(queries, 100)
    assert (np.sort(ranking.passages) == np.sort(candidates)).mean() > 0.9999
    np.testing.assert_allclose(ranking.scores, scores, atol=1e-6)


def test_a_score_depends_on_its_two_vectors_alone():
    rng = np.random.default_rng(6)
    passages, queries = vectors(rng, 50, 384), vectors(rng, 2, 384)
    together = canonical_scores(queries, passages, np.arange(50)[np.newaxis].repeat(2, axis=0))
    for row in range(50):
        assert canonical_scores(queries, passages, np.full((2, 1), row)).tolist() == together[:, [row]].tolist()
