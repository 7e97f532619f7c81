"""Which process a run belongs to, and whether that process is still running."""

from __future__ import annotations

import atexit
import json
import os
import re
import socket
import uuid
from contextlib import suppress
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import NamedTuple

import psutil
from filelock import FileLock, Timeout

from ragsweep.core.json_records import from_record
from ragsweep.core.parsing import MalformedError, read_text
from ragsweep.core.project import project
from ragsweep.core.terminal import one_line

LOCK = re.compile(r"[0-9]{1,10}_[0-9a-f]{8}\.lock")  # the name of a process's lock
UNLOCKABLE = (OSError, NotImplementedError)  # what a file system without locks raises


class Identity(NamedTuple):
    """A process, and the file in `locks()` that it locks while it runs: its name, and the folder's unique name."""

    host: str = "?"
    pid: int = 0
    since: str = "?"
    lock: str | None = None
    locks: str | None = None


def locks() -> Path:
    """The folder of the locks of this project's processes."""
    return project() / "mlruns" / "processes"


def process_identity() -> str:
    """The identity of this process, as JSON: its host, its id, its start, and a file that it locks while it runs.

    The lock says more than the id, which another process can have after a restart or in another container. The system
    releases the lock however the process ends. The folder of locks has a unique name, because another host may have
    the same name and its project in the same place.
    """
    pid = os.getpid()
    lock = _lock(pid)
    since = f"{datetime.fromtimestamp(psutil.Process().create_time()):%Y-%m-%d %H:%M:%S}"
    return json.dumps(Identity(socket.gethostname(), pid, since, lock, lock and _name(locks()))._asdict())


def described(process: str | None) -> str:
    """A process in words, for a message to the user. Short, whatever the identity contains."""
    known = _known(process)
    host, since = (one_line(text)[:80] for text in (known.host, known.since))
    return f"process {known.pid or '?'} on {host} since {since}"


def is_gone(process: str | None) -> bool:
    """Whether the process with this identity has ended. False if it was on another host or nothing is known of it.

    The identity comes from a store, where anybody may have written it. It can name a lock, but never another folder.
    """
    return _has_ended(process) is True


def is_alive(process: str | None) -> bool:
    """Whether the process with this identity is running on this host. False if nothing is known of it."""
    return _has_ended(process) is False


def _has_ended(process: str | None) -> bool | None:
    known = _known(process)
    lock = known.lock
    if known.host != socket.gethostname() or lock is None:
        return None
    if lock == "":
        return not psutil.pid_exists(known.pid) if 0 < known.pid < 2**31 else None
    if known.locks is None or known.locks != _name(locks()) or not LOCK.fullmatch(lock):
        return None
    return lock != _lock(os.getpid()) and _is_free(locks() / lock)


def _known(process: str | None) -> Identity:
    """An identity; one of nobody if it cannot be read."""
    with suppress(MalformedError):
        return from_record(Identity, process or "")
    return Identity()


def forget_ended() -> None:
    """Delete the locks of processes that have ended."""
    for lock in locks().glob("*.lock"):
        _is_free(lock)


def _is_free(lock: Path) -> bool:
    """Whether nobody holds the lock. Then deletes its file."""
    if not lock.is_file():
        return True
    try:
        with FileLock(lock, timeout=0):
            lock.unlink(missing_ok=True)
        return True
    except (Timeout, *UNLOCKABLE):
        return False


def _name(locks: Path) -> str | None:
    """The unique name of a folder of locks, written into it on first use. None if the folder does not exist."""
    file = locks / "name"
    with suppress(OSError, MalformedError):
        if not file.exists():
            draft = locks / f".{uuid.uuid4().hex}"
            draft.write_text(uuid.uuid4().hex, encoding="ascii")
            with suppress(FileExistsError):
                os.link(draft, file)
            draft.unlink()
        return read_text(file, 0.001)
    return None


@cache
def _lock(pid: int) -> str:
    """The name of the file in `locks()` that this process locks until it ends. Empty if none can be written."""
    lock = FileLock(locks() / f"{pid}_{uuid.uuid4().hex[:8]}.lock")
    try:
        locks().mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except UNLOCKABLE:
        return ""
    atexit.register(_release, lock, pid)
    return Path(lock.lock_file).name


def _release(lock: FileLock, pid: int) -> None:
    if os.getpid() == pid:
        lock.release(force=True)
        Path(lock.lock_file).unlink(missing_ok=True)
