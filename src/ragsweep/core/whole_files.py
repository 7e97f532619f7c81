"""Writes files whole or not at all, also in folders that others can write to.

Each file is written under a name that nobody can guess, and then renamed. So no link that somebody has put there is
followed, and nobody finds half of a file.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock


def write_new(path: Path, content: bytes) -> None:
    """Write a new file. Of several processes that do so at once, one succeeds.

    Raises:
        FileExistsError: Something has this name, even if it is a link to nothing.
        OSError: It cannot be written.
    """
    with _draft(path, content) as draft:
        path.open("xb").close()  # takes the name, and has the permissions of any new file
        shutil.copymode(path, draft)
        draft.replace(path)


@contextmanager
def locked(path: Path, seconds: float) -> Iterator[None]:
    """Let one process at a time read a file and write it.

    Raises:
        filelock.Timeout: Another process still had the file locked after so many seconds.
        OSError: The folder cannot be written to, or has something else with the name of the lock.
    """
    lock = path.with_name(f".{path.name}.lock")
    os.close(os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666))  # FileLock would try for ever if this fails
    with FileLock(lock, timeout=seconds):
        yield


@contextmanager
def _draft(path: Path, content: bytes) -> Iterator[Path]:
    """A file with the content in the same folder."""
    handle, name = tempfile.mkstemp(prefix=".ragsweep.", dir=path.parent)
    draft = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        yield draft
    finally:
        draft.unlink(missing_ok=True)
