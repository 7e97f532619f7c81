"""Counts the tokens of passages: what they cost in a prompt."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ragsweep.core.arrays import NOTHING, Indices
from ragsweep.core.digest import digest_texts, version
from ragsweep.core.errors import EncoderError
from ragsweep.core.progress import advance, progress
from ragsweep.core.terminal import say_once
from ragsweep.models.encoders.model_files import digest_of_file
from ragsweep.models.encoders.tokenizer import BY_WORDS, file_of, naming, opened, token_spans, unknown_token
from ragsweep.store.code import digest_of_module
from ragsweep.store.stage_store import Arrays, Store
from ragsweep.text.tokens import word_spans

PROMPTS_AT_ONCE = 4096  # texts whose tokens are in memory
MOST_COUNTED = 200_000  # texts of a corpus that are all counted, so that all runs share the counts; that takes a minute


def token_counts(
    texts: Sequence[str], tokenizer: str, store: Store, needed: Indices | None = None, *, as_read: bool = False
) -> Indices | None:
    """The number of tokens of each text, without the special ones that a model adds, shape [texts].

    Args:
        texts: The passages of a corpus.
        tokenizer: A model, by its folder or its name on the Hugging Face hub; or `words`.
        store: Keeps the counts of a corpus.
        needed: Positions of the texts that have to be counted, in any shape; of a large corpus, the others are left at
            0. None needs all.
        as_read: Whether an unknown token counts as one, as the model reads it, and not as in `token_spans`.

    Returns:
        None if the model has no tokenizer here, which is printed once.
    """
    if tokenizer == BY_WORDS:
        return np.array([len(word_spans(text)) for text in texts], dtype=np.int64)
    if needed is not None and len(texts) > MOST_COUNTED:
        rows = np.unique(needed[needed != NOTHING])
        counted = token_counts([texts[row] for row in rows], tokenizer, store, as_read=as_read)
        if counted is None:
            return None
        counts = np.zeros(len(texts), dtype=np.int64)
        counts[rows] = counted
        return counts
    try:
        file = file_of(tokenizer)
    except EncoderError as error:
        say_once(f"tokens of the context are not counted ({error}); decision.tokenizer=words counts words")
        return None

    def build() -> Arrays:
        tokens = np.empty(len(texts), dtype=np.int64)
        for start in range(0, len(texts), PROMPTS_AT_ONCE):
            piece = texts[start : start + PROMPTS_AT_ONCE]
            spaced = [text.replace("\f", " ") for text in piece]  # as the encoder reads them
            with naming("decision.tokenizer"):
                encoded = opened(file).encode_batch_fast(spaced, add_special_tokens=False)
            tokens[start : start + len(spaced)] = [len(each) for each in encoded]
            unsplit = [] if as_read else [row for row, each in enumerate(encoded) if unknown_token(file) in each.ids]
            spans = token_spans([spaced[row] for row in unsplit], file)
            tokens[[start + row for row in unsplit]] = [len(each) for each in spans]
            advance(len(spaced))
        return {"tokens": tokens}

    inputs = [
        digest_of_module(__name__),
        digest_of_file(file),
        version("tokenizers"),
        digest_texts(texts),
        str(as_read),
    ]
    with progress(f"counting the tokens of {len(texts):,} passages", len(texts)):
        return store.get("tokens", inputs, build)["tokens"]


def room(model: str, window: int, prompt: str = "") -> int:
    """How many tokens of a text fit into a model's window beside the special ones that the model adds and a prompt."""
    tokenizer = opened(file_of(model))
    before = len(tokenizer.encode(prompt, add_special_tokens=False))
    return window - tokenizer.num_special_tokens_to_add(is_pair=False) - before
