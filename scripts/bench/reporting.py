"""Analysis and report of a sweep: every interval, test, chart and page, from the tables of its runs."""

from __future__ import annotations

import tempfile
import time
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

from bench.timing import Rows, Timing
from ragsweep.report import Origin, decision, terminal_table, write_sweep
from ragsweep.sweeps import Outcome, Sweep
from ragsweep.tasks.facts import facts_of

QUERIES = 133
METRICS = ("precision", "recall", "f1", "mrr", "hit_rate", "ndcg", "map")
GRIDS = {  # by the number of configurations: the values of alpha, of k and of the chunk size
    55: (11, 5, 1),
    1_000: (10, 10, 10),
}


def rows(rounds: int, *, quick: bool) -> Rows:
    """Seconds compared with an acceptable wait, for a sweep of usual size and, unless quick, for a large one."""
    for configurations, limit in ((55, 10.0),) if quick else ((55, 10.0), (1_000, 60.0)):
        repeated = rounds if configurations < 1_000 else 1
        seconds = [_seconds(configurations) for _ in range(repeated)]
        work = f"analysis and report of {configurations:,} configurations x {QUERIES} queries"
        yield Timing(work, f"a wait of {limit:.0f} s", 1, seconds, [limit] * repeated)


def _seconds(configurations: int) -> float:
    sweep = _sweep(configurations)
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        write_sweep(Path(folder), sweep, Origin("python run.py -m", "", "", "20260101_000000"))
        terminal_table(sweep)
        list(decision(sweep))
        return time.perf_counter() - start


def _sweep(configurations: int) -> Sweep:
    """A sweep with scores that differ little between runs and much between queries."""
    random = np.random.default_rng(0)
    alphas, ks, sizes = (np.arange(count) for count in GRIDS[configurations])
    hard = random.random(QUERIES)
    runs = []
    for alpha, k, size in product(alphas / len(alphas), (ks + 1).tolist(), (100 * (sizes + 1)).tolist()):
        values = np.clip(hard + random.normal(alpha * (1 - alpha), 0.2, (len(METRICS), QUERIES)), 0, 1).round(1)
        runs.append(_run({"retriever.alpha": float(alpha), "k": k, "chunker.size": size}, values))
    return Sweep(runs, {})


def _run(swept: dict[str, float], values: np.ndarray) -> Outcome:
    numbers = range(QUERIES)
    table = pd.DataFrame(
        {
            "query_id": [str(number) for number in numbers],
            "query": [f"What does page {number} say about anaemia in pregnancy and fever?" for number in numbers],
            "query_type": [("factual", "procedural", "diagnostic", "conceptual")[number % 4] for number in numbers],
            **dict(zip(METRICS, values, strict=True)),
            "retrieved": "manual.pdf#31; manual.pdf#14; manual.pdf#103",
            "relevant": "manual.pdf#31",
        }
    )
    settings = {name: str(value) for name, value in swept.items()}
    settings |= {"dataset.name": "synthetic", "evaluation.resamples": "10000", "seed": "0"}
    curve = np.linspace(0.3, 0.8, 20)
    measured = {
        "dataset": {"name": "synthetic", "digest": "0" * 64},
        "decided_by": "f1",
        "metrics": {name: {} for name in METRICS},
        "at_k": {"recall": curve.tolist()},
        "at_k_ci": {"recall": {"low": (curve - 0.05).tolist(), "high": (curve + 0.05).tolist()}},
    }
    name = " ".join(f"{setting.rpartition('.')[2]}={value}" for setting, value in swept.items())
    return Outcome(name, "", swept, settings, table, facts_of(measured))
