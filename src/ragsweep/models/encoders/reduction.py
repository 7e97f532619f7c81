"""Settings by which embeddings take fewer bytes in the search than an encoder gives them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from ragsweep.core.errors import EncoderError
from ragsweep.core.limits import Between
from ragsweep.models.encoders.similarity import by_dot

Quantization = Literal["int8", "binary"]
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Reducible:
    """An encoder whose embeddings can be shortened and quantised; let your own inherit from it.

    Embeddings are kept in full, so that a sweep over these settings encodes every text once.

    Attributes:
        dimensions: How many of the first dimensions are kept, of length 1 again for cosines: for models that were
            trained for this (Matryoshka representation learning, Kusupati et al. 2022, arXiv:2205.13147). None keeps
            all.
        quantize: How dense retrieval keeps the passages: `int8` has a byte a dimension, `binary` a bit. None keeps
            four bytes.
        rescore: Whether the best passages by their codes are ranked again by their embeddings in full.
        oversample: How many passages are ranked again, as a multiple of those asked for.
    """

    beside_fingerprint: ClassVar[tuple[str, ...]] = ("dimensions", "quantize", "rescore", "oversample")

    dimensions: Annotated[int, Between(1)] | None = None
    quantize: Quantization | None = None
    rescore: bool = True
    oversample: Annotated[int, Between(1, 1000)] = 4

    def __post_init__(self) -> None:
        if self.quantize == "binary" and by_dot(self):
            found = "found 'binary', which keeps no lengths of embeddings, but encoder.similarity=dot compares them"
            raise EncoderError(f"encoder.quantize: {found}; expected int8 or null")

    @property
    def without_effect(self) -> tuple[str, ...]:
        """Settings that have no effect, because nothing is quantised or ranked again."""
        if self.quantize is None:
            return ("rescore", "oversample")
        return () if self.rescore else ("oversample",)


def unquantized(encoder: T) -> T:
    """The encoder, its embeddings in four bytes a dimension."""
    return replace(encoder, quantize=None) if isinstance(encoder, Reducible) else encoder


def unreduced(encoder: T) -> T:
    """The encoder, its embeddings in four bytes a dimension and in all dimensions."""
    return replace(encoder, dimensions=None, quantize=None) if isinstance(encoder, Reducible) else encoder


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
