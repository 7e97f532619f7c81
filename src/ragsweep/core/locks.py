"""Locks files, also in folders that others can write to: no link that somebody has put there is followed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock


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
