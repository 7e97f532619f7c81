"""Encoding compared with a plain `SentenceTransformer.encode`, and the quality of each precision."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np

from bench.timing import Rows, time_both
from ragsweep.core.errors import EncoderError
from ragsweep.core.hardware import fastest_device
from ragsweep.datasets import Dataset
from ragsweep.evaluation import judge, ndcg
from ragsweep.retrieval import DenseRetriever, Search, SentenceTransformerEncoder, rank
from ragsweep.store.stage_store import Store

SAMPLE_SEED = 0


def rows(dataset: Dataset, texts: int, store: Store, rounds: int, *, quick: bool) -> Rows:
    """Both precisions, as far as this machine supports them.

    Args:
        dataset: The dataset whose texts are encoded.
        texts: Number of texts to encode.
        store: Caches the embeddings for nDCG.
        rounds: Number of timed rounds.
        quick: Whether to leave out nDCG@10 of dense retrieval, which needs embeddings of the whole corpus.
    """
    from sentence_transformers import SentenceTransformer

    folder = str(SentenceTransformerEncoder().folder)
    model = SentenceTransformer(folder, device=fastest_device(), local_files_only=True)
    chosen = np.random.default_rng(SAMPLE_SEED).permutation(len(dataset.texts))[:texts]
    sample = [dataset.texts[row] for row in chosen]
    plain = partial(model.encode, sample, normalize_embeddings=True)
    expected = plain()
    fast = fastest_device() != "cpu" or "amx_bf16" in Path("/proc/cpuinfo").read_text(encoding="utf-8").split()
    precisions: tuple[Literal["fp32", "bf16"], ...] = ("fp32", "bf16")
    for precision in precisions:
        try:
            encoder = SentenceTransformerEncoder(precision=precision)
            cosine = (encoder.encode(sample, "passage") * expected).sum(axis=1).min()
        except EncoderError as error:  # the hardware does not support it
            print(error)
            continue
        note = f"minimum cosine with plain encode {cosine:.5f}"
        if not quick:
            note += f"; nDCG@10 {ndcg_at_10(dataset, DenseRetriever(encoder, store)):.5f}"
        yield time_both(
            f"encoding {texts} texts of {dataset.name}, MiniLM, {precision}",
            "plain encode, fp32",
            3 if fast and precision == "bf16" else None,
            partial(encoder.encode, sample, "passage"),
            plain,
            rounds=rounds,
            note=note,
        )


def ndcg_at_10(dataset: Dataset, retriever: DenseRetriever) -> float:
    """Mean nDCG@10 over queries."""
    ranking = rank(retriever, Search(dataset.texts, tuple(query.text for query in dataset.queries)), 100)
    qrels = dataset.qrels
    judged = judge(dataset.passage_units[ranking.passages], qrels.query, qrels.unit, qrels.grade)
    return float(ndcg(judged, 10).mean())
