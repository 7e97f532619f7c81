"""A file of JSON lines to which one process at a time adds."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import Timeout

from ragsweep.core.errors import ConfigError
from ragsweep.core.locks import locked


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
        """Keep other processes from writing. Raises `ConfigError` where one does, or the file cannot be written."""
        try:
            lock = ExitStack()
            lock.enter_context(locked(self.path, 0))
            self.path.touch()
        except Timeout as error:
            used = "is in use by another ragsweep judge; end that one, or name another file with --journal"
            raise ConfigError(f"{self.path}: {used}") from error
        except OSError as error:
            raise ConfigError(f"{self.path}: cannot be written ({error})") from error
        with lock:
            yield

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
