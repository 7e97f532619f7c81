"""Searches embeddings that take a byte or a bit per dimension, and ranks the best again by their full embeddings."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
import numpy.typing as npt

from ragsweep.core.limits import Between
from ragsweep.core.progress import advance
from ragsweep.models.encoders.encoder import Embeddings
from ragsweep.models.encoders.reduction import Quantization
from ragsweep.retrieval.indexes.exact import SCORED_AT_ONCE, ExactSearch, canonical_scores
from ragsweep.retrieval.indexes.index import Keep, Nearest
from ragsweep.retrieval.ranking import Ranking, ranked
from ragsweep.store.code import code_of
from ragsweep.store.stage_store import Arrays

LEVELS = 256  # of a byte
WORD = 8  # bytes of the numbers that are compared at once


@dataclass(frozen=True)
class QuantizedIndex:
    """Compares every query with the code of every passage, then with the embeddings of the best of them.

    The codes are those of `sentence_transformers.quantize_embeddings`. `int8` divides the range of each dimension among
    the passages into 256 levels, and the inner product is that of the query as it is and the middle of the levels.
    `binary` keeps the signs of both, and the score is the cosine of the signs.

    Rescoring is that of Qdrant: `oversample` times as many passages as are asked for are found by their codes and
    ranked by the inner products of their embeddings, which may stay on the disk. `semantic_search_faiss` of
    sentence-transformers ranks them by the query and their codes instead.

    Attributes:
        quantize: `int8` or `binary`.
        rescore: Whether the best passages are ranked by their embeddings.
        oversample: How many passages are ranked by their embeddings, as a multiple of those asked for.
    """

    quantize: Quantization
    rescore: bool = True
    oversample: Annotated[int, Between(1, 1000)] = 4

    @property
    def chooses_by_depth(self) -> bool:
        """Whether codes choose what embeddings order."""
        return self.rescore

    def open(self, passages: Embeddings, keep: Keep) -> Nearest:
        """Make the codes, or take the stored ones.

        The rankings have as `index_bytes` the bytes of all codes, and of the embeddings that are read for a query.
        """
        encode, search = (_bytes, _by_bytes) if self.quantize == "int8" else (_bits, _by_bits)
        codes = keep([code_of(self), self.quantize], lambda: encode(passages))
        nbytes = sum(array.nbytes for array in codes.values())

        def find(queries: Embeddings, depth: int) -> Ranking:
            if not self.rescore:
                return replace(search(codes, queries, depth), index_bytes=np.array([nbytes]))
            found = search(codes, queries, depth * self.oversample).passages
            ranking = ranked(found, canonical_scores(queries, passages, found), depth)
            return replace(ranking, index_bytes=np.array([nbytes + passages[: found.shape[1]].nbytes]))

        return find


def _bytes(passages: Embeddings) -> Arrays:
    lowest, highest = passages.min(axis=0), passages.max(axis=0)
    step = (highest - lowest) / np.float32(LEVELS - 1)
    step[step == 0] = 1
    codes = np.empty(passages.shape, np.int8)
    for start in range(0, len(passages), SCORED_AT_ONCE):
        some = slice(start, start + SCORED_AT_ONCE)
        codes[some] = np.floor((passages[some] - lowest) / step).clip(0, LEVELS - 1) - LEVELS // 2
    return {"codes": codes, "lowest": lowest, "step": step}


def _by_bytes(codes: Arrays, queries: Embeddings, depth: int) -> Ranking:
    """The largest inner products with `lowest + (code + 128.5) * step`."""
    found = ExactSearch(codes["codes"])(queries * codes["step"], depth)
    middle = codes["lowest"] + (LEVELS // 2 + 0.5) * codes["step"].astype(np.float64)
    return replace(found, scores=found.scores + (queries * middle).sum(axis=1, keepdims=True))


def _bits(passages: Embeddings) -> Arrays:
    return {"codes": _signs(passages), "dimensions": np.array([passages.shape[1]])}


def _by_bits(codes: Arrays, queries: Embeddings, depth: int) -> Ranking:
    """The largest cosines of the signs; equal ones in corpus order."""
    found, differing = [], []
    for signs in _signs(queries):
        bits = np.bitwise_count(codes["codes"] ^ signs).sum(axis=1, dtype=np.uint16)
        best = np.argsort(bits, kind="stable")[:depth]
        found.append(best)
        differing.append(bits[best])
        advance(1)
    return Ranking(np.array(found), 1 - 2 * np.array(differing) / codes["dimensions"])


def _signs(embeddings: Embeddings) -> npt.NDArray[np.uint64]:
    """A bit a dimension, which is set where the number is positive, shape [embeddings, words]."""
    packed = np.packbits(embeddings > 0, axis=1)
    return np.pad(packed, ((0, 0), (0, -packed.shape[1] % WORD))).view(np.uint64)
