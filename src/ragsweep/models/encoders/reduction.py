"""The setting by which embeddings have fewer dimensions in the search than an encoder gives them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from ragsweep.core.errors import EncoderError
from ragsweep.core.limits import Between
from ragsweep.models.encoders.similarity import by_dot

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Reducible:
    """An encoder whose embeddings can be shortened; let your own inherit from it.

    Embeddings are kept in full, so that a sweep over this setting encodes every text once.

    Attributes:
        dimensions: How many of the first dimensions are kept, of length 1 again for cosines: for models that were
            trained for this (Matryoshka representation learning, Kusupati et al. 2022, arXiv:2205.13147). None keeps
            all.
    """

    beside_fingerprint: ClassVar[tuple[str, ...]] = ("dimensions",)

    dimensions: Annotated[int, Between(1)] | None = None


def unreduced(encoder: T) -> T:
    """The encoder, its embeddings in all dimensions."""
    return replace(encoder, dimensions=None) if isinstance(encoder, Reducible) else encoder


def shortened(embeddings: npt.NDArray[np.float32], encoder: object) -> npt.NDArray[np.float32]:
    """The dimensions of the embeddings that the encoder's settings ask for, of length 1 again for cosines.

    Where all of these are 0, they stay 0. Raises `EncoderError` if there are not that many.
    """
    there_are = embeddings.shape[1]
    wanted = encoder.dimensions if isinstance(encoder, Reducible) else None
    if wanted in (None, there_are):
        return embeddings
    if wanted > there_are:
        raise EncoderError(f"encoder.dimensions: found {wanted}, expected at most the model's {there_are}")
    first = embeddings[:, :wanted]
    if by_dot(encoder):
        return first
    shortened: npt.NDArray[np.float32] = first / np.linalg.norm(first, axis=1, keepdims=True).clip(min=1e-12)
    return shortened
