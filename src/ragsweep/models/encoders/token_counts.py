"""Counts the tokens of texts: what passages cost in a prompt, and how many of them a model does not know."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ragsweep.core.arrays import NOTHING, Indices
from ragsweep.core.digest import digest_texts, version
from ragsweep.core.errors import EncoderError
from ragsweep.core.progress import advance, progress
from ragsweep.core.terminal import say_once
from ragsweep.core.timing import sample
from ragsweep.models.encoders.model_files import digest_of_file, naming
from ragsweep.models.encoders.tokenizer import BY_WORDS, file_of, letters_of, opened, unknown_token
from ragsweep.store.code import digest_of_module
from ragsweep.store.stage_store import Arrays, Store
from ragsweep.text.tokens import word_spans

TOKENIZED_AT_ONCE = 4096  # texts whose tokens are in memory
MOST_COUNTED = 200_000  # texts of a corpus that are all counted, so that all runs share the counts; that takes a minute
TEXTS_SAMPLED = 10_000  # texts in which unknown tokens are counted; of more, so many that are evenly spread


class Counted(NamedTuple):
    """Tokens of texts.

    Attributes:
        unknown: How many of them the model does not know.
        tokens: How many there are, without special ones.
        texts: How many texts were counted.
    """

    unknown: int
    tokens: int
    texts: int


def token_counts(texts: Sequence[str], tokenizer: str, store: Store, needed: Indices | None = None) -> Indices | None:
    """The number of tokens of each text, without the special ones that a model adds, shape [texts].

    Args:
        texts: The passages of a corpus.
        tokenizer: A model, by its folder or its name on the Hugging Face hub; or `words`.
        store: Keeps the counts of a corpus.
        needed: See `counts_of`.

    Returns:
        None if the model has no tokenizer here, which is printed once.
    """
    if tokenizer == BY_WORDS:
        return np.array([len(word_spans(text)) for text in texts], dtype=np.int64)
    try:
        file = file_of(tokenizer)
    except EncoderError as error:
        say_once(f"tokens of the context are not counted ({error}); decision.tokenizer=words counts words")
        return None
    counts = counts_of(texts, file, store, needed)
    return np.asarray(counts["tokens"] - counts["unknown"] + counts["letters"])


def unknown_tokens(texts: Sequence[str], file: Path, store: Store) -> Counted:
    """Count the tokens of texts that a model's tokenizer does not know; of many texts, a sample is counted.

    A tokenizer that falls back to bytes knows every token.
    """
    sampled = [texts[row] for row in sample(len(texts), TEXTS_SAMPLED).tolist()]
    total = {name: int(counts.sum()) for name, counts in counts_of(sampled, file, store).items()}
    return Counted(total["letters"], total["tokens"] - total["unknown"] + total["letters"], len(sampled))


def counts_of(texts: Sequence[str], file: Path, store: Store, needed: Indices | None = None) -> Arrays:
    """Counts of each text, shape [texts]: `tokens`, the `unknown` ones among them, and the `letters` of these.

    Args:
        texts: With page breaks as spaces, as encoders read them.
        file: The tokenizer.
        store: Keeps the counts.
        needed: Positions of the texts that have to be counted, in any shape; of a large corpus, the others are left at
            0. None needs all.
    """
    if needed is not None and len(texts) > MOST_COUNTED:
        rows = np.unique(needed[needed != NOTHING])
        counts = {name: np.zeros(len(texts), dtype=np.int64) for name in ("tokens", "unknown", "letters")}
        for name, of_some in counts_of([texts[row] for row in rows], file, store).items():
            counts[name][rows] = of_some
        return counts

    def build() -> Arrays:
        tokens, unknown, letters = np.zeros((3, len(texts)), dtype=np.int64)
        with naming("decision.tokenizer"):
            tokenizer, unknown_id = opened(file), unknown_token(file)
        for start in range(0, len(texts), TOKENIZED_AT_ONCE):
            piece = [text.replace("\f", " ") for text in texts[start : start + TOKENIZED_AT_ONCE]]
            encodings = tokenizer.encode_batch_fast(piece, add_special_tokens=False)  # without places
            tokens[start : start + len(piece)] = [len(encoding) for encoding in encodings]
            rows = [row for row, encoding in enumerate(encodings) if unknown_id in encoding.ids]
            placed = tokenizer.encode_batch([piece[row] for row in rows], add_special_tokens=False)
            for row, encoding in zip(rows, placed, strict=True):
                spans = [span for id, span in zip(encoding.ids, encoding.offsets, strict=True) if id == unknown_id]
                unknown[start + row] = len(spans)
                letters[start + row] = sum(len(letters_of(piece[row], *span)) for span in spans)
            advance(len(piece))
        return {"tokens": tokens, "unknown": unknown, "letters": letters}

    inputs = [digest_of_module(__name__), digest_of_file(file), version("tokenizers"), digest_texts(texts)]
    with progress(f"counting the tokens of {len(texts):,} texts", len(texts)):
        return store.get("tokens", inputs, build)
