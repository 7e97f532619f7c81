"""Which process a run belongs to, and whether that process is still there."""

from __future__ import annotations

import atexit
import json
import os
import socket
import uuid
from functools import cache
from pathlib import Path

import psutil
from filelock import FileLock, Timeout

from ragsweep.config import PROJECT

LOCKS = PROJECT / "mlruns" / "processes"


def identity() -> str:
    """This process, as `is_gone` knows it again: its host, its number, and a file that it locks while it lives.

    The lock tells more than the number, which another process may bear after a restart or in another container; the
    system releases it however the process ends.
    """
    pid = os.getpid()
    return json.dumps({"host": socket.gethostname(), "pid": pid, "lock": _lock(pid)})


def is_gone(process: str | None) -> bool:
    """Whether the process of this identity has ended; False where it was on another host, or cannot be known."""
    try:
        known = json.loads(process or "")
        host, pid, lock = known["host"], int(known["pid"]), str(known["lock"])
    except (ValueError, TypeError, KeyError):
        return False
    if host != socket.gethostname() or pid == os.getpid():
        return False
    if lock and not Path(lock).parent.is_dir():  # of a container or a project that is not seen from here
        return False
    if not Path(lock).is_file():
        return not psutil.pid_exists(pid)
    try:
        with FileLock(lock, timeout=0):
            Path(lock).unlink(missing_ok=True)
        return True
    except (Timeout, OSError):
        return False


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
