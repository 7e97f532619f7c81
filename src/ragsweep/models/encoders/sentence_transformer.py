"""Encoders of sentence-transformers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np

from ragsweep.core.digest import digest, version
from ragsweep.core.errors import EncoderError
from ragsweep.core.hardware import cpu_has_bf16
from ragsweep.core.limits import ModelName
from ragsweep.core.progress import progress
from ragsweep.models.encoders.encoder import Embeddings, Reducible, Role, Similarity
from ragsweep.models.encoders.model_files import MINILM, digest_of_model, prompts_of, similarity_of
from ragsweep.models.encoders.prompts import Prompted
from ragsweep.models.encoders.torch_model import LIBRARIES, TorchModel, loaded


@dataclass(frozen=True)
class SentenceTransformerEncoder(Reducible, Prompted, TorchModel):
    """Any sentence-transformers model. It is loaded when something must be encoded, not before.

    On one kind of CPU an embedding is a function of its text: the same to the last bit beside any other texts, in any
    order and number of threads, and so the same in a corpus that grew. Each thread computes small groups of passages
    that fill the same shape, whatever there is to encode; queries come one at a time. On an accelerator, texts of like
    length share batches, and the last bits depend on them.

    Attributes:
        model, device, batch_size: See `TorchModel`.
        backend: Is handed to sentence-transformers as it is. It says what `onnx` and `openvino` need. With these, the
            last bits of an embedding depend on the texts in its batch.
        precision: Of the transformer's arithmetic in torch.
        similarity: By which embeddings are compared. With `dot` they have the length that the model gives them. None
            takes what the model's files say, and cosine if they say nothing.
    """

    model: ModelName = MINILM
    backend: Literal["torch", "onnx", "openvino"] = "torch"
    precision: Literal["fp32", "bf16"] = "fp32"
    similarity: Similarity | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.precision == "bf16" and self.backend != "torch":
            raise EncoderError(f"encoder.precision: found bf16, expected fp32 with encoder.backend={self.backend}")
        if self._kind == "cpu" and self.precision == "bf16" and not cpu_has_bf16():
            raise EncoderError("encoder.precision: this CPU has no bf16 (avx512_bf16, amx_bf16); use fp32")
        if self.similarity is None:
            object.__setattr__(self, "similarity", similarity_of(self.folder))
        self._fill_prompts(self.model, prompts_of(self.folder))

    @property
    def _in_groups(self) -> bool:
        return super()._in_groups and self.backend == "torch"

    @cached_property
    def fingerprint(self) -> str:
        """Digest over the model's files (weights, tokenizer, configuration) and over what moves the last bits."""
        libraries = {name: version(name) for name in LIBRARIES}
        settings = [self._kind, self.backend, self.precision, self._shapes, self.similarity, dict(self.prompts)]
        return digest([digest_of_model(self.folder), settings, libraries])

    def encode(self, texts: Sequence[str], role: Role) -> Embeddings:
        """Embeddings, shape [texts, dimensions], of the texts with the prompt for the role."""
        shown = progress(f"encoding {len(texts):,} texts", len(texts))
        with shown if len(texts) > 1 else nullcontext():  # a single query is timed
            texts = [text.replace("\f", " ") for text in texts]  # BERT drops page breaks: the words around would be one
            where = self.folder, str(self.device), self.group
            bf16 = _in_bf16 if self.precision == "bf16" else None
            # it takes the tokens, not what a pooler makes of them, which many models were saved without
            model = loaded(self.model_class, *where, unused="pooler", backend=self.backend, prepared=bf16)
            encode = model.encode_query if role == "query" else model.encode_document
            encode = partial(encode, prompt=self.prompt(role), show_progress_bar=False)
            compute = partial(_embeddings, encode, normalize=self.similarity != "dot")
            grouped = role == "passage" and type(model[0]).__name__ == "Transformer"
            embeddings = self._computed(model, compute, texts, self.prompt(role), grouped=grouped)
        return np.asarray(embeddings, dtype=np.float32)


def _embeddings(encode: Callable[..., Any], texts: list[str], *, normalize: bool, **options: Any) -> Embeddings:
    """Embeddings; normalised, equal components replace the zeros that a static model gives to a text without tokens."""
    embeddings: Embeddings = np.array(encode(texts, normalize_embeddings=normalize, **options))
    if normalize:
        embeddings[~embeddings.any(axis=1)] = embeddings.shape[1] ** -0.5
    return embeddings


def _in_bf16(model: Any) -> Any:
    """A model whose transformer runs in bf16; what it returns, and its other modules, stay in fp32."""
    import torch

    if type(model[0]).__name__ != "Transformer":
        raise EncoderError("encoder.precision: only a transformer runs in bf16; use fp32")
    if model.device.type == "cuda" and not torch.cuda.is_bf16_supported(False):
        raise EncoderError("encoder.precision: this GPU has no bf16; use fp32")
    model[0].to(torch.bfloat16)
    model[0].register_forward_hook(
        lambda _module, _inputs, features: features | {"token_embeddings": features["token_embeddings"].float()}
    )
    return model
