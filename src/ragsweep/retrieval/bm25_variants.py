"""What a term weighs in a passage: BM25 as rank_bm25 has it, and as Lucene has it (Kamphuis et al., ECIR 2020).

`df` is the number of passages with a term, `tf` how often a passage has the term.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log

import numpy as np
import numpy.typing as npt
from rank_bm25 import BM25Okapi

from ragsweep.core.arrays import Scores
from ragsweep.retrieval.term_counts import TermCounts

Saturation = Callable[[npt.NDArray[np.int32], npt.NDArray[np.int64]], Scores]


@dataclass(frozen=True)
class Weighting:
    """What decides the weight of a term in a passage: `idf * saturation`.

    Attributes:
        idf: How telling each term is, shape [terms].
        saturation: What frequency and length of passage make of it, for arrays of postings.
    """

    idf: Scores
    saturation: Saturation


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


def lucene_weighting(counts: TermCounts, k1: float, b: float) -> Weighting:
    """The variant `lucene` of bm25s."""
    containing, term = np.unique(np.diff(counts.start), return_inverse=True)
    passages, mean_length = len(counts.length), counts.length.mean()
    idf = np.array([log(1 + (passages - df + 0.5) / (df + 0.5)) for df in containing.tolist()])

    def saturation(tf: npt.NDArray[np.int32], length: npt.NDArray[np.int64]) -> Scores:
        scores: Scores = tf / (k1 * (1 - b + b * length / mean_length) + tf)
        return scores

    return Weighting(idf[term], saturation)
