"""The decision and the report of a sweep: every test, chart and page, from the tables of its runs."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bench.timing import Rows, Timing
from ragsweep.core.json_records import from_record
from ragsweep.report import Origin, summary, write_sweep
from ragsweep.statistics import compare_with_best
from ragsweep.sweeps import DecisionSettings, Outcome, Sweep, decide
from ragsweep.tasks.evaluation_record import Facts

QUERIES, TIMED, TOKENS = 133, 16, 120
METRICS = ("precision", "recall", "f1", "mrr", "hit_rate", "ndcg", "map")
SETTINGS = DecisionSettings("ndcg", gains=["recall"], costs=["context/tokens", "latency/mean_ms"])
AT_FIVE, AT_ONE = (1, 3, 5, 10, 20), (5,)  # cutoffs
Grid = tuple[int, int, Sequence[int]]  # number of values of alpha and of the chunk size, and the cutoffs
USUAL: Grid = (11, 1, AT_FIVE)
LARGE: Grid = (20, 10, AT_FIVE)
LARGE_AT_ONE: Grid = (40, 25, AT_ONE)  # all configurations are compared with each other


def rows(rounds: int, *, quick: bool) -> Rows:
    """Seconds compared with an acceptable wait, for a sweep of usual size and, unless quick, for large ones."""
    yield _comparison(rounds)
    yield _row(USUAL, 10.0, rounds)
    if not quick:
        yield _row(LARGE, 60.0, 1)
        yield _row(LARGE_AT_ONE, 60.0, 1)


def _comparison(rounds: int) -> Timing:
    scores = _sweep((20, 10, AT_ONE)).scores(SETTINGS.metric)
    seconds = []
    for _ in range(rounds):
        start = time.perf_counter()
        compare_with_best(scores)
        seconds.append(time.perf_counter() - start)
    work = f"{len(scores)} configurations x {QUERIES} queries compared with the best one"
    return Timing(work, "a wait of 3 s", 1, seconds, [3.0] * rounds)


def _row(grid: Grid, limit: float, rounds: int) -> Timing:
    alphas, sizes, cutoffs = grid
    at = "one cutoff" if len(cutoffs) == 1 else f"{len(cutoffs)} cutoffs"
    work = f"decision and report of {alphas * sizes * len(cutoffs):,} configurations at {at} x {QUERIES} queries"
    return Timing(work, f"a wait of {limit:.0f} s", 1, [_seconds(grid) for _ in range(rounds)], [limit] * rounds)


def _seconds(grid: Grid) -> float:
    sweep = _sweep(grid)
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        decision = decide(sweep)
        write_sweep(Path(folder), decision, Origin("python run.py -m", "", "", "20260101_000000"))
        list(summary(decision, verbose=True))
        return time.perf_counter() - start


def _sweep(grid: Grid) -> Sweep:
    """A sweep with scores that differ little between runs and much between queries."""
    alphas, sizes, cutoffs = grid
    random = np.random.default_rng(0)
    hard = random.random(QUERIES)
    runs = []
    for alpha, size, k in product(np.arange(alphas) / alphas, range(1, sizes + 1), cutoffs):
        mean = hard + alpha * (1 - alpha) + 0.01 * k
        scores = np.clip(random.normal(mean, 0.2, (len(METRICS), QUERIES)), 0, 1).round(1)
        tokens = k * np.round(random.normal(TOKENS + 10 * size, 10, QUERIES))
        latency = random.normal(20 + 5 * alpha, 1, TIMED)
        swept = {"retriever.alpha": float(alpha), "chunker.size": 100 * size, "k": k}
        runs.append(_run(swept, scores, tokens, latency))
    return Sweep(runs, {}, SETTINGS)


def _run(swept: Mapping[str, float], scores: np.ndarray, tokens: np.ndarray, latency: np.ndarray) -> Outcome:
    numbers = range(QUERIES)
    table = pd.DataFrame(
        {
            "query_id": [str(number) for number in numbers],
            "query": [f"What does page {number} say about anaemia in pregnancy and fever?" for number in numbers],
            "query_type": [("factual", "procedural", "diagnostic", "conceptual")[number % 4] for number in numbers],
            **dict(zip(METRICS, scores, strict=True)),
            "context/tokens": tokens,
            "retrieved": "manual.pdf#31; manual.pdf#14; manual.pdf#103",
            "relevant": "manual.pdf#31",
        }
    )
    settings = {name: str(value) for name, value in swept.items()}
    settings |= {"dataset.name": "synthetic", "evaluation.resamples": "10000", "seed": "0"}
    name = " ".join(f"{setting.rpartition('.')[2]}={value}" for setting, value in swept.items())
    return Outcome(name, "", swept, settings, table, from_record(Facts, json.dumps(_measured(tokens, latency))))


def _measured(tokens: np.ndarray, latency: np.ndarray) -> dict[str, Any]:
    """The contents of `results/evaluation.json`."""
    curve = np.linspace(0.3, 0.8, 20)
    bounds = {"lowest": 0.0, "highest": 1.0}
    of_tokens = {"value": tokens.mean(), "title": "Tokens", "unit": "tokens"}
    of_latency = {"value": latency.mean(), "title": "Latency", "unit": "ms", "sample": latency.tolist()}
    costs = {"context/tokens": of_tokens, "latency/mean_ms": of_latency}
    return {
        "dataset": {"name": "synthetic", "digest": "0" * 64},
        "decided_by": SETTINGS.metric,
        "metrics": dict.fromkeys(METRICS, bounds),
        "measures": {name: {**about, "higher_is_better": False} for name, about in costs.items()},
        "control": "",
        "cutoff": "k",
        "method": {},
        "sections": {},
        "at_k": {"recall": curve.tolist(), "context/tokens": (TOKENS * np.arange(1.0, 21)).tolist()},
        "at_k_ci": {"recall": {"low": (curve - 0.05).tolist(), "high": (curve + 0.05).tolist()}},
    }
