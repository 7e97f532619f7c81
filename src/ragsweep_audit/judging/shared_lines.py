"""A file of JSON lines to which several processes add, and which each of them reads on from where it was."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from socket import gethostname
from typing import Any, NamedTuple

from filelock import Timeout

from ragsweep.core.errors import ConfigError
from ragsweep.core.whole_files import locked

TABLE = "table "  # who holds what was handed out, before the name of the table
HELD_S = 900  # after which a question that was shown, and not answered, is shown to another judge
TABLE_HELD_S = 7 * 24 * 3600  # after which a table counts as lost
LONGEST_WAIT_S = 60  # seconds, for another process that writes a line


@dataclass(eq=False)
class SharedLines:
    """The file, up to where it was read.

    Attributes:
        path: The file.
        begins: What its first line begins with.
        offset: Where the next line begins, in bytes.
        lines: How many lines are before it.
    """

    path: Path
    begins: bytes
    offset: int = 0
    lines: int = 0

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes from reading and writing. Raises `ConfigError` where the file cannot be written."""
        try:
            with locked(self.path, LONGEST_WAIT_S):
                self.path.touch()
                yield
        except (OSError, Timeout) as error:
            raise ConfigError(f"{self.path}: cannot be written ({error})") from error

    def add(self, line: Mapping[str, Any]) -> int:
        """Add a line after the last whole one, wait until it is on the disk, and return where the next one begins.

        All others must have been read.
        """
        with self.path.open("r+b") as file:
            file.truncate(self.offset)
            file.seek(self.offset)
            file.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
            return file.tell()

    def new(self) -> Iterator[bytes]:
        """The whole lines that were added since."""
        with self.path.open("rb") as file:
            file.seek(self.offset)
            for line in file:
                if not line.endswith(b"\n"):  # a process was killed while it wrote this
                    if not self.offset and not line.startswith(self.begins[: len(line)]):
                        raise ConfigError(f"{self.path}: is no journal of judgments; name another file")
                    return
                yield line
                self.offset += len(line)
                self.lines += 1


class Holder(NamedTuple):
    """Who was asked a question that is not answered.

    Attributes:
        process: A process, or a table that was handed out.
        since: When it was asked.
    """

    process: str
    since: datetime

    def is_free_for(self, process: str) -> bool:
        """Whether it may be asked there: nobody else has it."""
        return self.process == process or has_ended(self.process)

    @property
    def is_late(self) -> bool:
        """Whether no answer is expected any more."""
        age = (datetime.now(UTC) - self.since).total_seconds()
        return age > (TABLE_HELD_S if self.process.startswith(TABLE) else HELD_S)


def this_process() -> str:
    """This process, among those that may share a file."""
    return f"{gethostname()}:{os.getpid()}"


def has_ended(process: str) -> bool:
    """Whether a process of this machine has ended; False of another machine, which cannot be asked."""
    host, _, number = process.rpartition(":")
    if host != gethostname() or not number.isdecimal():
        return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return False
