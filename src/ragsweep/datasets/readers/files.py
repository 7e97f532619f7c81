"""Finds the files of a corpus."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Literal, NoReturn

from ragsweep.core.errors import DatasetError

NO_DOCUMENTS = ("._", ".DS_Store", "~$")  # begin the names of what macOS keeps beside files, and of what Word has open


def kind_at(path: Path) -> Literal["a file", "a folder", "neither a file nor a folder", None]:
    """What a path points to, following links. None if nothing exists there.

    Raises:
        DatasetError: The path cannot be read, for example because of permissions.
    """
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:  # a null character raises ValueError
        reason = error.strerror if isinstance(error, OSError) else error
        raise DatasetError(f"{str(path)!r}: cannot be read ({reason})") from error
    if stat.S_ISREG(mode):
        return "a file"
    return "a folder" if stat.S_ISDIR(mode) else "neither a file nor a folder"


def files_at(root: Path, setting: str, expected: str, suffix: str | None = None) -> dict[str, Path]:
    """A file, or the files with this suffix in a folder, by their names relative to the folder, in a stable order.

    Args:
        root: The file or folder.
        setting: The setting that names it, for error messages.
        expected: What it should be, for error messages.
        suffix: As in `files_below`.

    Raises:
        DatasetError: It is neither a file nor a folder, or cannot be listed.
    """
    kind = kind_at(root)
    if kind == "a file":
        return {root.name: root}
    if kind != "a folder":
        raise DatasetError(f"{setting}: {root} {f'is {kind}' if kind else 'does not exist'}; expected {expected}")
    return {path.relative_to(root).as_posix(): path for path in files_below(root, suffix)}


def files_below(root: Path, suffix: str | None) -> list[Path]:
    """The files with this suffix, or with any, in a folder and its subfolders, in a stable order.

    Not those that macOS (`._a.pdf`) and Word (`~$a.docx`) keep beside a file. Follows links to folders, except to those
    below or above `root`, so that no file is found twice.

    Raises:
        DatasetError: A subfolder cannot be listed.
    """
    top = root.resolve()
    paths: list[Path] = []
    for name, folders, files in os.walk(root, onerror=_refuse, followlinks=True):
        folder = Path(name)
        folders[:] = [
            child for child in folders if not (folder / child).is_symlink() or _is_elsewhere(folder / child, top)
        ]
        paths += [folder / child for child in files if not child.startswith(NO_DOCUMENTS)]
    return sorted(path for path in paths if suffix in (None, path.suffix.lower()))


def _is_elsewhere(link: Path, top: Path) -> bool:
    """Whether a link points to a folder that is neither below `top` nor above the link."""
    try:
        target = link.resolve()
    except (OSError, RuntimeError):  # a link to itself
        return False
    return not target.is_relative_to(top) and not link.parent.resolve().is_relative_to(target)


def _refuse(error: OSError) -> NoReturn:
    raise DatasetError(f"{error.filename}: cannot be listed ({error.strerror})") from error
