"""Counts the tokens of passages: what they cost in a prompt."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ragsweep.core.code import digest_of_module
from ragsweep.core.digest import digest_file, digest_texts, version
from ragsweep.core.errors import EncoderError, first_line
from ragsweep.core.progress import progress
from ragsweep.core.store import Arrays, Store
from ragsweep.core.terminal import say_once
from ragsweep.retrieval.model_files import local_folder
from ragsweep.retrieval.ranking import Indices
from ragsweep.retrieval.tokens import WORD

if TYPE_CHECKING:
    from tokenizers import Tokenizer

WORDS = "words"  # counts words instead of tokens, and needs no model
FILE = "tokenizer.json"


def token_counts(texts: Sequence[str], tokenizer: str, store: Store) -> Indices | None:
    """The number of tokens of each text, without the special ones that a model adds, shape [texts].

    Args:
        texts: The passages of a corpus.
        tokenizer: A model, by its folder or its name on the Hugging Face hub; or `words`.
        store: Keeps the counts of a corpus.

    Returns:
        None if the model has no tokenizer here, which is printed once.
    """
    if tokenizer == WORDS:
        return np.array([len(WORD.findall(text)) for text in texts], dtype=np.int64)
    try:
        file = _file_of(tokenizer)
    except EncoderError as error:
        say_once(f"tokens of the context are not counted ({error}); decision.tokenizer=words counts words")
        return None

    def build() -> Arrays:
        counted = _opened(file).encode_batch_fast(list(texts), add_special_tokens=False)
        return {"tokens": np.array([len(each) for each in counted], dtype=np.int64)}

    inputs = [digest_of_module(__name__), _digest(file), version("tokenizers"), digest_texts(texts)]
    with progress(f"counting the tokens of {len(texts):,} passages"):
        return store.get("tokens", inputs, build)["tokens"]


def _file_of(model: str) -> Path:
    folder = local_folder(model)
    if folder:
        if not (folder / FILE).is_file():
            raise EncoderError(f"{model}: has no {FILE}")
        return folder / FILE
    import huggingface_hub

    try:
        return Path(huggingface_hub.hf_hub_download(model, FILE))
    except Exception as error:  # the hub's library raises many types of exceptions
        raise EncoderError(f"{model}: its {FILE} cannot be found ({first_line(error)})") from error


@cache
def _digest(file: Path) -> str:
    return digest_file(file)


def _opened(file: Path) -> Tokenizer:
    from tokenizers import Tokenizer

    try:
        tokenizer: Tokenizer = Tokenizer.from_file(str(file))
    except Exception as error:  # the library raises nothing more precise
        raise EncoderError(f"{file}: cannot be read ({first_line(error)})") from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer
