"""How embeddings are compared: by their cosine, or by their inner product as they are."""

from __future__ import annotations

from typing import Literal, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from ragsweep.core.capability import Capability, offered_with

Similarity = Literal["cosine", "dot"]
SIMILARITIES: tuple[Similarity, ...] = ("cosine", "dot")


@offered_with("encode")
@runtime_checkable
class KnowsSimilarity(Capability, Protocol):
    """An encoder that says how its embeddings are compared; those of other encoders have length 1."""

    @property
    def similarity(self) -> Similarity | None:
        """`dot` if the embeddings are not of length 1."""
        ...


def by_dot(encoder: object) -> bool:
    """Whether embeddings are compared by inner products as they are, without being of length 1."""
    return isinstance(encoder, KnowsSimilarity) and encoder.similarity == "dot"


def name_of_similarity(encoder: object) -> str:
    """For formulas."""
    return "inner product" if by_dot(encoder) else "cosine"


def of_length_1(embeddings: npt.NDArray[np.float32], encoder: object) -> npt.NDArray[np.float32]:
    """The embeddings of length 1, for what needs cosines whatever the encoder; zeros stay zeros."""
    if not by_dot(encoder):
        return embeddings
    normalised: npt.NDArray[np.float32] = embeddings / np.linalg.norm(embeddings, axis=1, keepdims=True).clip(1e-12)
    return normalised
