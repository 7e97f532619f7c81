"""Static embeddings: a text is the mean of its tokens' vectors, which are looked up, not computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Literal

import numpy as np

from ragsweep.core.digest import digest, version
from ragsweep.core.errors import EncoderError, first_line
from ragsweep.models.encoders.encoder import Embeddings, Reducible, Role
from ragsweep.models.encoders.model_files import WORDLLAMA, digest_of_file, wordllama_file
from ragsweep.models.encoders.tokenizer import file_of, opened

STATIC_WEIGHTS = "weights/l2_supercat_256.safetensors"
UNKNOWN = 0  # the id of the token <unk>


@dataclass(frozen=True)
class WordLlamaEncoder(Reducible):
    """The 256-dimensional embeddings in the package `wordllama` (Miller 2024, github.com/dleemiller/WordLlama).

    Equal to its `embed(norm=True)`, and computed text by text, so that an embedding does not depend on the texts beside
    it. Only the files of the package are used: its own code looks for the tokenizer in another folder than it is in,
    and then downloads one. A text is read to its end. A text without tokens has the vector of the unknown token.

    Attributes:
        model: The package; its tokenizer is also the one with which chunkers and costs count.
    """

    model: Literal["wordllama"] = WORDLLAMA

    def __post_init__(self) -> None:
        wordllama_file(STATIC_WEIGHTS)  # refuses a missing package now, before anything runs

    @property
    def tokenizer_file(self) -> Path:
        """The tokenizer of the package."""
        return file_of(self.model)

    @cached_property
    def fingerprint(self) -> str:
        """Digest over the weights and the tokenizer."""
        files = [digest_of_file(wordllama_file(STATIC_WEIGHTS)), digest_of_file(self.tokenizer_file)]
        return digest([files, version("tokenizers")])

    def encode(self, texts: Sequence[str], role: Role) -> Embeddings:
        """Embeddings of length 1, shape [texts, 256]; the same for both roles."""
        vectors = _vectors(wordllama_file(STATIC_WEIGHTS))
        spaced = [text.replace("\f", " ") for text in texts]  # a page break is no word
        encodings = opened(self.tokenizer_file).encode_batch(spaced, add_special_tokens=False)
        means = np.array([vectors[encoding.ids or [UNKNOWN]].mean(axis=0) for encoding in encodings])
        normalised: Embeddings = means / np.linalg.norm(means, axis=1, keepdims=True)
        return normalised


@cache
def _vectors(file: Path) -> Embeddings:
    """The vector of every token, shape [tokens, 256]."""
    from safetensors.numpy import load_file

    try:
        return load_file(file)["embedding.weight"].astype(np.float32)
    except Exception as error:  # the library raises nothing more precise
        raise EncoderError(f"{file}: cannot be read ({first_line(error)})") from error
