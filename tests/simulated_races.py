"""Races between retrievers whose relevance judgments are known."""

import numpy as np

LEVEL = 0.05


def made(seed, *, configurations=4, queries=25, documents=30, k=5, quality=None):
    """Weights of DCG@k, and grades, of retrievers that rank by a noisy score of relevance."""
    generator = np.random.default_rng(seed)
    quality = np.linspace(0.6, 1.2, configurations) if quality is None else quality
    weights = np.zeros((configurations, queries, documents))
    grades = (np.arange(documents) < generator.integers(1, 4, queries)[:, None]).astype(float)
    for configuration, good in enumerate(quality):
        shared = np.random.default_rng([seed, 1]).normal(size=grades.shape)
        scores = 2 * good * grades + 0.7 * shared + 0.7 * generator.normal(size=grades.shape)
        top = np.argsort(-scores, axis=1)[:, :k]
        np.put_along_axis(weights[configuration], top, 1 / np.log2(np.arange(k) + 2) / queries, axis=1)
    used = weights.any(axis=0)
    return weights[:, used], grades[used]


def unjudged(weights):
    return np.full(weights.shape[1], np.nan)


def run(race, grade_of, *, most=10**6):
    """Judge until one is left, or nothing is left to judge."""
    while race.running.sum() > 1 and race.learnt < most and not (race.margin and race.is_close_enough):
        draw = race.draw()
        if draw is None:
            break
        race.learn(draw, grade_of(draw.pair))
    return race
