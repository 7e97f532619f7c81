"""Which process a run belongs to, and whether that process is still there."""

from __future__ import annotations

import atexit
import json
import os
import socket
import uuid
from contextlib import suppress
from functools import cache
from pathlib import Path

import psutil
from filelock import FileLock, Timeout

from ragsweep.config import PROJECT

LOCKS = PROJECT / "mlruns" / "processes"


def identity() -> str:
    """This process, so that `is_gone` knows it again: its host, its number, and a file that it locks while it lives.

    The lock tells more than the number, which another process may bear after a restart or in another container; the
    system releases it however the process ends. The folder of locks has a name of its own, since another host may be
    called the same and have its project in the same place.
    """
    pid = os.getpid()
    lock = _lock(pid)
    return json.dumps({"host": socket.gethostname(), "pid": pid, "lock": lock, "locks": lock and _name(LOCKS)})


def is_gone(process: str | None) -> bool:
    """Whether the process of this identity has ended; False where it was on another host, or cannot be known."""
    try:
        known = json.loads(process or "")
        host, pid, lock, locks = known["host"], int(known["pid"]), str(known["lock"]), str(known["locks"])
    except (ValueError, TypeError, KeyError):
        return False
    if host != socket.gethostname():
        return False
    if not lock:
        return not psutil.pid_exists(pid)
    return lock != _lock(os.getpid()) and locks == _name(Path(lock).parent) and _is_free(Path(lock))


def forget_ended() -> None:
    """Delete the locks that ended processes have left."""
    for lock in LOCKS.glob("*.lock"):
        _is_free(lock)


def _is_free(lock: Path) -> bool:
    """Whether nobody holds this lock, which is deleted then; its file is there as long as its process lives."""
    if not lock.is_file():
        return True
    try:
        with FileLock(lock, timeout=0):
            lock.unlink(missing_ok=True)
        return True
    except (Timeout, OSError):
        return False


def _name(locks: Path) -> str | None:
    """The name of a folder of locks, given by whoever asks first; None where there is no such folder."""
    file = locks / "name"
    with suppress(OSError):
        if not file.exists():
            draft = locks / f".{uuid.uuid4().hex}"
            draft.write_text(uuid.uuid4().hex, encoding="ascii")
            with suppress(FileExistsError):
                os.link(draft, file)
            draft.unlink()
        return file.read_text(encoding="ascii")
    return None


@cache
def _lock(pid: int) -> str:
    """The path of a file that this process holds locked until it ends, or nothing where none can be written."""
    lock = FileLock(LOCKS / f"{pid}_{uuid.uuid4().hex[:8]}.lock")
    try:
        LOCKS.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except OSError:
        return ""
    atexit.register(_release, lock, pid)
    return str(lock.lock_file)


def _release(lock: FileLock, pid: int) -> None:
    if os.getpid() == pid:
        lock.release(force=True)
        Path(lock.lock_file).unlink(missing_ok=True)
