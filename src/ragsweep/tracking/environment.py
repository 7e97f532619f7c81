"""The code and the packages that a run was made with."""

from __future__ import annotations

import getpass
import subprocess
from functools import cache
from importlib.metadata import distributions
from pathlib import Path

from ragsweep.config import PROJECT

CODE = (".py", ".yaml", ".yml", ".toml")
LARGEST_NEW_FILE = 100_000  # bytes


def write_environment(folder: Path) -> None:
    """Write what describes the code and the packages into `environment/` below `folder`."""
    environment = folder / "environment"
    environment.mkdir(parents=True, exist_ok=True)
    (environment / "requirements.txt").write_text(requirements(), encoding="utf-8")
    if patch := uncommitted_patch():
        (environment / "uncommitted.patch").write_text(patch, encoding="utf-8", errors="surrogateescape")


@cache  # a process runs the code that it has loaded, whatever is edited meanwhile
def git_commit() -> str | None:
    """The commit of the project, or None where it is no git checkout."""
    commit = _git("rev-parse", "HEAD").strip()
    return commit or None


@cache
def is_dirty() -> bool:
    """Whether anything differs from the commit, files that git does not know included."""
    return bool(_git("status", "--porcelain"))


def code_version() -> str:
    """The commit in short, and whether anything differs from it; empty where the project is no git checkout."""
    return f"{(git_commit() or '')[:10]}{' with uncommitted changes' if is_dirty() else ''}"


@cache
def uncommitted_patch() -> str:
    """What differs from the commit as a patch for `git apply`; empty where nothing does.

    Of the files that git does not know, only small ones that can be code or configuration are in it: a patch must
    neither copy somebody's corpus nor carry secrets away.
    """
    unknown = _git("ls-files", "--others", "--exclude-standard", "-z").split("\0")
    new = [path for path in unknown if Path(path).suffix in CODE and (PROJECT / path).stat().st_size < LARGEST_NEW_FILE]
    added = [_git("diff", "--binary", "--no-index", "--", "/dev/null", path) for path in new]
    return "".join([_git("diff", "--binary", "HEAD"), *added])


@cache
def requirements() -> str:
    """Every installed package with its version, as pip reads it."""
    pins = {f"{package.metadata['Name']}=={package.version}" for package in distributions()}
    return "".join(f"{pin}\n" for pin in sorted(pins, key=str.lower))


@cache
def user() -> str:
    """Who runs this."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container may run under a number without a name
        return "unknown"


def _git(*arguments: str) -> str:
    try:
        command = ["git", "-C", str(PROJECT), *arguments]
        return subprocess.run(command, capture_output=True, check=False).stdout.decode(errors="surrogateescape")
    except FileNotFoundError:  # no git on this machine
        return ""
