"""Expensive intermediate results, stored on disk under a digest of their inputs, settings and code."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from glob import iglob
from itertools import accumulate
from pathlib import Path
from threading import Lock
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from filelock import FileLock

from ragsweep.core.digest import digest, digest_file
from ragsweep.core.limits import Between, Text
from ragsweep.core.parsing import from_json, read_text
from ragsweep.store.code import code_of_call

Arrays = Mapping[str, npt.NDArray[Any]]

CHECKSUMS = "checksums.json"  # of an entry's files; its modification time says when the entry was last used
LARGEST_CHECKSUMS_MB = 1
LOCK, PARTIAL, EVICTED = ".lock", ".partial", ".evicted"
DIGEST = re.compile("[0-9a-f]{64}")
GB = 10**9
MOST_ENTRIES_KEPT = 256  # every question uses those of the corpus, so that only those of earlier questions go

_verified: set[tuple[Path, int]] = set()  # entries that this process has verified, with their inode


@dataclass(frozen=True)
class Entry:
    """What the store holds for one stage and its inputs."""

    stage: str
    path: Path
    size: int
    used: float

    @classmethod
    def at(cls, path: Path) -> Entry:
        """The entry in a folder; raises `OSError` where it has just been evicted."""
        size = sum(file.stat().st_size for file in path.iterdir())
        return cls(path.parent.name, path, size, (path / CHECKSUMS).stat().st_mtime)

    @property
    def arrays(self) -> Arrays | None:
        """What it holds; None where it has just been evicted or is damaged. This does not count as a use."""
        return _load(self.path)


@dataclass(frozen=True)
class Store:
    """A folder of named arrays, `STAGE/DIGEST/NAME.npy`.

    An entry is complete or absent: it is written beside its place and then renamed into it, by one process at a time.
    An entry with a wrong checksum is built again. Beyond `max_gb`, the least recently used entries are deleted.

    Attributes:
        path: The folder.
        enabled: False builds everything again and writes nothing.
        max_gb: How large it may grow, in gigabytes (10^9 bytes); None sets no limit.
    """

    path: Text
    enabled: bool = True
    max_gb: Annotated[float, Between(0)] | None = None

    def get(self, stage: str, inputs: object, build: Callable[[], Arrays]) -> Arrays:
        """The arrays of a stage, from the store, or built and stored.

        Args:
            stage: Name of the stage.
            inputs: JSON-like value that determines the result, together with the code of `build`; has `code_of` of
                every object whose class may be a user's own.
            build: Computes the arrays.
        """
        if not self.enabled:
            return build()
        if (kept := self.find(stage, inputs, build)) is not None:
            return kept
        return self._put(self._entry(stage, inputs, build), build)

    def entries(self) -> Iterator[Entry]:
        """All entries, in no particular order."""
        for path in self._folders():
            with suppress(OSError):
                yield Entry.at(path)

    def arrays(self, stage: str) -> Iterator[Arrays]:
        """The arrays of every entry of a stage, in the order of their digests; this does not count as a use."""
        for path in sorted(self._folders(stage)):
            kept = _load(path)
            if kept is not None:
                yield kept

    def clear(self, entries: Iterable[Entry] | None = None) -> list[Path]:
        """Delete entries, or all of them; entries that another process is reading or building stay intact for it.

        Returns:
            The entries that could not be deleted.
        """
        if not self.enabled:
            return []
        stayed = []
        for path in list(self._folders()) if entries is None else [entry.path for entry in entries]:
            try:
                path.rename(path.with_suffix(EVICTED))  # so that nobody finds half of it
            except FileNotFoundError:  # another process was first
                continue
            except OSError:
                stayed.append(path)
        for left in self._folders(suffix=EVICTED):
            shutil.rmtree(left, ignore_errors=True)
        for partial in self._folders(suffix=PARTIAL):
            with suppress(OSError), FileLock(partial.with_suffix(LOCK), timeout=0):  # its process was killed
                shutil.rmtree(partial, ignore_errors=True)
        return stayed

    def find(self, stage: str, inputs: object, build: Callable[..., Arrays]) -> Arrays | None:
        """The arrays of a stage if they are kept; arguments as of `get`, and nothing is built."""
        entry = self._entry(stage, inputs, build)
        kept = _load(entry) if self.enabled else None
        if kept is not None:
            with suppress(OSError):  # a read-only store
                os.utime(entry / CHECKSUMS)
        return kept

    def _put(self, entry: Path, build: Callable[[], Arrays]) -> Arrays:
        """Store what is built, unless the store has it by then."""
        lock = FileLock(entry.with_suffix(LOCK))
        try:
            entry.parent.mkdir(parents=True, exist_ok=True)
            lock.acquire()
        except OSError as error:
            self._warn(error)
            return build()
        try:
            if (kept := _load(entry)) is not None:  # another process has built it while this one waited
                return kept
            arrays = build()
            self._keep(entry, arrays)
        finally:
            lock.release()
        self._shrink(entry)
        return arrays

    def _entry(self, stage: str, inputs: object, build: Callable[..., Arrays]) -> Path:
        return Path(self.path) / stage / digest([inputs, code_of_call(build)])

    def _folders(self, stage: str = "*", suffix: str = "") -> Iterator[Path]:
        """The folders of entries; other files, and those that somebody deletes meanwhile, are ignored."""
        for name in iglob(f"{stage}/*", root_dir=self.path) if self.enabled else ():  # noqa: PTH207
            path = Path(self.path, name)
            if path.suffix == suffix and DIGEST.fullmatch(path.stem):
                yield path

    def _shrink(self, newest: Path) -> None:
        """Delete the least recently used entries to make room, but never the newest, whatever its size."""
        if self.max_gb is None:
            return
        entries = sorted(self.entries(), key=lambda entry: (entry.path != newest, -entry.used))
        sizes = accumulate(entry.size for entry in entries)
        unwanted = [entry for entry, size in zip(entries, sizes, strict=True) if size > self.max_gb * GB]
        if unwanted := [entry for entry in unwanted if entry.path != newest]:
            self.clear(unwanted)

    def _keep(self, entry: Path, arrays: Arrays) -> None:
        """Write the entry completely or not at all; on a full disk the run goes on without storing."""
        partial = entry.with_suffix(PARTIAL)
        _delete(partial)  # left by a killed process; this one holds the lock
        try:
            partial.mkdir()
            for name, array in arrays.items():
                np.save(partial / f"{name}.npy", array, allow_pickle=False)
            checksums = {file.name: digest_file(file) for file in sorted(partial.iterdir())}
            (partial / CHECKSUMS).write_text(json.dumps(checksums), encoding="utf-8")
            _delete(entry)  # damaged, or renewed
            partial.rename(entry)
        except OSError as error:
            shutil.rmtree(partial, ignore_errors=True)
            self._warn(error)

    def _warn(self, error: OSError) -> None:
        _say(f"the store cannot write to {self.path} ({_reason(error)}): going on without it")


class CompleteStore(Store):
    """A store that raises `OSError` where it cannot write, as what is missing in it is of no use to others."""

    def _warn(self, error: OSError) -> None:
        raise OSError(error.errno, _reason(error), self.path) from error


NO_STORE = Store(path="", enabled=False)


@dataclass(frozen=True)
class ServingStore(Store):
    """Reads stages from another store, computes what that lacks, and keeps both in memory.

    To components it is a store that is not enabled, so that none writes files of its own beside it; it lists no entries
    and deletes none.

    Attributes:
        source: Is read only.
        most_kept: How many entries are kept in memory; then what was not used longest goes.
        built: The stages that were computed.
    """

    path: str = ""
    enabled: bool = False
    source: Store = NO_STORE
    most_kept: int = MOST_ENTRIES_KEPT
    built: set[str] = field(default_factory=set, compare=False, repr=False)
    _kept: OrderedDict[Path, Arrays] = field(default_factory=OrderedDict, compare=False, repr=False)
    _of_source: dict[str, list[Arrays]] = field(default_factory=dict, compare=False, repr=False)
    _lock: Lock = field(default_factory=Lock, compare=False, repr=False)

    def get(self, stage: str, inputs: object, build: Callable[[], Arrays]) -> Arrays:
        """The arrays of a stage, from memory, from the other store, or built."""
        arrays = self.find(stage, inputs, build)
        if arrays is None:
            self.built.add(stage)
            arrays = build()
        entry = self._entry(stage, inputs, build)
        with self._lock:
            self._kept[entry] = arrays
            self._kept.move_to_end(entry)
            while len(self._kept) > self.most_kept:
                self._kept.popitem(last=False)
        return arrays

    def find(self, stage: str, inputs: object, build: Callable[..., Arrays]) -> Arrays | None:
        """The arrays of a stage if they are in memory or in the other store."""
        kept = self._kept.get(self._entry(stage, inputs, build))
        return self.source.find(stage, inputs, build) if kept is None else kept

    def arrays(self, stage: str) -> Iterator[Arrays]:
        """The arrays of every entry of a stage; this counts as a use."""
        with self._lock:
            if stage not in self._of_source:
                self._of_source[stage] = [*self.source.arrays(stage)]
            own = [entry for entry in self._kept if entry.parent.name == stage]
            for entry in own:
                self._kept.move_to_end(entry)
            arrays = [*self._of_source[stage], *(self._kept[entry] for entry in own)]
        yield from arrays


def _reason(error: OSError) -> str:
    """Why a file cannot be written. numpy counts the bytes that found no room, and has no number."""
    return os.strerror(errno.ENOSPC) if error.errno in (None, errno.ENOSPC) else str(error.strerror)


def packed(texts: Iterable[str]) -> Arrays:
    """Texts as plain arrays: `utf8` holds their bytes one after another, `ends` the end of each text."""
    encoded = [text.encode() for text in texts]
    ends = np.cumsum([len(text) for text in encoded], dtype=np.int64)
    return {"utf8": np.frombuffer(b"".join(encoded), dtype=np.uint8), "ends": ends}


def unpacked(arrays: Arrays) -> list[str]:
    """The texts that `packed` turned into arrays."""
    utf8, ends = arrays["utf8"].tobytes(), arrays["ends"].tolist()
    return [utf8[start:end].decode() for start, end in zip([0, *ends], ends, strict=False)]


def _delete(path: Path) -> None:
    with suppress(OSError):
        path.unlink()
    shutil.rmtree(path, ignore_errors=True)


def _load(entry: Path) -> Arrays | None:
    """The arrays of an entry; None where it is absent or damaged, for example by a power cut."""
    if not (entry / CHECKSUMS).exists():
        return None
    try:
        checksums = from_json(read_text(entry / CHECKSUMS, LARGEST_CHECKSUMS_MB))
        _verify(entry, checksums)
        kept = {Path(name).stem: np.load(entry / name, mmap_mode="r", allow_pickle=False) for name in checksums}
    except (OSError, ValueError, EOFError, AttributeError, TypeError) as error:
        if entry.exists():  # else it was evicted just now
            _say(f"the store's {entry} is damaged ({error}): building it anew")
        return None
    return kept


def _verify(entry: Path, checksums: Mapping[str, str]) -> None:
    """Raise `ValueError` where a file has changed since it was written; each process checks an entry once."""
    written = (entry, (entry / CHECKSUMS).stat().st_ino)
    if written in _verified:
        return
    if not checksums:
        raise ValueError(f"{CHECKSUMS} lists no file")
    for name, checksum in checksums.items():
        if digest_file(entry / name) != checksum:
            raise ValueError(f"{name} is not what was written")
    _verified.add(written)


@cache
def _say(message: str) -> None:
    """Print a warning, once per process."""
    warnings.warn(message, stacklevel=2)
