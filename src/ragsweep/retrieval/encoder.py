"""Sentence encoders: texts in, normalised embeddings out."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from ragsweep.core.constraints import Between, Text
from ragsweep.core.digest import digest, version
from ragsweep.core.errors import EncoderError, first_line
from ragsweep.core.hardware import cpu_has_bf16, fastest_device
from ragsweep.core.progress import advance, progress
from ragsweep.core.store import NO_STORE, Store
from ragsweep.retrieval.backends import PRECISIONS, Backend, Precision, packages, run_in
from ragsweep.retrieval.model_files import MINILM, digest_of_model, model_folder, window_of
from ragsweep.retrieval.reduction import Reducible

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

Embeddings = npt.NDArray[np.float32]
Role = Literal["query", "passage"]

LIBRARIES = ("torch", "transformers", "tokenizers", "sentence-transformers")
GROUP = 4  # passages that a thread of the CPU computes at once
WIDTH = 16  # tokens, of which it pads passages to a multiple


class Encoder(Protocol):
    """A way to embed texts; write your own as one class with these two members.

    The embedding of a text must not depend on the texts beside it: when a corpus grows, only what is new is encoded.
    """

    @property
    def fingerprint(self) -> str:
        """Changes whenever the embeddings would: stored embeddings are found by it, and by the code of the class."""
        ...

    def encode(self, texts: Sequence[str], role: Role) -> Embeddings:
        """Embeddings of length 1, shape [texts, dimensions]; `role` says what the texts are."""
        ...


@dataclass(frozen=True)
class SentenceTransformerEncoder(Reducible):
    """Any sentence-transformers model. It is loaded when something must be encoded, not before.

    On one kind of CPU an embedding is a function of its text: the same to the last bit in any company, order and number
    of threads, and so the same in a corpus that grew. Each thread computes small groups of passages that fill the same
    shape, whatever there is to encode; queries come one at a time. On an accelerator, texts of like length share
    batches, and the last bits depend on them.

    Attributes:
        model: A name on the Hugging Face hub, or a folder.
        device: `cpu`, `cuda`, `cuda:1`, `mps`; None takes the fastest there is.
        backend: What computes the model's transformer; `onnx` and `openvino` run on the CPU.
        precision: Of the transformer's arithmetic.
        batch_size: Texts encoded at once on an accelerator.
        store: Keeps the export of the model that `onnx` and `openvino` run.
    """

    model: Text = MINILM
    device: Text | None = None
    backend: Backend = "torch"
    precision: Precision = "fp32"
    batch_size: Annotated[int, Between(1)] = 32
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
                others = " or ".join(name for name in PRECISIONS[self.backend] if name != "bf16")
                raise EncoderError(f"encoder.precision: this CPU has no bf16 (avx512_bf16, amx_bf16); use {others}")
        elif self._kind != fastest_device():  # else torch will say, when it is loaded
            _check_device(str(self.device))

    @property
    def _kind(self) -> str:
        return str(self.device).partition(":")[0]

    @property
    def without_effect(self) -> tuple[str, ...]:
        """Settings that have no effect on this device or beside the others."""
        return (*super().without_effect, *(("batch_size",) if self._kind == "cpu" else ()))

    @cached_property
    def folder(self) -> Path:
        """Where the model's files are; raises `EncoderError` where they cannot be had."""
        return model_folder(self.model)

    @cached_property
    def window(self) -> int | None:
        """How many tokens of a text are read, with the special ones; None if the model's files do not tell."""
        return window_of(self.folder)

    @cached_property
    def fingerprint(self) -> str:
        """Digest over the model's files (weights, tokenizer, configuration) and over what moves the last bits."""
        libraries = {name: version(name) for name in (*LIBRARIES, *packages(self.backend))}
        shapes = [GROUP, WIDTH] if self._kind == "cpu" else [self.batch_size]
        return digest([digest_of_model(self.folder), self._kind, self.backend, self.precision, shapes, libraries])

    def encode(self, texts: Sequence[str], role: Role) -> Embeddings:
        """Embeddings of length 1, shape [texts, dimensions], with the model's own prompt for the role if it has one."""
        shown = progress(f"encoding {len(texts):,} texts", len(texts))
        with shown if len(texts) > 1 else nullcontext():  # a single query is timed
            return self._encode(texts, role)

    def _encode(self, texts: Sequence[str], role: Role) -> Embeddings:
        texts = [text.replace("\f", " ") for text in texts]  # BERT drops page breaks: the words around would be one
        model = _load(self.folder, str(self.device), self.backend, self.precision, self.store)
        encode = partial(model.encode_query if role == "query" else model.encode_document, normalize_embeddings=True)
        if self._kind == "cpu":
            if role == "passage" and self.backend == "torch" and type(model[0]).__name__ == "Transformer":
                groups, options = _groups(model, texts)
            else:
                groups, options = [[row] for row in _longest_first(texts)], {}
            return _by_threads(partial(encode, batch_size=GROUP, **options), texts, groups)
        return _in_batches(model, partial(encode, batch_size=self.batch_size), texts)


