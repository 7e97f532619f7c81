"""Expensive intermediate results, kept on disk under the digest of everything that they depend on."""

from __future__ import annotations

import shutil
import tempfile
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from filelock import FileLock

from ragsweep.digest import digest

Arrays = Mapping[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class Store:
    """A folder of named arrays, `STAGE/DIGEST/NAME.npy`.

    An entry is complete or absent: it is written beside its place and then renamed into it, by one process at a time.

    Attributes:
        path: The folder.
        enabled: False builds everything anew and writes nothing.
    """

    path: str
    enabled: bool = True

    def get(self, stage: str, inputs: object, build: Callable[[], Arrays]) -> Arrays:
        """The arrays of a stage, from the store or built and kept.

        Args:
            stage: Name of the stage, with its version: another way to compute is another stage.
            inputs: JSON-like value that determines the result.
            build: Computes the arrays.
        """
        entry = Path(self.path) / stage / digest(inputs)
        if not self.enabled:
            return build()
        kept = _load(entry)
        if kept is not None or not _writable(entry.parent):
            return build() if kept is None else kept
        with FileLock(entry.with_suffix(".lock")):
            kept = _load(entry)  # another process may have built it while this one waited
            if kept is not None:
                return kept
            arrays = build()
            _keep(entry, arrays)
            return arrays


def _load(entry: Path) -> Arrays | None:
    """The arrays of an entry; None where it is absent or torn, as a power cut can leave it."""
    try:
        kept = {file.stem: np.load(file, mmap_mode="r", allow_pickle=False) for file in entry.glob("*.npy")}
    except (OSError, ValueError, EOFError) as error:
        warnings.warn(f"the store's {entry} is damaged ({error}): building it anew", stacklevel=3)
        return None
    return kept or None


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError as error:
        _warn(folder, error)
        return False


def _keep(entry: Path, arrays: Arrays) -> None:
    """Write the entry whole or not at all; a full disk costs the store, not the run."""
    partial = entry.with_suffix(".partial")
    for leftover in (partial, entry):  # of a process that was killed, or damaged: the lock is ours now
        shutil.rmtree(leftover, ignore_errors=True)
    try:
        partial.mkdir()
        for name, array in arrays.items():
            np.save(partial / f"{name}.npy", array, allow_pickle=False)
        partial.rename(entry)
    except OSError as error:
        shutil.rmtree(partial, ignore_errors=True)
        _warn(entry.parent, error)


def _warn(folder: Path, error: OSError) -> None:
    warnings.warn(f"the store cannot write to {folder} ({error}): going on without it", stacklevel=4)
