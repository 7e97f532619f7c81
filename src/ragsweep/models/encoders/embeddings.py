"""Embeddings of many texts, kept in the store: a text that was encoded once, in any corpus, is not encoded again."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import partial
from itertools import chain
from typing import get_args

import numpy as np
import numpy.typing as npt

from ragsweep.core.arrays import Milliseconds
from ragsweep.core.digest import digest, digest_texts
from ragsweep.core.errors import EncoderError
from ragsweep.core.progress import progress
from ragsweep.core.terminal import counted
from ragsweep.core.timing import timed, with_note, without_note
from ragsweep.models.encoders.encoder import ENCODED_AT_ONCE, Embeddings, Encoder, Role
from ragsweep.store.code import digest_of_module, kind_of
from ragsweep.store.identity import identity
from ragsweep.store.stage_store import Arrays, Store

Digests = npt.NDArray[np.bytes_]

DIGEST_BYTES = 16
LENGTH_ERROR = 1e-3  # of the length of an embedding
LARGEST_NORM = 1e15  # length of an embedding: a score is a product of two


def _stage_of(encoder: Encoder, role: Role) -> str:
    full = encoder.unreduced.for_role(role)
    return f"embeddings-{digest([digest_of_module(__name__), identity(full), role])[:16]}"


def has_kept(encoder: Encoder, store: Store) -> bool:
    """Whether a store has any embeddings of an encoder."""
    stages = tuple(_stage_of(encoder, role) for role in get_args(Role))
    return store.enabled and any(entry.stage.startswith(stages) for entry in store.entries())


def embed(encoder: Encoder, store: Store, texts: Sequence[str], role: Role, *, corpus: bool = True) -> Embeddings:
    """The embeddings of texts, shape [texts, dimensions], mapped from the store's file once they are there.

    They are kept in all dimensions, also where the encoder's setting `dimensions` asks for the first of them only.
    Texts that the store has from another corpus, from a smaller one or from a process that was killed are taken from
    there. The result is that of one fresh encoding if an embedding depends on its text alone.

    Args:
        encoder: Is asked for what is missing, for no text twice, and for `piece` texts before they are kept.
        store: Keeps an entry a corpus, under a stage of the encoder's own.
        texts: Passages or queries; the same text may be there several times.
        role: Which of the two.
        corpus: Whether passages are a whole corpus. Some of one may well have the same embedding.

    Raises:
        EncoderError: What the encoder returned is no embeddings, the same one for every passage of a corpus, or has
            fewer dimensions than are asked for.
    """
    full, stage = encoder.unreduced.for_role(role), _stage_of(encoder, role)
    pieces = f"{stage}-pieces"  # of a corpus that is being encoded, or was when its process was killed

    def encoded(piece: Sequence[str]) -> Arrays:
        return {"digests": digests_of(piece), "embeddings": check_embeddings(full.encode(piece, role), full, piece)}

    def build() -> Arrays:
        digests = digests_of(texts)
        missing = np.sort(np.unique(digests, return_index=True)[1])
        parts = []
        for entry in chain(store.arrays(stage), store.arrays(pieces)):
            new = np.isin(digests[missing], entry["digests"])
            if new.any():
                parts.append(entry)
                missing = missing[~new]
            if not len(missing):
                break
        with progress(f"encoding {counted(len(missing), role)}", len(missing)) as shown:
            for start in range(0, len(missing), encoder.piece):
                piece = [texts[row] for row in missing[start : start + encoder.piece]]
                if len(missing) <= encoder.piece:
                    parts.append(encoded(piece))
                else:
                    parts.append(store.get(pieces, digest_texts(piece), partial(encoded, piece)))
                shown.update(start + len(piece) - shown.n)  # an encoder need not say how far it is
        dimensions = sorted({part["embeddings"].shape[1] for part in parts})
        if len(dimensions) > 1:
            raise EncoderError(f"{kind_of(encoder)}: embeds texts in {dimensions} dimensions, expected the same")
        embeddings = np.empty((len(texts), *dimensions), dtype=np.float32)
        for part in reversed(parts):  # the first one counts
            theirs, first = np.unique(part["digests"], return_index=True)
            place = np.searchsorted(theirs, digests).clip(max=len(theirs) - 1)
            rows = np.flatnonzero(theirs[place] == digests)
            embeddings[rows] = part["embeddings"][first[place[rows]]]
        return checked({"digests": digests, "embeddings": embeddings})

    def checked(kept: Arrays) -> Arrays:
        embeddings = kept["embeddings"]
        blocks = (embeddings[start : start + ENCODED_AT_ONCE] for start in range(0, len(embeddings), ENCODED_AT_ONCE))
        if role == "passage" and corpus and all((rows == embeddings[0]).all() for rows in blocks):
            different = len(np.unique(kept["digests"]))
            if different > 1:
                flaw = f"{kind_of(encoder)}: gives {different} different passages the same embedding"
                raise EncoderError(f"{flaw}; if they differ beyond what it reads, chunker=recursive cuts them smaller")
        return kept

    kept = checked(store.get(stage, digest_texts(texts), build))  # they may have been kept as a part of a corpus
    left = [(entry, entry.arrays) for entry in store.entries() if entry.stage == pieces]
    # Others may be of a corpus that another process is encoding: after a kill it would go on from them.
    store.clear(entry for entry, piece in left if piece and np.isin(piece["digests"], kept["digests"]).all())
    return encoder.reduce(kept["embeddings"])


def encoding_ms(encoder: Encoder, store: Store, queries: Sequence[str]) -> Milliseconds:
    """Milliseconds of encoding each query on its own, shape [queries], as of `timed`; timed once and kept."""
    encoder = encoder.unreduced.for_role("query")

    def encode(row: int) -> None:
        encoder.encode([queries[row]], "query")

    def build() -> Arrays:
        return with_note(lambda: {"ms": timed(encode, len(queries), encoder.most_timed)})

    return without_note(store.get("encoding", [identity(encoder), digest_texts(queries)], build))["ms"]


def digests_of(texts: Sequence[str]) -> Digests:
    """A short digest of each text, shape [texts]."""
    return np.array([hashlib.sha256(text.encode()).digest()[:DIGEST_BYTES] for text in texts], f"S{DIGEST_BYTES}")


def check_embeddings(embeddings: object, encoder: Encoder, texts: Sequence[str]) -> Embeddings:
    """The embeddings that an encoder returned for these texts, checked.

    Raises:
        EncoderError: It is not an array of finite floats, or not [texts, dimensions], or a row's length is not 1 and
            the encoder does not say that its embeddings are compared by inner products.
    """
    name = kind_of(encoder)
    if not isinstance(embeddings, np.ndarray) or isinstance(embeddings, np.ma.MaskedArray):
        raise EncoderError(f"{name}: returned {type(embeddings).__name__}, expected an array of float32")
    if embeddings.dtype.kind != "f":
        raise EncoderError(f"{name}: returned an array of {embeddings.dtype}, expected float32")
    if embeddings.ndim != 2 or len(embeddings) != len(texts) or not embeddings.shape[1]:
        expected = f"[{len(texts)} texts, dimensions]"
        raise EncoderError(f"{name}: returned embeddings of shape {[*embeddings.shape]}, expected {expected}")
    with np.errstate(over="ignore"):
        lengths = np.linalg.norm(embeddings.astype(np.float64, copy=False), axis=1)
    any_length = encoder.similarity == "dot"
    wrong = ~(lengths <= LARGEST_NORM if any_length else np.abs(lengths - 1) <= LENGTH_ERROR)  # also True for NaN
    if wrong.any():
        row = int(wrong.argmax())
        expected = f"at most {LARGEST_NORM:g}" if any_length else "1"
        raise EncoderError(
            f"{name}: the embedding of text {row} of {len(texts)} has length {lengths[row]:g}, expected {expected}"
        )
    return np.asarray(embeddings).astype(np.float32, copy=False)
