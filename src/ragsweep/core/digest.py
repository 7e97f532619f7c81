"""Digests of values, texts and files, and versions of packages: what names a dataset or a stored result."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from functools import cache, cached_property
from importlib import metadata
from pathlib import Path


def digest(value: object) -> str:
    """Digest of a JSON-like value; mappings count the same in any order of their keys."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def shortened_with_digest(text: str, most: int) -> str:
    """The text, or where it is longer than `most` characters its beginning with a digest of the whole."""
    return text if len(text) <= most else f"{text[: most - 30]}... (sha256 {digest(text)[:16]})"


class DigestedTexts(tuple[str, ...]):
    """Texts whose digest is computed once: a corpus that is searched again and again."""

    @cached_property
    def digest(self) -> str:
        """The digest of the texts, as `digest_texts` computes it."""
        return digest_texts(iter(self))


def digest_texts(texts: Iterable[str]) -> str:
    """Digest of a sequence of texts, one at a time, so that a large corpus is never joined in memory."""
    if isinstance(texts, DigestedTexts):
        return texts.digest
    running = hashlib.sha256()
    for text in texts:
        encoded = text.encode()
        running.update(len(encoded).to_bytes(8, "little"))  # so that ["ab", "c"] and ["a", "bc"] differ
        running.update(encoded)
    return running.hexdigest()


def digest_file(path: Path) -> str:
    """Digest of a file's bytes, as `sha256sum` prints it."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@cache
def version(package: str) -> str:
    """The installed version of a package; another one may compute something else."""
    return metadata.version(package)
