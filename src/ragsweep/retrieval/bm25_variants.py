"""What a term weighs in a passage: BM25 as rank_bm25 has it, and the variants of Kamphuis et al. (ECIR 2020).

Names and formulas of the variants are those of bm25s (Lù, 2024): `df` is the number of passages with a term, `n` that
of all of them, `tf` how often a passage has the term, and `norm` is `1 - b + b * length / mean length`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from rank_bm25 import BM25Okapi

from ragsweep.core.arrays import Scores
from ragsweep.retrieval.term_counts import TermCounts

Variant = Literal["lucene", "robertson", "atire", "bm25l", "bm25+"]
Saturation = Callable[[npt.NDArray[np.int32], npt.NDArray[np.int64]], Scores]

WITH_DELTA = ("bm25l", "bm25+")

IDF: dict[Variant, Callable[[int, int], float]] = {
    "lucene": lambda df, n: log(1 + (n - df + 0.5) / (df + 0.5)),
    "robertson": lambda df, n: max(0.0, log((n - df + 0.5) / (df + 0.5))),
    "atire": lambda df, n: log(n / df),
    "bm25l": lambda df, n: log((n + 1) / (df + 0.5)),
    "bm25+": lambda df, n: log((n + 1) / df),
}


@dataclass(frozen=True)
class Weighting:
    """What decides the weight of a term in a passage: `idf * (saturation - absent)`.

    Attributes:
        idf: How telling each term is, shape [terms].
        saturation: What frequency and length of passage make of it, for arrays of postings.
        absent: What a term adds to a passage without it, as a share of its IDF.
    """

    idf: Scores
    saturation: Saturation
    absent: float = 0.0


class _Counted(BM25Okapi):  # type: ignore[misc]  # comes without types
    """The library's class, which is told the counts instead of counting."""

    def __init__(self, containing: list[int], passages: int, epsilon: float) -> None:
        self.idf: dict[int, float] = {}
        self.epsilon, self.corpus_size = epsilon, passages
        self._calc_idf(dict(enumerate(containing)))


def rank_bm25_weighting(counts: TermCounts, k1: float, b: float, epsilon: float) -> Weighting:
    """`rank_bm25.BM25Okapi`: a term in more than half of the passages gets `epsilon` of the mean IDF."""
    idf = _Counted(np.diff(counts.start).tolist(), len(counts.length), epsilon).idf
    mean_length = counts.length.mean()

    def saturation(tf: npt.NDArray[np.int32], length: npt.NDArray[np.int64]) -> Scores:
        scores: Scores = tf * (k1 + 1) / (tf + k1 * (1 - b + b * length / mean_length))
        return scores

    return Weighting(np.fromiter(idf.values(), np.float64), saturation)


def variant_weighting(counts: TermCounts, k1: float, b: float, variant: Variant, delta: float) -> Weighting:
    """The weights of a variant."""
    containing, term = np.unique(np.diff(counts.start), return_inverse=True)
    idf = np.array([IDF[variant](df, len(counts.length)) for df in containing.tolist()])
    mean_length = counts.length.mean()

    def saturation(tf: Any, length: Any) -> Scores:
        norm = 1 - b + b * length / mean_length
        scores: Scores = tf / (k1 * norm + tf)
        if variant == "bm25l":
            scores = (k1 + 1) * (tf / norm + delta) / (k1 + tf / norm + delta)
        elif variant in ("atire", "bm25+"):
            scores = (k1 + 1) * tf / (tf + k1 * norm) + (delta if variant == "bm25+" else 0)
        return scores

    return Weighting(idf[term], saturation, float(saturation(0, mean_length)) if variant in WITH_DELTA else 0.0)
