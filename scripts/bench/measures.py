"""Judging and metrics compared with ranx and pytrec_eval."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from bench.timing import Rows, time_both
from ragsweep.evaluation import average_precision, f1, hit_rate, judge, mrr, ndcg, precision, recall

K = 10
DEPTH = 100
UNITS = 100_000
METRICS = {
    "precision": precision,
    "recall": recall,
    "f1": f1,
    "mrr": mrr,
    "hit_rate": hit_rate,
    "ndcg": ndcg,
    "map": average_precision,
}
RANX = [f"{name}@{K}" for name in METRICS]
TREC_EVAL = {  # names in trec_eval; it has no F1, and its recip_rank has no cutoff
    "precision": f"P_{K}",
    "recall": f"recall_{K}",
    "hit_rate": f"success_{K}",
    "ndcg": f"ndcg_cut_{K}",
    "map": f"map_cut_{K}",
}


def rows(queries: int, rounds: int) -> Rows:
    """Seven metrics of many rankings, from arrays and from the prepared objects of each peer."""
    import pytrec_eval
    import ranx

    random = np.random.default_rng(0)
    units = np.argsort(random.random((queries, 4 * DEPTH)), axis=1)[:, :DEPTH] + UNITS // 4 * random.integers(
        0, 4, (queries, 1)
    )
    scores = -np.sort(-random.random((queries, DEPTH)), axis=1)
    query = np.repeat(np.arange(queries), 5)
    unit = np.column_stack([units[:, [0, 7, 40]], units[:, [1, 2]] + 4 * DEPTH]).ravel()  # 2 of 5 are not retrieved
    grade = random.integers(1, 4, len(query))

    def ours() -> dict[str, Any]:
        judged = judge(units, query, unit, grade)
        return {name: metric(judged, K) for name, metric in METRICS.items()}

    def dicts() -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
        qrels: dict[str, dict[str, int]] = {}
        for row, name, value in zip(query.tolist(), unit.tolist(), grade.tolist(), strict=True):
            qrels.setdefault(f"{row:09d}", {})[str(name)] = value
        run = {
            f"{row:09d}": dict(zip(map(str, names), values, strict=True))
            for row, (names, values) in enumerate(zip(units.tolist(), scores.tolist(), strict=True))
        }
        return qrels, run

    qrels, run = dicts()
    prepared = (ranx.Qrels.from_dict(qrels), ranx.Run.from_dict(run))
    evaluate = partial(ranx.evaluate, *prepared, RANX, return_mean=False)
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, {*TREC_EVAL.values(), "recip_rank"})
    values = ours()
    for name, expected in evaluate().items():
        np.testing.assert_allclose(values[name.partition("@")[0]], expected, rtol=0, atol=1e-12)
    evaluated = evaluator.evaluate(run)
    for name, theirs in TREC_EVAL.items():
        expected = [evaluated[row][theirs] for row in sorted(evaluated)]
        np.testing.assert_allclose(values[name], expected, rtol=0, atol=1e-12)

    def from_arrays() -> None:
        qrels, run = dicts()
        pytrec_eval.RelevanceEvaluator(qrels, {*TREC_EVAL.values(), "recip_rank"}).evaluate(run)

    work = f"seven metrics at {K}, {queries:,} queries x {DEPTH}"
    alone = "ours from arrays, theirs on their own prepared objects; values equal to 1e-12"
    yield time_both(f"{work}, evaluation alone", "ranx", 10, ours, evaluate, rounds=rounds, note=alone)
    yield time_both(
        f"{work}, evaluation alone", "pytrec_eval", 10, ours, lambda: evaluator.evaluate(run), rounds=rounds, note=alone
    )
    yield time_both(f"{work}, from arrays", "pytrec_eval", 10, ours, from_arrays, rounds=rounds)
