"""Which process a run belongs to, and whether that process is still there."""

from __future__ import annotations

import atexit
import json
import os
import re
import socket
import uuid
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from functools import cache
from pathlib import Path

import psutil
from filelock import FileLock, Timeout

from ragsweep.core.parsing import MalformedError, from_json, read_text
from ragsweep.core.project import project
from ragsweep.core.terminal import one_line

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
    since = f"{datetime.fromtimestamp(psutil.Process().create_time()):%Y-%m-%d %H:%M:%S}"
    where = {"host": socket.gethostname(), "pid": pid, "since": since}
    return json.dumps({**where, "lock": lock, "locks": lock and _name(locks())})


def described(process: str | None) -> str:
    """The process of this identity for a line on the terminal; whatever the identity says, it is short."""
    known = _known(process)
    words = (one_line(str(known.get(name, "?")))[:80] for name in ("pid", "host", "since"))
    return "process {} on {} since {}".format(*words)


def is_gone(process: str | None) -> bool:
    """Whether the process of this identity has ended; False where it was on another host, or cannot be known.

    The identity comes from a store, where anybody may have written it: it names a lock, but never another folder.
    """
    return _has_ended(process) is True


def is_alive(process: str | None) -> bool:
    """Whether the process of this identity is running on this host; False also where that cannot be known."""
    return _has_ended(process) is False


def _has_ended(process: str | None) -> bool | None:
    known = _known(process)
    if known.get("host") != socket.gethostname():
        return None
    pid, lock, named = (known.get(name) for name in ("pid", "lock", "locks"))
    if lock == "":
        return not psutil.pid_exists(pid) if type(pid) is int and 0 < pid < 2**31 else None
    if not isinstance(lock, str) or named is None or named != _name(locks()):
        return None
    name = lock.removeprefix(f"{locks()}{os.sep}")  # earlier versions wrote the whole path
    if not LOCK.fullmatch(name):
        return None
    return name != _lock(os.getpid()) and _is_free(locks() / name)


def _known(process: str | None) -> Mapping[str, object]:
    """What an identity says; nothing where it is not one."""
    with suppress(MalformedError):
        known = from_json(process or "")
        return known if isinstance(known, dict) else {}
    return {}


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
