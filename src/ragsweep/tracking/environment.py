"""The code and the packages that a run was made with."""

from __future__ import annotations

import getpass
import subprocess
from functools import cache
from importlib.metadata import distributions

from ragsweep.config import PROJECT


@cache  # a process runs the code that it has loaded, whatever is edited meanwhile
def git_commit() -> str | None:
    """The commit of the project, or None where it is no git checkout."""
    commit = _git("rev-parse", "HEAD").strip()
    return commit or None


@cache
def uncommitted_patch() -> str:
    """What differs from the commit, new files included, as a patch for `git apply`; empty where nothing does."""
    new = _git("ls-files", "--others", "--exclude-standard", "-z").split("\0")
    added = [_git("diff", "--binary", "--no-index", "--", "/dev/null", path) for path in new if path]
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
