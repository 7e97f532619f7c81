"""Sentence encoders: texts in, embeddings out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from ragsweep.core.capability import Capability
from ragsweep.core.digest import digest, version
from ragsweep.core.errors import EncoderError
from ragsweep.core.hardware import cpu_has_bf16
from ragsweep.core.limits import Text
from ragsweep.core.progress import progress
from ragsweep.models.encoders.backends import PRECISIONS, Backend, Precision, packages, run_in
from ragsweep.models.encoders.model_files import MINILM, digest_of_model, prompts_of, similarity_of
from ragsweep.models.encoders.model_running import LIBRARIES, loaded
from ragsweep.models.encoders.prompts import Prompted
from ragsweep.models.encoders.reduction import Reducible
from ragsweep.models.encoders.similarity import Similarity, by_dot
from ragsweep.models.encoders.torch_model import TorchModel
from ragsweep.store.stage_store import NO_STORE, Store

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

Embeddings = npt.NDArray[np.float32]
Role = Literal["query", "passage"]


@runtime_checkable
class Encoder(Capability, Protocol):
    """A way to embed texts; write your own as one class with these two members.

    The embedding of a text must not depend on the texts beside it: when a corpus grows, only what is new is encoded.
    """

    @property
    def fingerprint(self) -> str:
        """Changes whenever the embeddings would: stored embeddings are found by it, and by the code of the class."""
        ...

    def encode(self, texts: Sequence[str], role: Role) -> Embeddings:
        """Embeddings, shape [texts, dimensions]; `role` says what the texts are.

        They are of length 1, unless the encoder has a `similarity`, and that is `dot`.
        """
        ...


@dataclass(frozen=True)
class SentenceTransformerEncoder(Reducible, Prompted, TorchModel):
    """Any sentence-transformers model. It is loaded when something must be encoded, not before.

    On one kind of CPU an embedding is a function of its text: the same to the last bit beside any other texts, in any
    order and number of threads, and so the same in a corpus that grew. Each thread computes small groups of passages
    that fill the same shape, whatever there is to encode; queries come one at a time. On an accelerator, texts of like
    length share batches, and the last bits depend on them.

    Attributes:
        model, device, batch_size: See `TorchModel`.
        backend: What computes the model's transformer; `onnx` and `openvino` run on the CPU.
        precision: Of the transformer's arithmetic.
        store: Keeps the export of the model that `onnx` and `openvino` run.
        similarity: By which embeddings are compared. With `dot` they have the length that the model gives them. None
            takes what the model's files say, and cosine if they say nothing.
    """

    model: Text = MINILM
    backend: Backend = "torch"
    precision: Precision = "fp32"
    store: Store = NO_STORE
    similarity: Similarity | None = None

    def __post_init__(self) -> None:
        packages(self.backend)
        if self.device is None and self.backend != "torch":
            object.__setattr__(self, "device", "cpu")
        if self.precision not in PRECISIONS[self.backend]:
            there_is = "; ".join(f"{backend}: {', '.join(precisions)}" for backend, precisions in PRECISIONS.items())
            raise EncoderError(f"encoder.precision: {self.backend} has no {self.precision} (there is {there_is})")
        if self.backend != "torch" and self.device not in (None, "cpu"):
            raise EncoderError(f"encoder.device: found {self.device!r}, but {self.backend} runs on the CPU")
        TorchModel.__post_init__(self)
        if self._kind == "cpu" and self.precision == "bf16" and not cpu_has_bf16():
            others = " or ".join(name for name in PRECISIONS[self.backend] if name != "bf16")
            raise EncoderError(f"encoder.precision: this CPU has no bf16 (avx512_bf16, amx_bf16); use {others}")
        if self.similarity is None:
            object.__setattr__(self, "similarity", similarity_of(self.folder))
        self._fill_prompts(self.model, prompts_of(self.folder))

    @cached_property
    def fingerprint(self) -> str:
        """Digest over the model's files (weights, tokenizer, configuration) and over what moves the last bits."""
        libraries = {name: version(name) for name in (*LIBRARIES, *packages(self.backend))}
        settings = [self._kind, self.backend, self.precision, self._shapes, self.similarity, dict(self.prompts)]
        return digest([digest_of_model(self.folder), settings, libraries])

    def encode(self, texts: Sequence[str], role: Role) -> Embeddings:
        """Embeddings, shape [texts, dimensions], of the texts with the prompt for the role."""
        shown = progress(f"encoding {len(texts):,} texts", len(texts))
        with shown if len(texts) > 1 else nullcontext():  # a single query is timed
            texts = [text.replace("\f", " ") for text in texts]  # BERT drops page breaks: the words around would be one
            model = _load(self.folder, str(self.device), self.backend, self.precision, self.store)
            encode = model.encode_query if role == "query" else model.encode_document
            encode = partial(_embeddings, partial(encode, prompt=self.prompt(role)), normalize=not by_dot(self))
            grouped = role == "passage" and self.backend == "torch" and type(model[0]).__name__ == "Transformer"
            found = self._computed(model, encode, texts, self.prompt(role), grouped=grouped)
        return np.asarray(found, dtype=np.float32)


def _embeddings(encode: Callable[..., Any], texts: list[str], *, normalize: bool, **options: Any) -> Embeddings:
    """Embeddings; normalised, equal components replace the zeros that a static model gives to a text without tokens."""
    found: Embeddings = np.array(encode(texts, show_progress_bar=False, normalize_embeddings=normalize, **options))
    if normalize:
        found[~found.any(axis=1)] = found.shape[1] ** -0.5
    return found


@cache
def _load(folder: Path, device: str, backend: Backend, precision: Precision, store: Store) -> SentenceTransformer:
    import torch

    if device.startswith("cuda") and precision == "bf16" and not torch.cuda.is_bf16_supported(False):
        raise EncoderError("encoder.precision: this GPU has no bf16; use fp32")
    # it takes the tokens; many models were saved without a pooler
    model: SentenceTransformer = loaded("SentenceTransformer", folder, device, but="pooler")
    if (backend, precision) != ("torch", "fp32"):
        run_in(backend, precision, model, digest_of_model(folder), store)
    return model
