"""Reads the embeddings in a response of an OpenAI-compatible endpoint."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ragsweep.core.parsing import MalformedError, from_json
from ragsweep.core.terminal import counted
from ragsweep.models.language.endpoint import tokens_or_none

LARGEST = 1e6  # that the largest number of an embedding may be


class EmbeddingRows(NamedTuple):
    """The embeddings of a response.

    Attributes:
        rows: The embedding of each text, in the order of the texts, as it was sent.
        tokens_in: Tokens of the texts; None if not known.
    """

    rows: list[Any]
    tokens_in: int | None


def read_rows(body: bytes, texts: int) -> EmbeddingRows:
    """The embeddings of so many texts.

    Each belongs to the text with its index. Where none has an index, they are in the order of the texts. Where one
    lacks it, as servers leave out a 0, it belongs to the text that no other one belongs to.

    Raises:
        MalformedError: It is no list of embeddings, or not one for each text.
    """
    try:
        response = from_json(body.decode("utf-8-sig"), allow_nan=True)
        data = response["data"]
        indices = [row.get("index") for row in data]
        embeddings = [row["embedding"] for row in data]
        usage = response.get("usage")
        tokens_in = tokens_or_none(usage.get("prompt_tokens")) if isinstance(usage, dict) else None
    except (UnicodeDecodeError, MalformedError, LookupError, TypeError, AttributeError) as error:
        raise MalformedError("is no list of embeddings") from error
    if len(data) != texts:
        found = counted(len(data), "embedding")
        raise MalformedError(f"has {found}, expected one for each of {counted(texts, 'text')}")
    order = _order(indices)
    return EmbeddingRows([_numbers(embeddings[order[text]]) for text in range(texts)], tokens_in)


def _order(indices: Sequence[object]) -> dict[Any, int]:
    """The row of each text."""
    if all(each is None for each in indices):
        return {row: row for row in range(len(indices))}
    left = [text for text in range(len(indices)) if text not in indices]
    given = [left[0] if each is None and len(left) == 1 else each for each in indices]
    if any(type(each) is not int for each in given) or sorted(map(repr, given)) != sorted(map(repr, range(len(given)))):
        raise MalformedError(f"has embeddings with other indices than 0 to {len(given) - 1}, each once")
    return {text: row for row, text in enumerate(given)}


def _numbers(embedding: Any) -> Any:
    """An embedding; some servers send the bytes of its numbers in 32 bits as base64, also where a list is asked for."""
    if not isinstance(embedding, str):
        return embedding
    try:
        numbers = np.frombuffer(base64.b64decode(embedding, validate=True), "<f4")
    except (binascii.Error, ValueError) as error:
        raise MalformedError("has an embedding that is no base64 of numbers in 32 bits") from error
    largest = np.abs(numbers).max(initial=0)
    if largest > LARGEST or 0 < largest < 1 / LARGEST:  # bytes of 8 or 16 bits each
        raise MalformedError("has an embedding that is base64 of other numbers than those in 32 bits")
    return numbers.tolist()
