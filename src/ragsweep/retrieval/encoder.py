"""Sentence encoders: texts in, normalised embeddings out."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np
import numpy.typing as npt

from ragsweep.digest import digest, version
from ragsweep.errors import EncoderError
from ragsweep.retrieval.backends import PRECISIONS, Backend, Precision, packages, run_in
from ragsweep.retrieval.hardware import cpu_has_bf16, fastest_device
from ragsweep.retrieval.model_files import MINILM, digest_of_model, model_folder
from ragsweep.store import NO_STORE, Store

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

Embeddings = npt.NDArray[np.float32]
Role = Literal["query", "passage"]

LIBRARIES = ("torch", "transformers", "tokenizers", "sentence-transformers")
LONG = 512  # texts, from which on a progress bar is shown in a terminal


class Encoder(Protocol):
    """A way to embed texts; write your own as one class with these two members.

    The embedding of a text must not depend on the texts beside it: when a corpus grows, only what is new is encoded.
    """

    @property
    def fingerprint(self) -> str:
        """Changes whenever the embeddings would: stored embeddings are found by it."""
        ...

    def encode(self, texts: Sequence[str], role: Role) -> Embeddings:
        """Embeddings of length 1, shape [texts, dimensions]; `role` says what the texts are."""
        ...


@dataclass(frozen=True)
class SentenceTransformerEncoder:
    """Any sentence-transformers model. It is loaded when something must be encoded, not before.

    On the CPU every text is computed alone, by one thread, as many texts at a time as there are cores. That is faster
    than batches, which wait for their longest text, and it makes an embedding a function of the text: the same to the
    last bit in any company, order and number of threads. On an accelerator, texts of like length share batches, and
    the last bits depend on them.

    Attributes:
        model: A name on the Hugging Face hub, or a folder.
        device: `cpu`, `cuda`, `cuda:1`, `mps`; None takes the fastest there is.
        backend: What computes the model's transformer; `onnx` and `openvino` run on the CPU.
        precision: Of the transformer's arithmetic.
        batch_size: Texts encoded at once on an accelerator.
        store: Keeps the export of the model that `onnx` and `openvino` run.
    """

    model: str = MINILM
    device: str | None = None
    backend: Backend = "torch"
    precision: Precision = "fp32"
    batch_size: int = 32
    store: Store = NO_STORE

    def __post_init__(self) -> None:
        packages(self.backend)
        if self.device is None:  # what is used is what is logged
            object.__setattr__(self, "device", "cpu" if self.backend != "torch" else fastest_device())
        if self.precision not in PRECISIONS[self.backend]:
            there_is = "; ".join(f"{backend}: {', '.join(precisions)}" for backend, precisions in PRECISIONS.items())
            raise EncoderError(f"encoder.precision: {self.backend} has no {self.precision} (there is {there_is})")
        if self.backend != "torch" and self.device not in (None, "cpu"):
            raise EncoderError(f"encoder.device: found {self.device!r}, but {self.backend} runs on the CPU")
        if self._kind == "cpu":
            if self.precision == "bf16" and not cpu_has_bf16():
                raise EncoderError("encoder.precision: this CPU has no bf16 (avx512_bf16, amx_bf16); use fp32 or int8")
        elif self._kind != fastest_device():  # else torch will say, when it is loaded
            _check_device(str(self.device))

    @property
    def _kind(self) -> str:
        return str(self.device).partition(":")[0]

    @property
    def without_effect(self) -> tuple[str, ...]:
        """The settings that the device leaves no say."""
        return ("batch_size",) if self._kind == "cpu" else ()

    @cached_property
    def folder(self) -> Path:
        """Where the model's files are; raises `EncoderError` where they cannot be had."""
        return model_folder(self.model)

    @cached_property
    def fingerprint(self) -> str:
        """Digest over the model's files (weights, tokenizer, configuration) and over what moves the last bits."""
        libraries = {name: version(name) for name in (*LIBRARIES, *packages(self.backend))}
        batch_size = 1 if self._kind == "cpu" else self.batch_size
        return digest([digest_of_model(self.folder), self._kind, self.backend, self.precision, batch_size, libraries])

    def encode(self, texts: Sequence[str], role: Role) -> Embeddings:
        """Embeddings of length 1, shape [texts, dimensions], with the model's own prompt for the role if it has one."""
        import torch

        model = _load(self.folder, str(self.device), self.backend, self.precision, self.store)
        encode = partial(model.encode_query if role == "query" else model.encode_document, normalize_embeddings=True)
        bf16 = self.backend == "torch" and self.precision == "bf16"
        autocast = partial(torch.autocast, self._kind, torch.bfloat16, enabled=bf16)

        def embed(text: str) -> Embeddings:
            with autocast():  # holds for one thread only
                return np.asarray(encode([text], batch_size=1, show_progress_bar=False)[0], dtype=np.float32)

        if self._kind == "cpu":
            return _one_by_one(embed, texts)
        with autocast():
            bar = len(texts) >= LONG and sys.stderr.isatty()
            return np.asarray(encode(list(texts), batch_size=self.batch_size, show_progress_bar=bar), dtype=np.float32)


def _one_by_one(embed: Callable[[str], Embeddings], texts: Sequence[str]) -> Embeddings:
    """Embed each text alone, in one thread, as many at a time as torch would take threads."""
    import torch
    from tqdm import tqdm

    order = np.argsort([-len(text) for text in texts], kind="stable")  # the longest first: threads end together
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        # one before the others: the first call sets up the tokenizer, which threads must not do at once
        last = [embed(texts[row]) for row in order[-1:]]
        with ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,)) as pool:
            others = pool.map(embed, [texts[row] for row in order[:-1]])
            vectors = [*tqdm(others, total=len(texts) - 1, leave=False, disable=len(texts) < LONG or None), *last]
    finally:
        torch.set_num_threads(threads)
    embeddings = np.array(vectors, dtype=np.float32)
    embeddings[order] = embeddings.copy()
    return embeddings


@cache
def _load(folder: Path, device: str, backend: Backend, precision: Precision, store: Store) -> SentenceTransformer:
    import torch
    from sentence_transformers import SentenceTransformer
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()  # type: ignore[no-untyped-call]
    if device != "cpu":
        _check_device(device)
    if device.startswith("cuda") and precision == "bf16" and not torch.cuda.is_bf16_supported(False):
        raise EncoderError("encoder.precision: this GPU has no bf16; use fp32")
    try:
        model = SentenceTransformer(str(folder), device=device, local_files_only=True)
    except (OSError, ValueError, RuntimeError) as error:
        reason = str(error).strip().splitlines()[0]
        raise EncoderError(f"encoder.model: {folder} cannot be loaded ({reason})") from error
    if backend != "torch":
        run_in(backend, precision, model, digest_of_model(folder), store)
    return model


def _check_device(device: str) -> None:
    import torch

    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, ValueError) as error:
        reason = str(error).strip().splitlines()[0]
        raise EncoderError(
            f"encoder.device: found {device!r}, which cannot be used here ({reason}); the CPU can: encoder.device=cpu"
        ) from error
