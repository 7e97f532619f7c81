"""The tokens of texts, as a model's own tokenizer finds them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ragsweep.core.arrays import Indices
from ragsweep.core.digest import digest, version
from ragsweep.core.errors import EncoderError, first_line
from ragsweep.core.limits import TokenizerName
from ragsweep.core.parsing import from_json
from ragsweep.datasets.chunkers.rulers import TokenOffsets
from ragsweep.models.encoders.model_files import (
    MINILM,
    TOKENIZER,
    WORDLLAMA,
    digest_of_file,
    hub_snapshot,
    local_folder,
    naming,
    prompts_of,
    tokenizer_in,
    window_of,
    wordllama_file,
)
from ragsweep.models.encoders.prompts import usual_prompts
from ragsweep.text.tokens import Span, word_spans

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

SETTING = "chunker.tokenizer.model"
BY_WORDS = "words"  # counts words instead of tokens, and needs no model
NO_TOKEN = -1


@dataclass(frozen=True)
class ModelTokenizer(TokenOffsets):
    """The tokenizer of a model, without the special tokens that the model adds. It is loaded when it is needed.

    Attributes:
        model: A model, by its folder or its name on the Hugging Face hub; or `words`, which takes words as tokens.
        prompt: Precedes each passage that the model reads, see `window`.
    """

    model: TokenizerName = MINILM
    prompt: str | None = None

    @cached_property
    def file(self) -> Path:
        """The model's `tokenizer.json`. Raises `EncoderError` if there is none."""
        with naming(SETTING):
            return file_of(self.model)

    @cached_property
    def fingerprint(self) -> str:
        """Digest of the tokenizer's file, and of the library that reads it."""
        return digest([BY_WORDS] if self.model == BY_WORDS else [digest_of_file(self.file), version("tokenizers")])

    @cached_property
    def window(self) -> tuple[int, str] | None:
        """How many tokens of a passage the model reads, with its special ones and this prompt; None if all or unknown.

        A prompt that is None is that of the model's files, or of its family.
        """
        if self.model == BY_WORDS:
            return None
        try:
            folder = local_folder(self.model) or self.file.parent
            tokens = window_of(folder)
        except EncoderError:  # there are no files of it here
            return None
        _, prompts = usual_prompts(self.model, prompts_of(folder))
        return None if tokens is None else (tokens, prompts["passage"] if self.prompt is None else self.prompt)

    @property
    def passage_tokens(self) -> int:
        """How many tokens of its own a passage can have within the `window`."""
        assert self.window is not None
        tokens, prompt = self.window
        return max(tokens - tokens_beside(self.file, prompt), 1)

    def offsets(self, texts: Sequence[str]) -> list[Indices]:
        """Where each token of each text starts and ends, in characters: an array [tokens, 2] per text, in order."""
        if self.model == BY_WORDS:
            return [np.array(word_spans(text), dtype=np.int64).reshape(-1, 2) for text in texts]
        file = self.file  # names the setting itself
        with naming(SETTING):
            tokenizer, unknown = opened(file), unknown_token(file)
        encodings = tokenizer.encode_batch(list(texts), add_special_tokens=False)
        return [_spans(text, encoding, unknown) for text, encoding in zip(texts, encodings, strict=True)]


def _spans(text: str, encoding: Encoding, unknown: int) -> Indices:
    """The start and end of each token. An unknown token in a script without spaces counts as its letters."""
    spans: list[Span] = []
    for id, span in zip(encoding.ids, encoding.offsets, strict=True):
        spans += letters_of(text, *span) if id == unknown else [span]
    return np.array(spans, dtype=np.int64).reshape(-1, 2)


def file_of(model: str) -> Path:
    """The `tokenizer.json` of a model. Raises `EncoderError` if there is none."""
    if model == WORDLLAMA:
        return wordllama_file("tokenizers/l2_supercat_tokenizer_config.json")
    folder = local_folder(model)
    try:
        file = tokenizer_in(folder or hub_snapshot(model, allow_patterns="*.json"))
    except EncoderError as error:
        raise EncoderError(f"{model}: its {TOKENIZER} cannot be found ({error})") from error
    if file is None:
        raise EncoderError(f"{model}: has no {TOKENIZER}")
    return file


@cache
def opened(file: Path) -> Tokenizer:
    """The tokenizer in a file, for whole texts, read once per process. Raises `EncoderError` if it cannot be read."""
    from tokenizers import Tokenizer

    try:
        tokenizer: Tokenizer = Tokenizer.from_file(str(file))
    except Exception as error:  # the library raises nothing more precise
        raise EncoderError(f"{file}: cannot be read ({first_line(error)})") from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def tokens_beside(file: Path, prompt: str, *, is_pair: bool = False) -> int:
    """How many special and prompt tokens a model reads in addition to a text, or a pair of texts."""
    tokenizer = opened(file)
    return len(tokenizer.encode(prompt, add_special_tokens=False)) + tokenizer.num_special_tokens_to_add(is_pair)


def letters_of(text: str, start: int, end: int) -> list[Span]:
    """The letters of an unknown token in a script without spaces; else the token itself."""
    return [(start + first, start + last) for first, last in word_spans(text[start:end])] or [(start, end)]


@cache
def unknown_token(file: Path) -> int:
    """The id of the unknown token, or `NO_TOKEN`."""
    tokenizer = opened(file)
    if hasattr(tokenizer.model, "unk_token"):
        number = tokenizer.token_to_id(tokenizer.model.unk_token or "")
    else:  # SentencePiece's Unigram
        number = from_json(tokenizer.to_str())["model"].get("unk_id")
    return NO_TOKEN if number is None else int(number)
