"""The code and the packages of a run."""

from __future__ import annotations

import getpass
import os
import subprocess
from email import message_from_string
from functools import cache
from importlib.metadata import Distribution, distributions
from pathlib import Path

from ragsweep.core.project import project


def write_environment(folder: Path) -> None:
    """Write files that describe the code and the packages into `FOLDER/environment/`."""
    environment = folder / "environment"
    environment.mkdir(parents=True, exist_ok=True)
    (environment / "requirements.txt").write_text(requirements(), encoding="utf-8")
    for name, text in (("uncommitted.patch", uncommitted_patch()), ("untracked.txt", untracked())):
        if text:
            (environment / name).write_text(text, encoding="utf-8", errors="surrogateescape")


@cache  # a process runs the code that it has loaded, even if a file is edited later
def git_commit(folder: Path | None = None) -> str | None:
    """The commit of the project. None if it is not a git checkout or has no commit."""
    return _git(folder, "rev-parse", "--verify", "--quiet", "HEAD").strip() or None


def is_dirty(folder: Path | None = None) -> bool:
    """Whether a tracked file has been changed since the commit, as in `git describe --dirty`."""
    return bool(uncommitted_patch(folder))


def code_version() -> str:
    """The short commit id and whether tracked files have changed. Empty if the project is not a git checkout."""
    return f"{(git_commit() or '')[:10]}{' with uncommitted changes' if is_dirty() else ''}"


@cache
def uncommitted_patch(folder: Path | None = None) -> str:
    """The changes of tracked files since the commit, as a patch for `git apply`. Empty if there are none."""
    return _git(folder, "diff", "--binary", "--no-ext-diff", "--no-color", "HEAD")


@cache
def untracked(folder: Path | None = None) -> str:
    """The names of the files that git neither tracks nor ignores, one per line. A folder of such files is one line.

    Their content is not recorded: it may be a secret, and nobody has decided that it may leave this machine.
    """
    return _git(folder, "ls-files", "--others", "--exclude-standard", "--directory", "--no-empty-directory")


@cache
def requirements() -> str:
    """Every installed package with its version, in the format of requirements.txt."""
    return "".join(f"{pin}\n" for pin in sorted({_pin(package) for package in distributions()}, key=str.lower))


def _pin(package: Distribution) -> str:
    text = package.read_text("METADATA") or package.read_text("PKG-INFO") or ""
    fields = message_from_string(text.partition("\n\n")[0])  # parsing all descriptions would take most of a second
    return f"{fields['Name']}=={fields['Version']}"


@cache
def user() -> str:
    """The name of the user."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container may run under a number without a name
        return "unknown"


def _git(folder: Path | None, *arguments: str) -> str:
    """The output of a git command in a folder, or in the project. Empty if that is not the top of a git repository."""
    folder = folder or project()
    return _run(folder, *arguments) if _is_repository(folder) else ""


@cache
def _is_repository(folder: Path) -> bool:
    top = _run(folder, "rev-parse", "--show-toplevel").removesuffix("\n")
    return top != "" and Path(top).resolve() == folder.resolve()


def _run(folder: Path, *arguments: str) -> str:
    """The output of a git command, empty if it fails. Ignores `GIT_DIR`, which a hook of another repository may set."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        command = ["git", "-C", str(folder), *arguments]
        done = subprocess.run(command, capture_output=True, check=False, env=environment)
        return done.stdout.decode(errors="surrogateescape") if done.returncode == 0 else ""
    except FileNotFoundError:  # no git on this machine
        return ""
