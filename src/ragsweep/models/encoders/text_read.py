"""How much of a text a model reads: its window, or what probes show of an endpoint that cuts texts silently."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ragsweep.core.arrays import Indices
from ragsweep.core.digest import version
from ragsweep.core.errors import EncoderError, ModelError
from ragsweep.core.terminal import say_once
from ragsweep.models.encoders.embeddings import embed
from ragsweep.models.encoders.encoder import Encoder, Role, TextModel
from ragsweep.models.encoders.model_files import digest_of_file
from ragsweep.models.encoders.token_counts import counts_of
from ragsweep.models.encoders.tokenizer import tokens_beside
from ragsweep.store.stage_store import Arrays, Store

LEAST_PROBED = 400  # characters of the longest text: every endpoint reads less
PROBES, PROBING_ROUNDS = 7, 3
OTHER_END = "zero 1 two 3 four 5 "
SAME_EMBEDDING = 0.005  # length of the difference of two embeddings of length 1: rounding, also in 16 bits


class Lengths(NamedTuple):
    """How long texts are, and how much of each a model reads beside its prompt and special tokens.

    Attributes:
        lengths: Of each text, shape [texts].
        read: How much of a text is read; of a pair of texts, how much of both, if the model reads pairs.
        unit: Of both: tokens, or characters.
    """

    lengths: Indices
    read: int
    unit: str


def lengths_read(
    model: TextModel, texts: Sequence[str], role: Role, store: Store, needed: Indices | None = None
) -> Lengths | None:
    """How long texts are for a model, and how much of each it reads; None if it reads all, or that is not known.

    What an endpoint cuts is measured by probes, unless the encoder's settings cut it first.

    Args:
        model: The component of the model.
        texts: Queries or passages.
        role: Which of the two.
        store: Keeps what is counted.
        needed: As in `counts_of`.
    """
    prompt, window, file = model.prompt(role), model.window, model.tokenizer_file
    if model.window_unit == "characters":
        if window is not None:
            return Lengths(_characters(texts), window - len(prompt), "characters")
        return _lengths_by_probes(model, texts, role, store) if isinstance(model, Encoder) else None
    if window is None:
        return None
    if file is None:
        say_once(f"{model.model}: nobody knows whether it reads texts to their end (it has no tokenizer.json)")
        return None

    def build() -> Arrays:
        return {"beside": np.array([tokens_beside(file, prompt, is_pair=model.reads_pairs)])}

    lengths = counts_of(texts, file, store, needed)["tokens"]
    beside = store.get("beside", [digest_of_file(file), version("tokenizers"), prompt, model.reads_pairs], build)
    return Lengths(lengths, window - int(beside["beside"][0]), model.window_unit)


def _characters(texts: Sequence[str]) -> Indices:
    return np.array([len(text) for text in texts], dtype=np.int64)


def _lengths_by_probes(encoder: Encoder, texts: Sequence[str], role: Role, store: Store) -> Lengths | None:
    """The lengths of texts, and about how much of each an endpoint reads that cuts texts silently.

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
            embeddings = encoder.of_length_1(embed(encoder, store, [longest, other, *probes], role, corpus=False))
        except (EncoderError, ModelError):
            return None
        of_other, *changes = np.linalg.norm(embeddings[1:] - embeddings[0], axis=1)
        is_same = np.array(changes) < SAME_EMBEDDING * min(1, of_other)  # all texts are alike to some models
        if (end == len(longest) and not is_same[-1]) or (is_same[:-1] > is_same[1:]).any():
            return None
        first = int(np.append(is_same, True).argmax())
        start, end = places[first], places[first + 1]
    return Lengths(_characters(texts), end, "characters or so") if end < len(longest) else None
