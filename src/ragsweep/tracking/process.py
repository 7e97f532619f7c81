"""Which process a run belongs to, and whether that process is still there."""

from __future__ import annotations

import atexit
import json
import os
import re
import socket
import uuid
from contextlib import suppress
from functools import cache
from pathlib import Path

import psutil
from filelock import FileLock, Timeout

from ragsweep.core.parsing import MalformedError, from_json, read_text
from ragsweep.core.project import project

LOCK = re.compile(r"[0-9]{1,10}_[0-9a-f]{8}\.lock")  # the name of a file in it
UNLOCKABLE = (OSError, NotImplementedError)  # a file system without locks


def locks() -> Path:
    """The folder of locks of the project's processes."""
    return project() / "mlruns" / "processes"


def identity() -> str:
    """This process, so that `is_gone` knows it again: its host, its number, and a file that it locks while it lives.

    The lock tells more than the number, which another process may bear after a restart or in another container; the
    system releases it however the process ends. The folder of locks has a name of its own, since another host may be
    called the same and have its project in the same place.
    """
    pid = os.getpid()
    lock = _lock(pid)
    return json.dumps({"host": socket.gethostname(), "pid": pid, "lock": lock, "locks": lock and _name(locks())})


def is_gone(process: str | None) -> bool:
    """Whether the process of this identity has ended; False where it was on another host, or cannot be known.

    The identity comes from a store, where anybody may have written it: it names a lock, but never another folder.
    """
    try:
        known = from_json(process or "")
    except MalformedError:
        return False
    if not isinstance(known, dict) or known.get("host") != socket.gethostname():
        return False
    pid, lock, named = (known.get(name) for name in ("pid", "lock", "locks"))
    if lock == "":
        return type(pid) is int and 0 < pid < 2**31 and not psutil.pid_exists(pid)
    if not isinstance(lock, str) or named is None or named != _name(locks()):
        return False
    name = lock.removeprefix(f"{locks()}{os.sep}")  # earlier versions wrote the whole path
    return bool(LOCK.fullmatch(name)) and name != _lock(os.getpid()) and _is_free(locks() / name)


def forget_ended() -> None:
    """Delete the locks that ended processes have left."""
    for lock in locks().glob("*.lock"):
        _is_free(lock)


def _is_free(lock: Path) -> bool:
    """Whether the lock is free. Deletes it if so: its file is there only as long as its process lives."""
    if not lock.is_file():
        return True
    try:
        with FileLock(lock, timeout=0):
            lock.unlink(missing_ok=True)
        return True
    except (Timeout, *UNLOCKABLE):
        return False


def _name(locks: Path) -> str | None:
    """The name of a folder of locks, given by whoever asks first; None where there is no such folder."""
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
    """The name of a file in `locks()` that this process locks until it ends, or nothing where none can be written."""
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
