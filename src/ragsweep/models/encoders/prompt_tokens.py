"""Counts the tokens of passages: what they cost in a prompt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ragsweep.core.arrays import NOTHING, Indices
from ragsweep.core.digest import digest_texts, version
from ragsweep.core.errors import EncoderError, ModelError
from ragsweep.core.progress import advance, progress
from ragsweep.core.terminal import say_once
from ragsweep.models.encoders.embeddings import embed
from ragsweep.models.encoders.encoder import Encoder, Role
from ragsweep.models.encoders.encoder_capabilities import KnowsWindow
from ragsweep.models.encoders.model_files import digest_of_file
from ragsweep.models.encoders.prompts import Prompted
from ragsweep.models.encoders.similarity import of_length_1
from ragsweep.models.encoders.tokenizer import (
    BY_WORDS,
    file_of,
    naming,
    opened,
    token_spans,
    tokens_beside,
    unknown_token,
)
from ragsweep.store.code import digest_of_module
from ragsweep.store.stage_store import Arrays, Store
from ragsweep.text.tokens import word_spans

PROMPTS_AT_ONCE = 4096  # texts whose tokens are in memory
LEAST_PROBED = 400  # characters of the longest text: every endpoint reads less
PROBES, PROBING_ROUNDS = 7, 3
OTHER_END = "zero 1 two 3 four 5 "
SAME_EMBEDDING = 0.005  # length of the difference of two embeddings of length 1: rounding, also in 16 bits
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
        unknown = f"{tokenizer}: nobody knows whether it reads texts to their end ({error})"
        uncounted = f"tokens of the context are not counted ({error}); decision.tokenizer=words counts words"
        say_once(unknown if as_read else uncounted)
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
    with progress(f"counting the tokens of {len(texts):,} texts", len(texts)):
        return store.get("tokens", inputs, build)["tokens"]


class Lengths(NamedTuple):
    """How long texts are, and how much of each a model reads beside its prompt and special tokens.

    Attributes:
        lengths: Of each text, shape [texts].
        read: How much of a text is read.
        unit: Of both: tokens, or characters.
    """

    lengths: Indices
    read: int
    unit: str


def lengths_read(
    part: KnowsWindow,
    texts: Sequence[str],
    role: Role,
    store: Store,
    needed: Indices | None = None,
    *,
    is_pair: bool = False,
) -> Lengths | None:
    """How long texts are for a model, and how much of each it reads; None if it reads all, or that is not known.

    What an endpoint cuts is measured by probes, unless the encoder's settings cut it first.

    Args:
        part: The component of the model.
        texts: Queries or passages.
        role: Which of the two.
        store: Keeps what is counted.
        needed: As in `token_counts`.
        is_pair: Whether the model reads a query and a passage together: so much of both.
    """
    prompt = part.prompt(role) if isinstance(part, Prompted) else ""
    if part.window is None:
        if isinstance(part, Encoder) and part.window_unit == "characters":  # of an endpoint
            return _lengths_by_probes(part, texts, role, store)
        return None
    if part.window_unit != "tokens":
        characters = np.array([len(text) for text in texts], dtype=np.int64)
        return Lengths(characters, part.window - len(prompt), part.window_unit)
    if (lengths := token_counts(texts, part.model, store, needed, as_read=True)) is None:
        return None
    file = file_of(part.model)

    def build() -> Arrays:
        return {"beside": np.array([tokens_beside(file, prompt, is_pair=is_pair)])}

    beside = store.get("beside", [digest_of_file(file), version("tokenizers"), prompt, is_pair], build)["beside"]
    return Lengths(lengths, part.window - int(beside[0]), part.window_unit)


def _lengths_by_probes(encoder: Encoder, texts: Sequence[str], role: Role, store: Store) -> Lengths | None:
    """How long texts are, and about how much of them an endpoint reads that cuts them without a word.

    The longest text is embedded again with other ends. It is cut before the first place from which on its end changes
    nothing, where another text changes much. Texts of other languages or tables may be cut elsewhere.

    Returns:
        None if the endpoint reads seven eighths of the longest text, fails, or tells by chance which ends differ.
    """
    longest = max(texts, key=len, default="")
    start, end, other = 0, len(longest), (OTHER_END * len(longest))[: len(longest)]
    for _ in range(PROBING_ROUNDS if end >= LEAST_PROBED else 0):
        places = np.linspace(start, end, PROBES + 2).astype(int).tolist()
        probes = [longest[:place] + other[: len(longest) - place] for place in places[1:-1]]
        try:
            embeddings = of_length_1(embed(encoder, store, [longest, other, *probes], role, corpus=False), encoder)
        except (EncoderError, ModelError):
            return None
        of_other, *changes = np.linalg.norm(embeddings[1:] - embeddings[0], axis=1)
        same = np.array(changes) < SAME_EMBEDDING * min(1, of_other)  # all texts are alike to some models
        if (end == len(longest) and not same[-1]) or (same[:-1] > same[1:]).any():
            return None
        first = int(np.append(same, True).argmax())
        start, end = places[first], places[first + 1]
    if end == len(longest):
        return None
    return Lengths(np.array([len(text) for text in texts], dtype=np.int64), end, "characters or so")
