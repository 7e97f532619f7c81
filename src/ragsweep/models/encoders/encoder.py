"""The base of encoders: texts in, embeddings out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from ragsweep.core.errors import EncoderError
from ragsweep.core.limits import Between
from ragsweep.core.timing import MOST_TIMED
from ragsweep.store.component import Component

Embeddings = npt.NDArray[np.float32]
Role = Literal["query", "passage"]
Similarity = Literal["cosine", "dot"]

ENCODED_AT_ONCE = 2048  # texts that are encoded before they are kept: what a killed process can lose


class TextModel(Component):
    """Base of components whose model may read no more than the beginning of a text.

    Attributes:
        model: Its name, for reports.
        window_unit: Of `window`: tokens, or characters.
        reads_pairs: Whether the model reads a query and a passage together.
    """

    model: str = ""
    window_unit = "tokens"
    reads_pairs = False

    @property
    def window(self) -> int | None:
        """How much of a text is read, with the prompt and special tokens; None if all of it, or if not known."""
        return None

    @property
    def tokenizer_file(self) -> Path | None:
        """The model's tokenizer, as the library `tokenizers` saves it; None if it has no such file on this machine."""
        return None

    def prompt(self, role: Role) -> str:
        """The prompt that precedes each text of a role."""
        return ""


class Encoder(TextModel, ABC):
    """A way to embed texts; write your own as one class with `encode` and `fingerprint`.

    The embedding of a text must not depend on the texts beside it: when a corpus grows, only what is new is encoded.
    The `fingerprint` is a text that changes whenever the embeddings would: stored embeddings are found by it, and by
    the code of the class.

    Attributes:
        similarity: By which embeddings are compared: `dot` if they are not of length 1.
        most_timed: How many queries are encoded again, one at a time, to learn how long that takes.
    """

    similarity: Similarity | None = None
    most_timed: ClassVar[int] = MOST_TIMED

    @abstractmethod
    def encode(self, texts: Sequence[str], role: Role) -> Embeddings:
        """Embeddings, shape [texts, dimensions], of length 1 unless the `similarity` is `dot`; `role` says of what."""

    @property
    def piece(self) -> int:
        """How many texts are encoded before they are kept."""
        return ENCODED_AT_ONCE

    @property
    def unreduced(self) -> Encoder:
        """The encoder whose embeddings are kept; `reduce` makes of them those that are searched."""
        return self

    def reduce(self, embeddings: Embeddings) -> Embeddings:
        """The embeddings that are searched, made from those of `unreduced`."""
        return embeddings

    def for_role(self, role: Role) -> Encoder:
        """The encoder without what changes nothing that is encoded for a role."""
        return self

    def of_length_1(self, embeddings: Embeddings) -> Embeddings:
        """The embeddings with length 1, for cosines whatever the similarity is; zeros stay zeros."""
        return normalised(embeddings) if self.similarity == "dot" else embeddings


@dataclass(frozen=True, kw_only=True)
class Reducible(Encoder):
    """An encoder whose embeddings can be shortened; let your own inherit from it.

    Embeddings are kept in full, so that a sweep over this setting encodes every text once.

    Attributes:
        dimensions: How many of the first dimensions are kept, of length 1 again for cosines: for models that were
            trained for this (Matryoshka representation learning, Kusupati et al. 2022, arXiv:2205.13147). None keeps
            all.
    """

    beside_fingerprint = ("dimensions",)

    dimensions: Annotated[int, Between(1)] | None = None

    @property
    def unreduced(self) -> Encoder:
        """The encoder, its embeddings in all dimensions."""
        return replace(self, dimensions=None)

    def reduce(self, embeddings: Embeddings) -> Embeddings:
        """The first dimensions. Raises `EncoderError` if there are not that many."""
        there_are = embeddings.shape[1]
        if self.dimensions in (None, there_are):
            return embeddings
        if self.dimensions > there_are:
            raise EncoderError(f"encoder.dimensions: found {self.dimensions}, expected at most the model's {there_are}")
        first = embeddings[:, : self.dimensions]
        return first if self.similarity == "dot" else normalised(first)


def normalised(embeddings: Embeddings) -> Embeddings:
    """Embeddings of length 1; zeros stay zeros."""
    lengths = np.linalg.norm(embeddings, axis=1, keepdims=True)
    return embeddings / lengths.clip(min=1e-12)  # type: ignore[no-any-return]
