"""Which process a run belongs to, and whether that process is still running."""

from __future__ import annotations

import json
import os
import socket
from contextlib import suppress
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import NamedTuple

from psutil import STATUS_ZOMBIE, NoSuchProcess, Process, boot_time

from ragsweep.core.json_records import from_record
from ragsweep.core.parsing import MalformedError
from ragsweep.core.terminal import one_line


class Identity(NamedTuple):
    """A process.

    Attributes:
        host: The name of its host.
        machine: The id of that machine, of which several can have the same name.
        boot: The id of that machine's start: a process of an earlier one has ended.
        namespace: In which namespace its number is one, such as that of a container.
        pid: Its number, which another process can have later.
        age: How many seconds after the machine it started.
        since: When it started, for people.
    """

    host: str = "?"
    machine: str = ""
    boot: str = ""
    namespace: str = ""
    pid: int = 0
    age: float = 0.0
    since: str = "?"


def process_identity() -> str:
    """The identity of this process, as JSON."""
    return json.dumps(_own(os.getpid())._asdict())


@cache
def _own(pid: int) -> Identity:
    files = [Path("/etc/machine-id"), Path("/proc/sys/kernel/random/boot_id")]
    machine, boot = (file.read_text("ascii").strip() if file.exists() else "" for file in files)
    process = Process(pid)
    since = f"{datetime.fromtimestamp(process.create_time()):%Y-%m-%d %H:%M:%S}"
    namespace = str(Path("/proc/self/ns/pid").readlink())
    return Identity(socket.gethostname(), machine, boot, namespace, pid, _age(process), since)


def _age(process: Process) -> float:
    return float(process.create_time() - boot_time())  # neither changes alone when somebody sets the clock


def described(process: str | None) -> str:
    """A process in words, for a message to the user. Short, whatever the identity contains."""
    known = _known(process)
    host, since = (one_line(text)[:80] for text in (known.host, known.since))
    return f"process {known.pid or '?'} on {host} since {since}"


def is_gone(process: str | None) -> bool:
    """Whether the process with this identity has ended. False if it was on another host or nothing is known of it."""
    return has_ended(process) is True


def has_ended(process: str | None) -> bool | None:
    """Whether a process has ended; None if it was on another host or nothing is known of it.

    The identity comes from a store, where anybody may have written it.
    """
    known, own = _known(process), _own(os.getpid())
    if (known.host, known.machine) != (own.host, own.machine) or not known.boot:
        return None
    if known.boot != own.boot:
        return True
    if known.namespace != own.namespace or not 0 < known.pid < 2**31:
        return None
    try:
        os.kill(known.pid, 0)  # only asks whether it is there
        running = Process(known.pid)
        return running.status() == STATUS_ZOMBIE or abs(_age(running) - known.age) > 1
    except PermissionError:  # of another user, of whose processes a system may hide all else
        return None
    except (ProcessLookupError, NoSuchProcess):
        return True


def _known(process: str | None) -> Identity:
    """An identity; one of nobody if it cannot be read."""
    with suppress(MalformedError):
        return from_record(Identity, process or "")
    return Identity()
