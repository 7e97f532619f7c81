"""Dense, sparse and hybrid retrieval compared with common libraries, and with a hand-written loop."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from bench.measures import METRICS
from bench.reference_loop import ReferenceLoop
from bench.timing import Rows, time_both
from ragsweep.datasets import Dataset
from ragsweep.evaluation import evaluate, judge
from ragsweep.models.encoders.embeddings import embed
from ragsweep.retrieval import (
    NOTHING,
    DenseRetriever,
    Encoder,
    FaissIndex,
    HybridRetriever,
    Search,
    SentenceTransformerEncoder,
    SparseRetriever,
)
from ragsweep.retrieval.indexes.exact import ExactSearch
from ragsweep.store.stage_store import NO_STORE, Store
from ragsweep.text.tokens import Tokenizer

ALPHAS = (0.0, 0.3, 0.5, 0.7, 1.0)
CUTOFFS = (3, 5, 10)
DEPTH = 100
DIMENSIONS = 384


def loop(dataset: Dataset, store: Store, rounds: int, sample: int, target: float) -> Rows:
    """Fifteen configurations over all queries, with stored embeddings, compared with the hand-written loop.

    Args:
        dataset: The dataset to search.
        store: Caches the embeddings.
        rounds: Number of timed rounds.
        sample: Number of queries that the loop measures with each configuration. Its time is scaled to all queries.
        target: How many times as fast as the loop ragsweep should be. On a small corpus, the loop is less slow.
    """
    from sentence_transformers import SentenceTransformer

    encoder = SentenceTransformerEncoder()
    search = Search(dataset.texts, tuple(query.text for query in dataset.queries))
    qrels = dataset.qrels
    embeddings = embed(encoder, store, search.passages, "passage")
    embed(encoder, store, search.queries, "query")

    def ours() -> None:
        store.clear(entry for entry in store.entries() if not entry.stage.startswith("embeddings"))
        dense, sparse = DenseRetriever(encoder, store), SparseRetriever(store)
        for alpha in ALPHAS:
            for k in CUTOFFS:
                ranking = HybridRetriever(dense, sparse, alpha).rank(search, DEPTH)
                units = np.where(ranking.passages == NOTHING, NOTHING, dataset.passage_units[ranking.passages])
                judged = judge(units, qrels.query, qrels.unit, qrels.grade)
                evaluate(judged, METRICS, k, (None,) * len(judged.queries))

    model = SentenceTransformer(str(encoder.folder), device="cpu", local_files_only=True)
    reference = ReferenceLoop(model, search.passages, embeddings, dataset.passage_units.tolist())
    judged_queries = np.unique(qrels.query[qrels.grade > 0])
    relevant = {row: set(qrels.unit[(qrels.query == row) & (qrels.grade > 0)].tolist()) for row in judged_queries}
    asked = judged_queries[:sample].tolist()

    def theirs() -> None:
        for alpha in ALPHAS:
            for k in CUTOFFS:
                for row in asked:
                    reference.measure(search.queries[row], relevant[row], alpha, k)

    yield time_both(
        f"15 configurations x {len(relevant)} queries of {dataset.name}, with stored embeddings",
        "a hand-written loop",
        target,
        ours,
        theirs,
        rounds=rounds,
        share=len(asked) / len(relevant),
        note=f"ours with 10,000 bootstrap resamples each; the time of the loop is scaled up from {len(asked)} queries",
    )


def sparse(name: str, texts: Sequence[str], queries: Sequence[str], rounds: int) -> Rows:
    """Search for the top 100 by BM25, and building of the index."""
    import bm25s
    from rank_bm25 import BM25Okapi

    retriever = SparseRetriever(NO_STORE)
    tokenize = Tokenizer()
    tokens, asked = list(map(tokenize, texts)), list(map(tokenize, queries))
    index, okapi = retriever.index(texts), BM25Okapi(tokens)
    depth = min(DEPTH, len(texts))

    def scores() -> list[Any]:
        scores = [okapi.get_scores(query) for query in asked]
        for row in scores:
            np.argpartition(-row, depth - 1)[:depth]
        return scores

    np.testing.assert_allclose(index.scores(queries), np.array(scores()), rtol=0, atol=1e-9)
    work = f"BM25 top {depth}, {name}: {len(texts):,} passages, {len(queries)} queries"
    yield time_both(
        work, "rank_bm25", 80, lambda: index.search(queries, depth), scores, rounds=rounds, note="scores equal to 1e-9"
    )

    note = "theirs from tokens, in single precision; ours from texts, in double"
    for backend, target in (("numpy", 1), ("numba", None)):
        theirs = bm25s.BM25(backend=backend)
        theirs.index(tokens, show_progress=False)
        retrieve = partial(theirs.retrieve, asked, k=depth, show_progress=False)
        retrieve()  # the first call compiles
        yield time_both(
            work,
            f"bm25s, {backend}",
            target,
            lambda: index.search(queries, depth),
            retrieve,
            rounds=rounds,
            note=note,
        )

    def build() -> None:
        bm25s.BM25().index(list(map(tokenize, texts)), show_progress=False)

    work = f"BM25 index from texts, {name}"
    yield time_both(
        work,
        "rank_bm25",
        None,
        lambda: retriever.index(texts),
        lambda: BM25Okapi(list(map(tokenize, texts))),
        rounds=rounds,
    )
    yield time_both(work, "bm25s", None, lambda: retriever.index(texts), build, rounds=rounds)


def dense(passages: int, queries: int, rounds: int) -> Rows:
    """Exact search for the largest inner products compared with FAISS."""
    import faiss

    vectors, asked = unit_vectors(passages, seed=0), unit_vectors(queries, seed=1)
    flat = faiss.IndexFlatIP(DIMENSIONS)
    flat.add(vectors)
    search = ExactSearch(vectors)
    ours, theirs = search(asked, DEPTH), flat.search(asked, DEPTH)[1]
    scores = np.einsum("qd,qkd->qk", asked.astype(np.float64), vectors[theirs].astype(np.float64))
    np.testing.assert_allclose(scores, ours.scores, rtol=0, atol=1e-6)  # different ids are only due to rounding
    yield time_both(
        f"exact top {DEPTH}, {passages:,} x {DIMENSIONS}, {queries} queries",
        "FAISS IndexFlatIP",
        2,
        lambda: search(asked, DEPTH),
        lambda: flat.search(asked, DEPTH),
        rounds=rounds,
        note=f"same ids except at {(ours.passages != theirs).sum()} ranks, where single precision swaps neighbours",
    )


def approximate(dataset: Dataset, store: Store, rounds: int) -> Rows:
    """Speed and recall of the approximate indexes on real embeddings."""
    encoder = SentenceTransformerEncoder()
    passages = np.asarray(embed(encoder, store, dataset.texts, "passage"))
    queries = np.asarray(embed(encoder, store, [query.text for query in dataset.queries], "query"))
    exact = ExactSearch(passages)
    best = exact(queries, DEPTH).passages
    for name, index in (
        ("HNSW32", FaissIndex("HNSW32")),
        ("IVF64,PQ48", FaissIndex("IVF64,PQ48", search={"nprobe": 8})),
    ):
        search = index.open(passages, lambda _, build: build())
        ranked = search(queries, DEPTH).passages
        recall = np.mean([np.isin(*rows).mean() for rows in zip(best, ranked, strict=True)])
        yield time_both(
            f"top {DEPTH}, {dataset.name}: {len(passages):,} embeddings, {len(queries)} queries, {name}",
            "exact search",
            None,
            partial(search, queries, DEPTH),
            partial(exact, queries, DEPTH),
            rounds=rounds,
            note=f"finds {recall:.3f} of the exact top {DEPTH}",
        )


def unit_vectors(count: int, seed: int) -> np.ndarray:
    """Random embeddings, shape [count, 384]."""
    vectors = np.random.default_rng(seed).standard_normal((count, DIMENSIONS), dtype=np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


@dataclass(frozen=True)
class RandomEncoder(Encoder):
    """Random embeddings, for corpora that are too large to encode."""

    seed: int = 0
    fingerprint: str = "random"

    def encode(self, texts: Sequence[str], role: str) -> np.ndarray:
        """Random unit vectors, different for different texts."""
        return unit_vectors(len(texts), zlib.crc32(f"{role} {self.seed} {texts[0]}".encode()))
