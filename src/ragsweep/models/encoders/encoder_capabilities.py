"""What an encoder may offer besides `encode` and its fingerprint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from ragsweep.core.capability import Capability, offered_with
from ragsweep.models.encoders.encoder import Role


@offered_with("encode")
@runtime_checkable
class EncodesInPieces(Capability, Protocol):
    """An encoder that says after how many texts embeddings are kept, so that a killed process loses no more."""

    piece: int  # how many texts


@offered_with("encode")
@runtime_checkable
class AnnouncesTexts(Capability, Protocol):
    """An encoder that says what it is going to encode, for example what that costs."""

    def announce(self, texts: Sequence[str], role: Role, *, to_time: bool = False) -> None:
        """Print what encoding these texts will cost; `to_time`: one at a time, to measure how long that takes."""


@offered_with("encode", "rank", "rerank")
@runtime_checkable
class KnowsWindow(Capability, Protocol):
    """A component of a model that reads the beginning of a text only."""

    model: str  # the name of the model

    window: int | None  # how much is read, with the prompt and special tokens; all of it, or not known, if None

    window_unit: str  # of `window`: tokens, or characters
