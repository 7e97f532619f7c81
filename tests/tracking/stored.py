"""What these tests share: changes of a store and of journals that nothing of ours would make, and short commands."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

from application import Application, error_lines, succeeded
from hypothesis import strategies as st

SWEEP = ["-m", "retriever=sparse", "k=1,2"]  # that of `copied_sweep`
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


def execute(database: Path, statement: str, *values: object) -> None:
    """Execute a statement of SQL in an SQLite store."""
    with closing(sqlite3.connect(database)) as store, store:
        store.execute(statement, values)


def change_journal(folder: Path, **fields: Any) -> dict[str, Any]:
    """Change fields of the journal in a run's folder. Returns the journal as it was."""
    file = folder / "tracking.json"
    journal: dict[str, Any] = json.loads(file.read_text())
    file.write_text(json.dumps({**journal, **fields}))
    return journal


def pushed(application: Application) -> CompletedProcess[str]:
    """What `ragsweep push` does with an application's outputs."""
    return application.start_script_here("push", f"{application.home}/outputs", "--uri", application.uri)


def run_here(application: Application, *given: str, **environment: str) -> CompletedProcess[str]:
    """What `application.run` does, in this process: for what is refused, and for dry runs."""
    return application.start_script_here("run", *application.arguments(*given), **environment)


def refusal(process: CompletedProcess[str]) -> str:
    """The only line of a command that is refused."""
    assert (process.returncode, process.stdout) == (2, ""), process.stdout + process.stderr
    [line] = error_lines(process.stderr)
    return line


def resume(application: Application, dataset: list[str]) -> CompletedProcess[str]:
    """Go on with the sweep of `copied_sweep`."""
    return succeeded(application.run(*SWEEP, *dataset, "tracking.resume=true"))
