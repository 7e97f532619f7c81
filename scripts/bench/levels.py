"""How often each claim of a decision is wrong, on populations drawn from real scores: a table for docs/decision.md.

    python scripts/bench/levels.py outputs/SWEEP/summary/results/evaluation_results_*.csv

Every population makes every claim false, by as little as possible: the margin is the true loss, configurations that are
called worse are equally good, and the promised share is the true one. Then 5 % is the most that may be claimed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from itertools import permutations

import numpy as np
import pandas as pd

from ragsweep.statistics import LEVEL, certify, compare_with_best, shown_to_beat
from ragsweep.statistics.bounded_mean import p_above
from ragsweep.statistics.intervals import Array

SIZES = (15, 30, 100, 300)  # queries
SETS = 300  # of queries, drawn from each population
PAIRS = 40  # of configurations
PATTERNS = 499  # of signs
METRICS = ("ndcg", "map", "recall", "hit_rate")
LOSSES = (0.005, 0.1)  # smaller ones are hardly false claims, and larger ones are not margins
MARGIN, NEAR, WORSE = 0.05, 0.005, (0.03, 0.06)  # of the true claims, whose share is the power
Rates = Iterator[float]  # of each population
Claim = Callable[[np.random.Generator, list[Array], int], Rates]


def populations(path: str) -> list[Array]:
    """The scores of each metric at each cutoff, each of shape [configurations, queries]."""
    table = pd.read_csv(path)
    return [
        rows.pivot_table(metric, "name", "query_id", sort=False).to_numpy()
        for _, rows in table.groupby("k")
        for metric in METRICS
    ]


def smooth(rng: np.random.Generator, scores: Array) -> Array:
    """Normal scores with the means, deviations and correlations of real ones."""
    return rng.multivariate_normal(scores.mean(axis=1), np.cov(scores), 5_000, method="eigh").T


def equally_good(scores: Array) -> Array:
    """Weights of the queries, as even as possible, by which all configurations have the same mean, shape [queries]."""
    differences = (scores - scores[0])[1:]
    slope = np.zeros(len(differences))
    for _ in range(200):
        weights = np.exp(slope @ differences)
        weights /= weights.sum()
        mean = differences @ weights
        spread = (differences * weights) @ differences.T - np.outer(mean, mean)
        slope -= np.linalg.solve(spread + 1e-9 * np.eye(len(slope)), mean) * 0.5
    return weights if np.abs(mean).max() < 1e-6 else np.full(scores.shape[1], np.nan)


def score_pairs(rng: np.random.Generator, measured: list[Array], low: float, high: float) -> list[Array]:
    """Scores of two configurations whose means differ by something between the bounds, each of shape [2, queries]."""
    every = [scores[[a, b]] for scores in measured for a, b in permutations(range(len(scores)), 2)]
    some = [pair for pair in every if low <= (pair[0] - pair[1]).mean() <= high]
    return [some[place] for place in rng.permutation(len(some))[:PAIRS]]


def pairs(rng: np.random.Generator, measured: list[Array], low: float, high: float) -> list[Array]:
    """Their differences, each of shape [queries]."""
    return [one - other for one, other in score_pairs(rng, measured, low, high)]


def drawn(rng: np.random.Generator, values: Array, queries: int, weights: Array | None = None) -> Array:
    """Sets of queries, of shape [sets, ..., queries]."""
    rows = rng.choice(values.shape[-1], (SETS, queries), p=weights)
    return np.moveaxis(values[..., rows], -2, 0)


def not_worse(rng: np.random.Generator, measured: list[Array], queries: int) -> Rates:
    """False claims of `gate` and `decision.margin`: the margin is the true loss."""
    for values in pairs(rng, measured, -LOSSES[1], -LOSSES[0]):
        yield float((p_above(drawn(rng, values, queries), -values.mean(), 1.0) <= LEVEL).mean())


def not_worse_power(rng: np.random.Generator, measured: list[Array], queries: int) -> Rates:
    """True claims: the two differ by less than `NEAR`, and the margin is `MARGIN`."""
    for values in pairs(rng, measured, -NEAR, NEAR):
        yield float((p_above(drawn(rng, values, queries), MARGIN, 1.0) <= LEVEL).mean())


def _front(rng: np.random.Generator, some: list[Array], queries: int, margin: float | None) -> Rates:
    for values in some:  # the first is cheaper
        sets = drawn(rng, np.array([values, np.zeros_like(values)]), queries)
        by = -values.mean() if margin is None else margin
        shown = [shown_to_beat(scores, np.arange(2.0), margin=by, span=1.0, resamples=99)[1] for scores in sets]
        yield float(np.mean([excluded.any() for excluded in shown]))


def front(rng: np.random.Generator, measured: list[Array], queries: int) -> Rates:
    """The dearer one is better by the margin, and is left out of the front."""
    yield from _front(rng, pairs(rng, measured, -LOSSES[1], -LOSSES[0]), queries, None)


def front_power(rng: np.random.Generator, measured: list[Array], queries: int) -> Rates:
    """The dearer one is better by less than `NEAR`, and is left out of the front."""
    yield from _front(rng, pairs(rng, measured, -NEAR, NEAR), queries, MARGIN)


def worse_of_two(rng: np.random.Generator, measured: list[Array], queries: int) -> Rates:
    """One of two equally good configurations is called worse."""
    for both in score_pairs(rng, measured, -LOSSES[1], -LOSSES[0]):
        yield from worse(rng, [both], queries)


def worse(rng: np.random.Generator, measured: list[Array], queries: int) -> Rates:
    """Any of the configurations of a sweep, which are equally good, is called worse."""
    for scores in measured:
        distinct = scores[np.sort(np.unique(scores, axis=0, return_index=True)[1])]
        weights = equally_good(distinct)
        if np.isfinite(weights).all():
            sets = drawn(rng, distinct, queries, weights)
            yield float(np.mean([not compare_with_best(scores, resamples=PATTERNS).tied.all() for scores in sets]))


def worse_shifted(rng: np.random.Generator, measured: list[Array], queries: int) -> Rates:
    """One of two is called worse whose scores are shifted until few large losses outweigh all small gains."""
    for both in score_pairs(rng, measured, -LOSSES[1], -LOSSES[0]):
        sets = drawn(rng, both - both.mean(axis=1, keepdims=True), queries)
        yield float(np.mean([not compare_with_best(scores, resamples=PATTERNS).tied.all() for scores in sets]))


def worse_power(rng: np.random.Generator, measured: list[Array], queries: int) -> Rates:
    """The worse one of two is called worse; the true difference is within `WORSE`."""
    for both in score_pairs(rng, measured, -WORSE[1], -WORSE[0]):
        sets = drawn(rng, both, queries)
        yield float(np.mean([not compare_with_best(scores, resamples=PATTERNS).tied[0] for scores in sets]))


def certified(rng: np.random.Generator, measured: list[Array], queries: int, spare: float = 0.0) -> Rates:
    """The configuration with the most hits at the smaller cutoff is certified there, for the largest true share."""
    hits = [np.round(scores > 0).astype(float) for scores in measured[METRICS.index("hit_rate") :: len(METRICS)]]
    share = hits[0].mean(axis=1).max() - spare
    sets = drawn(rng, np.array(hits), queries).sum(axis=-1).astype(int)  # [sets, cutoffs, configurations]
    best = [counts[:, counts[0].argmax()].tolist() for counts in sets]
    number = len(hits[0])
    yield float(np.mean([certify(counts, queries, share, configurations=number).cutoff == 1 for counts in best]))


def certified_power(rng: np.random.Generator, measured: list[Array], queries: int) -> Rates:
    """The same for a share that is 0.1 below the true one."""
    yield from certified(rng, measured, queries, 0.1)


CLAIMS: dict[str, Claim] = {
    "not worse by the margin": not_worse,
    "power": not_worse_power,
    "left out of a front with a margin": front,
    "power ": front_power,
    "worse, of two": worse_of_two,
    "power  ": worse_power,
    "worse, of two, shifted": worse_shifted,
    "worse, of all": worse,
    "certified k": certified,
    "power   ": certified_power,
}


def main() -> None:
    """Print a table for each file."""
    for path in sys.argv[1:]:
        real, rng = populations(path), np.random.default_rng(0)
        for kind, measured in (("real", real), ("smooth", [smooth(rng, scores) for scores in real])):
            print(f"\n{path}: {kind}, largest (mean)\n\n| claim | {' | '.join(map(str, SIZES))} |")
            print(f"|---|{'---:|' * len(SIZES)}")
            for name, claim in CLAIMS.items():
                if kind == "smooth" and claim in (certified, certified_power):
                    continue
                rates = [[*claim(np.random.default_rng(queries), measured, queries)] for queries in SIZES]
                cells = [f"{max(shares):.1%} ({np.mean(shares):.1%})" if shares else "-" for shares in rates]
                print(f"| {name.strip()} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
