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
    recorded = _identity(process)
    host, since = (one_line(text)[:80] for text in (recorded.host, recorded.since))
    return f"process {recorded.pid or '?'} on {host} since {since}"


def has_ended(process: str | None) -> bool | None:
    """Whether a process has ended; None if it was on another host or nothing is known of it.

    The identity comes from a store, where anybody may have written it.
    """
    recorded, own = _identity(process), _own(os.getpid())
    if (recorded.host, recorded.machine) != (own.host, own.machine) or not recorded.boot:
        return None
    if recorded.boot != own.boot:
        return True
    if recorded.namespace != own.namespace or not 0 < recorded.pid < 2**31:
        return None
    try:
        os.kill(recorded.pid, 0)  # only asks whether it is there
        running = Process(recorded.pid)
        return running.status() == STATUS_ZOMBIE or abs(_age(running) - recorded.age) > 1
    except PermissionError:  # of another user, of whose processes a system may hide all else
        return None
    except (ProcessLookupError, NoSuchProcess):
        return True


def _identity(process: str | None) -> Identity:
    """An identity; one of nobody if it cannot be read."""
    with suppress(MalformedError):
        return from_record(Identity, process or "")
    return Identity()