def _in_batches(model: SentenceTransformer, encode: Callable[..., Embeddings], texts: Sequence[str]) -> Embeddings:
    """Embed all texts in one call, which makes batches of its own; the model's last module tells when one is done."""
    counting = model[-1].register_forward_hook(lambda *call: advance(len(call[-1]["sentence_embedding"])))
    try:
        return np.asarray(encode(list(texts), show_progress_bar=False), dtype=np.float32)
    finally:
        counting.remove()


def _longest_first(texts: Sequence[str]) -> list[int]:
    """Rows of the texts; threads that end with the short ones end together."""
    rows: list[int] = np.argsort([-len(text) for text in texts], kind="stable").tolist()
    return rows


def _groups(model: SentenceTransformer, texts: Sequence[str]) -> tuple[list[list[int]], dict[str, Any]]:
    """Rows of passages that share a width, `GROUP` at a time, and the options with which the model pads them to it.

    A group that is not full repeats a row: all that enters the computation of a passage's embedding is the passage.
    """
    names = ("document", "passage", "corpus", model.default_prompt_name)  # as `encode_document` takes them
    prompt = next((model.prompts[name] for name in names if name in model.prompts), None)
    multiple = WIDTH if (model.max_seq_length or 0) % WIDTH == 0 else 1  # a model may have no position beyond its last
    options = {"prompt": prompt, "processing_kwargs": {"text": {"pad_to_multiple_of": multiple}}}
    tokens = model.preprocess(list(texts), **options)["attention_mask"].sum(dim=1).numpy()
    widths = -(-tokens // multiple)
    groups = []
    for width in np.unique(widths)[::-1]:
        rows = np.flatnonzero(widths == width).tolist()
        for start in range(0, len(rows), GROUP):
            group = rows[start : start + GROUP]
            groups.append(group + group[-1:] * (GROUP - len(group)))
    return groups, options


def _by_threads(encode: Callable[..., Embeddings], texts: Sequence[str], groups: list[list[int]]) -> Embeddings:
    """Embed groups of texts, each in one thread, as many at a time as torch would take threads."""
    import torch

    def embed(group: list[int]) -> Embeddings:
        return np.asarray(encode([texts[row] for row in group], show_progress_bar=False), dtype=np.float32)

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        # one before the others: the first call sets up the tokenizer, which threads must not do at once
        first = embed(groups[-1])
        embeddings = np.empty((len(texts), first.shape[1]), dtype=np.float32)
        embeddings[groups[-1]] = first
        advance(len(set(groups[-1])))
        with ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,)) as pool:
            for group, found in zip(groups, pool.map(embed, groups[:-1]), strict=False):
                embeddings[group] = found
                advance(len(set(group)))
    finally:
        torch.set_num_threads(threads)
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
        with _made_up_weights() as made_up:
            model = SentenceTransformer(
                str(folder),
                device=device,
                local_files_only=True,
                trust_remote_code=False,
                model_kwargs={"use_safetensors": True},
            )
    except Exception as error:  # the libraries of tokenizers and weights raise anything
        reason = first_line(error)
        raise EncoderError(f"encoder.model: {folder} cannot be loaded ({reason})") from error
    if made_up:
        raise EncoderError(f"encoder.model: the weights in {folder} lack {made_up[0]}, which would be made up")
    _check_tokenizer(model, folder)
    if (backend, precision) != ("torch", "fp32"):
        run_in(backend, precision, model, digest_of_model(folder), store)
    return model


@contextmanager
def _made_up_weights() -> Iterator[list[str]]:
    """The names of weights that transformers makes up at random since the files lack them, instead of its report.

    Poolers do not count: sentence-transformers takes the tokens, and many of its models were saved without one.
    """
    names: list[str] = []

    def collect(record: logging.LogRecord) -> bool:
        text = record.getMessage()
        names.extend(name for name in re.findall(r"^([^|\n]+?) *\|[^|\n]*MISSING", text, re.M) if "pooler" not in name)
        return "LOAD REPORT" not in text

    library, logger = logging.getLogger("transformers"), logging.getLogger("transformers.modeling_utils")
    level = library.level
    library.setLevel(min(level, logging.WARNING))  # TRANSFORMERS_VERBOSITY can have silenced it
    logger.addFilter(collect)
    try:
        yield names
    finally:
        logger.removeFilter(collect)
        library.setLevel(level)


def _check_tokenizer(model: SentenceTransformer, folder: Path) -> None:
    """Raise `EncoderError` where most of the tokens that the weights have are unknown to the tokenizer."""
    expected = getattr(getattr(model[0], "config", None), "vocab_size", None)
    if isinstance(expected, int) and len(model.tokenizer) < expected / 2:
        found = f"{len(model.tokenizer)} tokens and the weights {expected}"
        raise EncoderError(f"encoder.model: the tokenizer in {folder} has {found}; it is damaged or not complete")


def _check_device(device: str) -> None:
    import torch

    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, ValueError) as error:
        reason = first_line(error)
        raise EncoderError(
            f"encoder.device: found {device!r}, which cannot be used here ({reason}); the CPU can: encoder.device=cpu"
        ) from error
