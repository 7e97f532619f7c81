"""Responses that were paid for, kept on disk for good, so that nothing is asked twice."""

from __future__ import annotations

import json
import sqlite3
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar, cast
from weakref import WeakValueDictionary

from ragsweep.core.digest import digest
from ragsweep.core.errors import ModelError
from ragsweep.core.parsing import from_json
from ragsweep.store.stage_store import Store

FILE = "answers.sqlite"  # beside what the store may delete to make room
SCHEMA = 1  # of the file
PATIENCE_S = 60  # for another process that is writing
LONGEST_RESPONSE = 10**7  # characters of a response
TABLE = """
CREATE TABLE responses (
    key TEXT PRIMARY KEY,   -- digest of the request
    request TEXT NOT NULL,  -- everything that determines the response, as JSON
    response TEXT NOT NULL, -- as JSON
    checksum TEXT NOT NULL  -- digest of the response
)
"""

Reply = TypeVar("Reply", bound=Any)

_locks: WeakValueDictionary[tuple[str, str], Any] = WeakValueDictionary()  # of the keys that threads are asking for
_locks_lock = Lock()


@dataclass(frozen=True)
class KeptResponses:
    """Requests and their responses in an SQLite file, which threads and processes may share.

    Attributes:
        path: The file. Anyone may have written it.
        enabled: False asks for everything again and writes nothing.
        kind: The class of a response: a named tuple, or `dict` for any JSON object.
    """

    path: str | Path
    enabled: bool = True
    kind: Any = dict

    @classmethod
    def of(cls, store: Store, kind: Any = dict, file: str = FILE) -> KeptResponses:
        """The file in the folder of a store, which `Store.clear` leaves alone."""
        return cls(Path(store.path) / file, store.enabled, kind)

    def get(self, key: object, ask: Callable[[], Reply]) -> Reply:
        """The kept response, or else the one that `ask` returns, which is on the disk before it is returned.

        A response that is not worth keeping is not kept. Threads that need the same response ask for it once. If
        another process has asked at the same time, the response that was kept first counts.

        Args:
            key: JSON-like value with everything that determines the response.
            ask: Returns the response.

        Raises:
            ModelError: The file cannot be used, which is found before asking, or is of another schema.
        """
        if not self.enabled:
            return cast("Reply", self._response(_as_text(ask())))
        name = digest(key)
        with _lock_of(str(self.path), name):
            kept = self._kept(name)
            if kept is None:
                text = _as_text(ask())
                kept = self._response(text)
                if is_worth_keeping(kept):
                    kept = self._kept(name, (name, json.dumps(key), text, digest(text)))
            return cast("Reply", kept)

    def find(self, key: object) -> Any:
        """The kept response; None if `get` would ask for it. Raises `ModelError` as `get` does."""
        return self._kept(digest(key)) if self._has_file else None

    def has_any(self, *fields: Mapping[str, str]) -> bool:
        """Whether a request with all of these fields has a response."""
        condition = " AND ".join(["instr(request, ?)"] * len(fields))
        parts = [json.dumps(field)[1:-1] for field in fields]
        if not self._has_file:
            return False
        with self._opened() as connection:
            query = f"SELECT 1 FROM responses WHERE {condition} LIMIT 1"
            return connection.execute(query, parts).fetchone() is not None

    @property
    def _has_file(self) -> bool:
        return self.enabled and Path(self.path).exists()

    def _kept(self, name: str, row: Sequence[str] = ()) -> Any:
        """The response to a key; None if there is none or it is damaged. Then `row` is kept, if it is given."""
        with self._opened() as connection:
            if row:
                connection.execute("BEGIN IMMEDIATE")
            query = "SELECT substr(response, 1, ?), checksum FROM responses WHERE key = ?"
            kept = connection.execute(query, (LONGEST_RESPONSE, name)).fetchone()
            response = self._read(*kept) if kept else None
            if response is None and row:
                connection.execute("INSERT OR REPLACE INTO responses VALUES (?, ?, ?, ?)", row)
                response = self._response(row[2])
        return response

    def _read(self, text: object, checksum: object) -> Any:
        try:
            if isinstance(text, str) and digest(text) == checksum:
                from_json(text)
                response = self._response(text)
                if is_worth_keeping(response):
                    return response
        except ValueError:
            pass
        warnings.warn(f"{self.path}: a kept response is damaged: asking again", stacklevel=2)
        return None

    def _response(self, text: str) -> Any:
        """A response as the next process will read it. Raises `ValueError` if the text is none."""
        return _adapter(self.kind).validate_json(text, strict=True)

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        """A connection to the file, which is made if it is not there; threads and processes cannot share one."""
        try:
            Path(self.path).parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self.path, timeout=PATIENCE_S)) as connection, connection:
                connection.text_factory = lambda text: text.decode(errors="replace")  # a damaged text must not raise
                self._check(connection)
                yield connection
        except (sqlite3.OperationalError, OSError) as error:
            flaw = f"kept responses: cannot use {self.path} ({error})"
            raise ModelError(f"{flaw}; store.enabled=false keeps no responses, and pays for each again") from error
        except sqlite3.DatabaseError as error:
            flaw = f"found no intact database of responses ({error})"
            raise ModelError(f"{self.path}: {flaw}; move the file away") from error

    def _check(self, connection: sqlite3.Connection) -> None:
        """Make the table in an empty file; refuse a file of another schema, or one that computes when it is read."""
        query = "SELECT type, name FROM sqlite_master"
        if not connection.execute(query).fetchall():
            connection.execute("BEGIN IMMEDIATE")
            if not connection.execute(query).fetchall():  # unless another process has just made it
                connection.execute(TABLE)
                connection.execute(f"PRAGMA user_version = {SCHEMA}")
            connection.commit()
        [(schema,)] = connection.execute("PRAGMA user_version").fetchall()
        objects = connection.execute(query).fetchall()
        if not {kind for kind, _ in objects} <= {"table", "index"}:
            raise sqlite3.DatabaseError("it has a view or a trigger")
        if schema != SCHEMA or ("table", "responses") not in objects:
            raise ModelError(f"{self.path}: found schema {schema} of kept responses, expected {SCHEMA}; move it away")


def is_worth_keeping(response: object) -> bool:
    """Whether asking again for a response would be a waste."""
    return bool(getattr(response, "is_worth_keeping", True))


@cache
def _adapter(kind: Any) -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


def _as_text(response: Any) -> str:
    return json.dumps(response if isinstance(response, dict) else response._asdict(), allow_nan=False)


def _lock_of(path: str, name: str) -> Any:
    with _locks_lock:
        return _locks.setdefault((path, name), Lock())
