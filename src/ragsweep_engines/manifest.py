"""What is noted of a collection when it is built, and whether it still has that when it is opened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ragsweep.core.digest import digest
from ragsweep.core.errors import RetrieverError
from ragsweep.core.terminal import one_line, say_once, shortened
from ragsweep.models.encoders.encoder import Embeddings

SAMPLED = 64  # passages whose vectors are read again when a collection is opened


class DamagedError(RetrieverError):
    """A collection of ours that does not have what was written."""


def sampled(passages: int) -> list[int]:
    """The passages whose vectors are compared, evenly spread from the first to the last."""
    return sorted({*np.linspace(0, passages - 1, min(SAMPLED, passages)).astype(int).tolist()})


def manifest(embeddings: Embeddings) -> dict[str, Any]:
    """What a complete collection of these embeddings has: their number, and a digest of some of them."""
    rows = sampled(len(embeddings))
    return {"passages": len(embeddings), "sample": _digest(dict(zip(rows, embeddings[rows], strict=True)))}


def check_manifest(noted: Mapping[str, Any], passages: int, vectors: Mapping[int, Sequence[float]]) -> None:
    """Raise `DamagedError` if a collection does not have what was noted of it.

    Args:
        noted: Has what `manifest` returned.
        passages: How many it has now.
        vectors: Those of the passages of `sampled`, as far as it has them.
    """
    if noted["passages"] != passages:
        raise DamagedError(f"has {passages:,} passages, expected {noted['passages']:,}")
    if noted["sample"] != _digest(vectors):
        raise DamagedError("has other vectors than were written")


def expect_noted(noted: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    """Raise `DamagedError` if what was noted cannot be read, or is not of the collection that is expected."""
    if not (type(noted.get("passages")) is int and type(noted.get("sample")) is str):
        raise DamagedError("what was noted of it cannot be read")
    for name, value in expected.items():
        if noted.get(name) != value:
            found = shortened(one_line(repr(noted.get(name))))
            raise DamagedError(f"is said to have another {name} ({found}, expected {value!r})")


def say_damaged(index: str, place: object, error: Exception) -> None:
    """Say in one line that a collection is built again, and why."""
    say_once(f"index={index}: the collection {place} is damaged ({one_line(str(error))}): building it again")


def _digest(vectors: Mapping[int, Sequence[float]]) -> str:
    """Digest of vectors in single precision; 0.0 and -0.0, which not every engine tells apart, count the same."""
    return digest(
        [[row, (np.asarray(vector, np.float32) + np.float32(0)).tolist()] for row, vector in sorted(vectors.items())]
    )
