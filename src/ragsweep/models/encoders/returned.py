"""Checks what encoders return, before it is stored or searched."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ragsweep.core.errors import EncoderError
from ragsweep.models.encoders.encoder import Embeddings, Encoder
from ragsweep.models.encoders.similarity import by_dot
from ragsweep.store.code import kind_of

LENGTH_ERROR = 1e-3  # of the length of an embedding
LARGEST_NORM = 1e15  # length of an embedding: a score is a product of two


def check_embeddings(embeddings: object, encoder: Encoder, texts: Sequence[str]) -> Embeddings:
    """What an encoder returned for these texts.

    Raises:
        EncoderError: It is not an array of finite floats, or not [texts, dimensions], or a row's length is not 1 and
            the encoder does not say that its embeddings are compared by inner products.
    """
    name = kind_of(encoder)
    if not isinstance(embeddings, np.ndarray) or isinstance(embeddings, np.ma.MaskedArray):
        raise EncoderError(f"{name}: returned {type(embeddings).__name__}, expected an array of float32")
    if embeddings.dtype.kind != "f":
        raise EncoderError(f"{name}: returned an array of {embeddings.dtype}, expected float32")
    if embeddings.ndim != 2 or len(embeddings) != len(texts) or not embeddings.shape[1]:
        expected = f"[{len(texts)} texts, dimensions]"
        raise EncoderError(f"{name}: returned embeddings of shape {[*embeddings.shape]}, expected {expected}")
    with np.errstate(over="ignore"):
        lengths = np.linalg.norm(embeddings.astype(np.float64, copy=False), axis=1)
    any_length = by_dot(encoder)
    wrong = ~(lengths <= LARGEST_NORM if any_length else np.abs(lengths - 1) <= LENGTH_ERROR)  # also True for NaN
    if wrong.any():
        row = int(wrong.argmax())
        expected = f"at most {LARGEST_NORM:g}" if any_length else "1"
        raise EncoderError(
            f"{name}: the embedding of text {row} of {len(texts)} has length {lengths[row]:g}, expected {expected}"
        )
    return np.asarray(embeddings).astype(np.float32, copy=False)
