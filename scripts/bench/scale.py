"""Time and memory of hybrid retrieval by corpus size: `python -m bench.scale PASSAGES QUERIES`."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TypedDict

import numpy as np

WORDS = 50_000
PASSAGE_WORDS, QUERY_WORDS = 60, 8


class Cost(TypedDict):
    """Time and memory for one corpus, in seconds and megabytes."""

    passages: int
    queries: int
    dense_s: float
    sparse_s: float
    fusion_s: float
    measuring_s: float
    text_mb: float
    peak_mb: float


def measure(passages: int, queries: int) -> Cost:
    """The cost, measured in a new process so that its peak memory is separate."""
    command = [sys.executable, "-m", "bench.scale", str(passages), str(queries)]
    place = str(Path(__file__).resolve().parents[1])
    done = subprocess.run(command, cwd=place, env={**os.environ, "PYTHONPATH": place}, capture_output=True, check=True)
    cost: Cost = json.loads(done.stdout)
    return cost


def texts(count: int, words: int, seed: int) -> tuple[str, ...]:
    """Random texts with word frequencies like those of a natural language (Zipf)."""
    random = np.random.default_rng(seed)
    share = 1 / np.arange(1, WORDS + 1)
    drawn = np.searchsorted(np.cumsum(share / share.sum()), random.random((count, words)), side="left")
    return tuple(" ".join(f"w{word}" for word in row) for row in drawn.clip(max=WORDS - 1).tolist())


def main(passages: int, queries: int) -> Cost:
    """Retrieve and measure with a store on disk, like a run."""
    from bench.measures import METRICS
    from bench.retrieval import DEPTH, RandomEncoder
    from ragsweep.evaluation import evaluate, judge
    from ragsweep.retrieval import DenseRetriever, HybridRetriever, Search, SparseRetriever, rank
    from ragsweep.store.stage_store import Store

    search = Search(texts(passages, PASSAGE_WORDS, 0), texts(queries, QUERY_WORDS, 1))
    text_mb = peak_mb()
    with tempfile.TemporaryDirectory() as folder:
        store = Store(folder)
        dense, sparse = DenseRetriever(RandomEncoder(), store), SparseRetriever(store)
        times = [time.perf_counter()]
        rank(dense, search, DEPTH)
        times.append(time.perf_counter())
        rank(sparse, search, DEPTH)
        times.append(time.perf_counter())
        ranking = HybridRetriever(dense, sparse, 0.5).rank(search, DEPTH)
        times.append(time.perf_counter())
        query = np.repeat(np.arange(queries), 2)
        judged = judge(ranking.passages, query, ranking.passages[:, [1, 20]].ravel(), np.ones_like(query))
        evaluate(judged, METRICS, 10, (None,) * queries)
        times.append(time.perf_counter())
    dense_s, sparse_s, fusion_s, measuring_s = np.diff(times).tolist()
    return Cost(
        passages=passages,
        queries=queries,
        dense_s=dense_s,
        sparse_s=sparse_s,
        fusion_s=fusion_s,
        measuring_s=measuring_s,
        text_mb=text_mb,
        peak_mb=peak_mb(),
    )


def peak_mb() -> float:
    """Peak memory of this process. `getrusage` would include the memory of the process that started it."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(re.findall(r"VmHWM:\s+(\d+)", status)[0]) / 1000


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]), int(sys.argv[2]))))
