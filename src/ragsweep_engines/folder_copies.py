"""Folders of databases of somebody else: engines write into what they open, so a copy is opened."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import IO, Any

from ragsweep.core.digest import digest, digest_file
from ragsweep.core.errors import RetrieverError

BYTES_AT_ONCE = 1 << 20  # bytes


def copy_of(folder: Path, engine: str, suffix: str = "") -> tempfile.TemporaryDirectory[str]:
    """A copy of a folder, which is deleted with the object that is returned.

    Args:
        folder: What is copied.
        engine: Begins the name of the copy.
        suffix: Ends it.

    Raises:
        RetrieverError: It has a link, which may lead anywhere, or a pipe, which may not end.
    """
    copy = tempfile.TemporaryDirectory(prefix=f"ragsweep-{engine}-", suffix=suffix)
    try:
        _copy(folder, Path(copy.name))
    except BaseException:
        copy.cleanup()
        raise
    return copy


def digest_of(folder: Path) -> str:
    """Digest of the files of a folder."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return digest([[path.relative_to(folder).as_posix(), digest_file(path)] for path in files])


def _copy(source: Path, target: Path) -> None:
    """Copy a folder with the holes of its files."""
    for path in source.rglob("*"):
        place = target / path.relative_to(source)
        if path.is_symlink():
            raise RetrieverError(f"retriever.path: {path} is a link, which no engine makes")
        if path.is_dir():
            place.mkdir(parents=True, exist_ok=True)
            continue
        if not path.is_file():
            raise RetrieverError(f"retriever.path: {path} is neither file nor folder, which no engine makes")
        place.parent.mkdir(parents=True, exist_ok=True)
        with path.open("rb") as file, place.open("wb") as copy:
            _copy_file(file, copy)


def _copy_file(file: IO[bytes], copy: Any) -> None:
    while block := file.read(BYTES_AT_ONCE):
        if block.strip(b"\0"):
            copy.write(block)
        else:
            copy.seek(len(block), 1)
    copy.truncate(file.tell())
