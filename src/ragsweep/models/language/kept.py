"""Responses of language models, kept on disk for good, so that nothing is asked or paid for twice."""

from __future__ import annotations

import json
import sqlite3
import warnings
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from ragsweep.core.digest import digest
from ragsweep.core.errors import ModelError
from ragsweep.core.parsing import MalformedError, from_json
from ragsweep.store.stage_store import Store

FILE = "answers.sqlite"  # beside what the store may delete to make room: answers were paid for
PATIENCE_S = 60  # for another process that is writing
LONGEST_RESPONSE = 10**7  # characters of a response
TABLE = """
CREATE TABLE IF NOT EXISTS responses (
    key TEXT PRIMARY KEY,   -- digest of the request
    request TEXT NOT NULL,  -- everything that determines the response, as JSON
    response TEXT NOT NULL, -- as JSON
    checksum TEXT NOT NULL  -- digest of the response
)
"""

T = TypeVar("T")

_locks: WeakValueDictionary[tuple[str, str], Any] = WeakValueDictionary()  # of the keys that threads are asking for
_locks_lock = Lock()


@dataclass(frozen=True)
class KeptResponses:
    """Requests and their responses in an SQLite file. Each is on the disk before `get` returns it.

    Threads and processes may share the file. If it cannot be read or written, such as on a full disk, work goes on
    without it, with a warning; but not if responses are paid for.

    Attributes:
        path: The file.
        enabled: False asks for everything again and writes nothing.
        paid: Whether responses cost money. Then it is an error if the file cannot be read or written.
        valid: Whether what was read is a response. The file may have been written by anyone.
    """

    path: str | Path
    enabled: bool = True
    paid: bool = False
    valid: Callable[[Mapping[str, Any]], bool] = lambda response: True

    @classmethod
    def of(cls, store: Store) -> KeptResponses:
        """The file in the folder of a store, which `Store.clear` leaves alone."""
        return cls(Path(store.path) / FILE, store.enabled)

    def get(self, key: object, ask: Callable[[], Mapping[str, Any]]) -> Mapping[str, Any]:
        """The kept response, or else the one that `ask` returns, which is then kept if it is `valid`.

        Threads of a process that need the same response at the same time ask for it once.

        Args:
            key: JSON-like value with everything that determines the response.
            ask: Returns the response as a JSON-like mapping.

        Raises:
            ModelError: The file is not a database, or a damaged one; or it cannot be used, and responses are paid
                for. A response that had arrived is lost.
        """
        if not self.enabled:
            return _as_read(_written(ask()))
        name = digest(key)
        with _lock_of(str(self.path), name):
            kept = self._kept(name)
            if kept is not None:
                return kept
            response = ask()
            written = _written(response)
            return self._keep(name, key, written) if self.valid(response) else _as_read(written)

    def find(self, key: object) -> Mapping[str, Any] | None:
        """The kept response; None if `get` would ask for it. Raises `ModelError` as `get` does."""
        return self._kept(digest(key)) if self.enabled else None

    def has_any(self, *fields: Mapping[str, str]) -> bool:
        """Whether a request with all of these fields has a response."""
        if not self.enabled or not Path(self.path).exists():
            return False
        parts, found = [json.dumps(each)[1:-1] for each in fields], " AND ".join(["instr(request, ?)"] * len(fields))
        query = f"SELECT 1 FROM responses WHERE {found} LIMIT 1"
        return bool(self._use("read", "rw", lambda connection: connection.execute(query, parts).fetchone()))

    def check(self) -> None:
        """Raise `ModelError` if responses are paid for and the file cannot be written. Call it before asking."""
        if self.enabled and self.paid:
            self._use("write", "rwc", _try_to_write)

    def _kept(self, name: str) -> Mapping[str, Any] | None:
        if not Path(self.path).exists():
            return None
        return self._use("read", "rw", lambda connection: self._read(connection, name))

    def _keep(self, name: str, key: object, text: str) -> Mapping[str, Any]:
        """Write a response, unless another process has written one since this one asked: that one counts for all."""

        def write(connection: sqlite3.Connection) -> Mapping[str, Any] | None:
            _begin(connection)
            kept = self._read(connection, name)
            if kept is None:
                row = (name, json.dumps(key), text, digest(text))
                connection.execute("INSERT OR REPLACE INTO responses VALUES (?, ?, ?, ?)", row)
            return kept

        kept = self._use("write", "rwc", write)
        return _as_read(text) if kept is None else kept

    def _use(self, what: str, mode: str, action: Callable[[sqlite3.Connection], T]) -> T | None:
        """What an action on the file returns; None, with a warning, if the file cannot be used and nothing is paid."""
        try:
            if mode == "rwc":
                Path(self.path).parent.mkdir(parents=True, exist_ok=True)
            with closing(self._connection(mode)) as connection, connection:
                return action(connection)
        except (sqlite3.OperationalError, OSError) as error:
            flaw = f"kept responses: cannot {what} {self.path} ({error})"
            if self.paid:
                raise ModelError(f"{flaw}; store.enabled=false keeps no responses, and pays for each again") from error
            warnings.warn(f"{flaw}: going on without it", stacklevel=2)
            return None
        except sqlite3.DatabaseError as error:
            flaw = f"found no intact database of responses ({error})"
            raise ModelError(f"{self.path}: {flaw}; move the file away") from error

    def _read(self, connection: sqlite3.Connection, name: str) -> Mapping[str, Any] | None:
        """The response in a row; None if there is none or it is damaged."""
        objects = connection.execute("SELECT type, name FROM sqlite_master").fetchall()
        if not {kind for kind, _ in objects} <= {"table", "index"}:
            raise sqlite3.DatabaseError("it has a view or a trigger")  # one may compute for ever, or refuse a response
        if ("table", "responses") not in objects:  # a process was killed before it had made one
            return None
        query = "SELECT substr(response, 1, ?), checksum FROM responses WHERE key = ?"
        row = connection.execute(query, (LONGEST_RESPONSE, name)).fetchone()
        if row is None:
            return None
        text, checksum = row
        try:
            if not isinstance(text, str) or digest(text) != checksum:
                raise MalformedError("not what was written")
            response = from_json(text)
            if not isinstance(response, dict) or not self.valid(response):
                raise MalformedError("no response")
        except MalformedError as error:
            warnings.warn(f"{self.path}: a kept response is damaged ({error}): asking again", stacklevel=2)
            return None
        return response

    def _connection(self, mode: str) -> sqlite3.Connection:
        """A new connection, as threads and forked processes cannot share one.

        The default journal is kept: with a write-ahead log the file could not be read in a read-only folder.
        """
        uri = f"{Path(self.path).resolve().as_uri()}?mode={mode}"
        connection = sqlite3.connect(uri, uri=True, timeout=PATIENCE_S, isolation_level=None)
        connection.text_factory = lambda text: text.decode(errors="replace")  # a damaged text must not raise
        return connection


def _begin(connection: sqlite3.Connection) -> None:
    connection.execute("BEGIN IMMEDIATE")
    connection.execute(TABLE)


def _try_to_write(connection: sqlite3.Connection) -> None:
    _begin(connection)
    connection.execute("INSERT INTO responses VALUES ('', '', '', '')")
    connection.rollback()


def _written(response: Mapping[str, Any]) -> str:
    return json.dumps(response, allow_nan=False)


def _as_read(text: str) -> Mapping[str, Any]:
    """A response as the next process will read it, with lists for tuples."""
    response: Mapping[str, Any] = json.loads(text)
    return response


def _lock_of(path: str, name: str) -> Any:
    with _locks_lock:
        return _locks.setdefault((path, name), Lock())
