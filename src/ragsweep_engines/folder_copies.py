"""Folders of databases of somebody else: engines write into what they open, so a copy is opened."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from ragsweep.core.digest import digest, digest_file
from ragsweep.core.errors import RetrieverError, first_line

BYTES_AT_ONCE = 1 << 20  # bytes


def copy_of(folder: Path, fingerprint: str, engine: str) -> tempfile.TemporaryDirectory[str]:
    """A copy of a folder, which is deleted with the object that is returned.

    Args:
        folder: What is copied.
        fingerprint: Its digest from before. If the copy has the same, all of its files are of one moment between.
        engine: Begins the name of the copy.

    Raises:
        RetrieverError: It has a link, which may lead anywhere, or a pipe, which may not end; or it has changed.
    """
    copy = tempfile.TemporaryDirectory(prefix=f"ragsweep-{engine}-")
    try:
        with _reading(folder):
            _copy(folder, Path(copy.name))
        if digest_of(Path(copy.name)) != fingerprint:
            raise _changing(folder)
    except BaseException:
        copy.cleanup()
        raise
    return copy


def digest_of(folder: Path) -> str:
    """Digest of the files of a folder. Raises `RetrieverError` if one cannot be read."""
    with _reading(folder):
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        return digest([[path.relative_to(folder).as_posix(), digest_file(path)] for path in files])


def _changing(folder: Path) -> RetrieverError:
    return RetrieverError(
        f"retriever.path: {folder} changed while it was read; stop what writes to it, and start again"
    )


@contextmanager
def _reading(folder: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise _changing(folder) from error
    except OSError as error:
        raise RetrieverError(f"retriever.path: {folder} cannot be read or copied ({first_line(error)})") from error


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
