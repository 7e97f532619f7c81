"""Counts the tokens that a model does not know: most of those of a text in a script that it was not made for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from ragsweep.core.capability import Capability, offered_with
from ragsweep.core.digest import digest_texts, version
from ragsweep.core.timing import sample
from ragsweep.models.encoders.model_files import digest_of_file
from ragsweep.models.encoders.tokenizer import letters_of, opened, unknown_token
from ragsweep.store.code import digest_of_module
from ragsweep.store.stage_store import Arrays, Store

TEXTS_SAMPLED = 10_000  # texts whose tokens are counted, which takes seconds; of more, so many that are evenly spread
TOKENIZED_AT_ONCE = 1_000  # texts whose tokens are in memory


@offered_with("encode", "rank")
@runtime_checkable
class HasTokenizer(Capability, Protocol):
    """A component whose model has a tokenizer on this machine."""

    @property
    def model(self) -> str:
        """The name of the model."""
        ...

    @property
    def tokenizer_file(self) -> Path | None:
        """The tokenizer, as the library `tokenizers` saves it; None if there is none."""
        ...


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


def unknown_tokens(texts: Sequence[str], file: Path, store: Store) -> Counted:
    """The unknown tokens of texts.

    A tokenizer that falls back to bytes knows every token. An unknown token of a script without spaces, which may be a
    whole page, counts as its letters.

    Args:
        texts: Of more than `TEXTS_SAMPLED`, a part is counted.
        file: The tokenizer.
        store: Keeps the counts.
    """
    rows = sample(len(texts), TEXTS_SAMPLED).tolist()
    some = [texts[row].replace("\f", " ") for row in rows]  # as the encoder reads them

    def build() -> Arrays:
        counts = np.zeros(2, dtype=np.int64)
        for start in range(0, len(some), TOKENIZED_AT_ONCE):
            piece = some[start : start + TOKENIZED_AT_ONCE]
            for text, each in zip(piece, opened(file).encode_batch(piece, add_special_tokens=False), strict=True):
                spans = [span for id, span in zip(each.ids, each.offsets, strict=True) if id == unknown_token(file)]
                unknown = sum(len(letters_of(text, *span)) for span in spans)
                counts += unknown, len(each) - len(spans) + unknown
        return {"counts": counts}

    inputs = [digest_of_module(__name__), digest_of_file(file), version("tokenizers"), digest_texts(some)]
    unknown, tokens = store.get("unknown-tokens", inputs, build)["counts"].tolist()
    return Counted(unknown, tokens, len(some))
