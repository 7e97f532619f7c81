"""The version of the tables in an SQLite store. MLflow upgrades older tables when it opens a store, even to read."""

from __future__ import annotations

import re
import sqlite3
import subprocess
import sys
from contextlib import closing, suppress
from functools import cache
from pathlib import Path

import mlflow

from ragsweep.core.errors import RefusedError
from ragsweep.core.progress import progress
from ragsweep.core.terminal import say_once
from ragsweep.tracking.address import SQLITE

_REVISION = re.compile(r"^(down_)?revision\s*=\s*[\"'](\w+)[\"']", re.MULTILINE)


def check_version(database: Path) -> None:
    """Refuse a store whose tables are of an older MLflow. This reads the file without changing it.

    Raises:
        RefusedError: Opening it would upgrade its tables.
    """
    if version := _older_version(database):
        raise RefusedError(
            f"{SQLITE}{database} was written by an older MLflow (its tables have version {version}, those of the "
            f"installed MLflow {_versions()[-1]}). Reading it would upgrade it, and the older MLflow could not open it "
            f"any more. Copy the file and run: mlflow db upgrade {SQLITE}{database}; or start a run with "
            "tracking.upgrade=true, which keeps a copy"
        )


def upgrade(database: Path) -> None:
    """Upgrade the tables of a store that an older MLflow has written, and keep a copy of it as it was."""
    version = _older_version(database)
    if version is None:
        return
    kept = database.with_name(f"{database.name}.{version}")
    with closing(sqlite3.connect(database)) as source, closing(sqlite3.connect(kept)) as copy:
        source.backup(copy)
    with progress("upgrading the tracking store"):
        command = [sys.executable, "-m", "mlflow", "db", "upgrade", f"{SQLITE}{database}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        last_line = next(reversed(done.stderr.strip().splitlines()), "it says nothing")
        raise RefusedError(f"{SQLITE}{database}: mlflow db upgrade failed: {last_line}")
    say_once(f"{database} was upgraded from version {version} of its tables; a copy of it as it was is {kept}")


def _older_version(database: Path) -> str | None:
    """The version of the tables in a store if MLflow would upgrade them; None if it would not."""
    found = None
    with suppress(sqlite3.Error), closing(sqlite3.connect(f"{database.absolute().as_uri()}?mode=ro", uri=True)) as file:
        [[found]] = file.execute("SELECT version_num FROM alembic_version").fetchall() or [[None]]
    return found if found in _versions()[:-1] else None  # MLflow itself refuses a version that it does not know


@cache
def _versions() -> list[str]:
    """All versions that the installed MLflow has had, the newest last."""
    folder = Path(mlflow.__file__).parent / "store" / "db_migrations" / "versions"
    successors: dict[str, str] = {}
    for file in folder.glob("*.py"):
        version = {bool(down): name for down, name in _REVISION.findall(file.read_text(encoding="utf-8"))}
        if False in version:
            successors[version.get(True, "")] = version[False]
    versions = [""]
    while versions[-1] in successors:
        versions.append(successors.pop(versions[-1]))
    if len(versions) == 1:  # they have moved
        raise RefusedError(f"this version of ragsweep cannot tell what MLflow {mlflow.__version__} would upgrade")
    return versions[1:]
