"""A PostgreSQL with pgvector that tests start for themselves, on a socket in a folder."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from servers import as_postgres

USER, PASSWORD = "ragsweep", "a secret of the database"


def _programs() -> Path:
    """The folder of PostgreSQL's programs: those of the package `pgserver`, which has pgvector with it."""
    bundle = find_spec("pgserver")
    if bundle is None:
        pytest.skip("pgserver is not installed: no PostgreSQL with pgvector")
    assert bundle.origin is not None
    return Path(bundle.origin).parent / "pginstall" / "bin"


@contextmanager
def postgres(*settings: str) -> Iterator[str]:
    """The folder of the socket of a server with pgvector and these settings, which has a user with a password."""
    programs = _programs()
    with tempfile.TemporaryDirectory() as folder:  # pytest's own folders are closed to other users
        if os.geteuid() == 0:
            try:
                shutil.chown(folder, "postgres")
            except LookupError:
                pytest.skip("PostgreSQL does not run as root, and there is no user postgres")
        password = Path(folder) / "password"
        password.write_text(PASSWORD)
        password.chmod(0o644)
        data = f"{folder}/data"
        make = [programs / "initdb", "-D", data, "-A", "scram-sha-256", "-U", USER, "--pwfile", password, "-N"]
        subprocess.run(as_postgres(*make), check=True, capture_output=True)
        command = [programs / "postgres", "-D", data, "-k", folder, "-h", "", "-F"]
        command += [part for setting in settings for part in ("-c", setting)]
        server = subprocess.Popen(as_postgres(*command), stderr=subprocess.DEVNULL)
        try:
            for _ in range(200):
                if subprocess.run([programs / "pg_isready", "-q", "-h", folder], check=False).returncode == 0:
                    break
                time.sleep(0.05)
            yield folder
        finally:
            stop = [programs / "pg_ctl", "stop", "-m", "immediate", "-s", "-D", data]
            subprocess.run(as_postgres(*stop), check=True)
            server.wait(30)


def address(folder: str, user: str = USER, password: str = PASSWORD, database: str = "postgres") -> str:
    """The address of a database on it."""
    return f"postgresql://{user}:{password.replace(' ', '%20')}@/{database}?host={folder}"


def run_in(database: str, *statement: Any) -> list[tuple[Any, ...]] | None:
    """The rows that a statement returns, with its parameters; None where it returns none."""
    import psycopg  # only where it is installed

    with psycopg.connect(database, autocommit=True) as connection:
        done = connection.execute(*statement)
        return done.fetchall() if done.description else None
