"""What somebody else has put into a database: passages with vectors of any length, and an exact search over them."""

from __future__ import annotations

import numpy as np
import small
from letters import LetterEncoder

QUERIES = tuple(query for query, _, _ in small.QUERIES)
PASSAGES = [(source, at, text) for source, texts in small.PAGES.items() for at, text in enumerate(texts) if text]
DEPTH = 5


def ids():
    return [f"{source}/{at}" for source, at, _ in PASSAGES]


def texts():
    return [text for _, _, text in PASSAGES]


def metadatas():
    """As LangChain's loaders of PDFs write them: a path, and pages from 0."""
    return [{"source": f"/docs/{source}", "page": at} for source, at, _ in PASSAGES]


def vectors():
    """Those of the letters, some of them longer: each distance has an order of its own."""
    lengths = np.linspace(0.6, 1.8, len(PASSAGES))[::-1, None]
    return (LetterEncoder().encode(texts(), "passage") * lengths).astype(np.float32)


def nearest(query, distance):
    """The ids of all passages, nearest first, and their scores: higher is better."""
    [asked] = LetterEncoder().encode([query], "query").astype(np.float64)
    stored = vectors().astype(np.float64)
    products = stored @ asked
    scores = {
        "ip": products,
        "cosine": products / np.linalg.norm(stored, axis=1) / np.linalg.norm(asked),
        "l2": -np.linalg.norm(stored - asked, axis=1),
    }[distance]
    order = np.argsort(-scores, kind="stable")
    return [ids()[row] for row in order], scores[order]


def named(answers):
    """The ids of the results of each query."""
    return [[result.ids[0] for result in results] for results in answers.results]


def assert_nearest(answers, distance, depth=DEPTH):
    """The nearest passages, in order, with scores that fall, and everything that is known of them."""
    for query, results in zip(QUERIES, answers.results, strict=True):
        expected, scores = nearest(query, distance)
        assert [result.ids[0] for result in results] == expected[:depth]
        np.testing.assert_allclose([result.score for result in results], scores[:depth], rtol=1e-4)
        for result in results:
            source, at, text = PASSAGES[ids().index(result.ids[0])]
            assert (result.source, result.page, result.text) == (f"/docs/{source}", str(at), text)
