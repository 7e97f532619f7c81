"""What an encoder may offer besides `encode` and its fingerprint."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from ragsweep.core.capability import Capability, offered_with


@offered_with("encode")
@runtime_checkable
class EncodesInPieces(Capability, Protocol):
    """An encoder that says after how many texts embeddings are kept, so that a killed process loses no more."""

    piece: int  # how many texts


@offered_with("encode", "rank", "rerank")
@runtime_checkable
class KnowsWindow(Capability, Protocol):
    """A component of a model that reads the beginning of a text only."""

    model: str  # the name of the model

    window: int | None  # how much is read, with the prompt and special tokens; all of it, or not known, if None

    window_unit: str  # of `window`: tokens, or characters
