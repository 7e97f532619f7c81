"""The address of the user's PostgreSQL, and its errors, in words that repeat nothing of the address."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from ragsweep.core.environment import variable
from ragsweep.core.errors import ConfigError

Connection = Any  # of psycopg, which takes no text as a statement that was put together

URL = "PGVECTOR_URL"
EXAMPLE = "such as postgresql://user:password@host:5432/database"
SECRET = ("password", "sslpassword")
# What libpq takes where the address does not say it.
DEFAULTS = ("PGHOST", "PGHOSTADDR", "PGPORT", "PGDATABASE", "PGUSER", "PGSERVICE", "PGOPTIONS")
SECONDS_TO_ANSWER = 10
MAY_PASS = ("nothing answers there", "it does not answer in time", "it has ended the connection")
# A server's own words may repeat what was in the address.
REASONS = {
    "28P01": "it refuses the password",
    "28000": "it refuses the user",
    "3D000": "it has no such database",
    "25006": "it is read-only",
    "57P01": MAY_PASS[2],
}
CAUSES_OF_REFUSAL = {
    "Connection refused": MAY_PASS[0],
    "No such file": MAY_PASS[0],
    "timeout": MAY_PASS[1],
    "could not translate host": "there is no host of this name",
    "failed to resolve host": "there is no host of this name",
    "no password supplied": "it asks for a password",
    "password authentication": "it refuses the password",
    "closed the connection": MAY_PASS[2],
    "does not exist": "it has no such database or user",
}


def connect(asking: str) -> Connection:
    """A connection that commits every statement; raises the errors of psycopg.

    Args:
        asking: What asks for it, such as `index=pgvector`, for errors.
    """
    import psycopg

    return psycopg.connect(
        _address(asking), autocommit=True, connect_timeout=SECONDS_TO_ANSWER, application_name="ragsweep"
    )


def place(asking: str) -> list[tuple[str, Any]]:
    """What decides which rows are read there: all of the address but passwords. Raises `ConfigError` if it is none."""
    import psycopg
    from psycopg.conninfo import conninfo_to_dict

    try:
        parts = conninfo_to_dict(_address(asking))
    except psycopg.Error as error:
        raise ConfigError(f"{asking}: {told(error, {})}") from None
    of_address = {name: value for name, value in parts.items() if name not in SECRET}
    return sorted({**of_address, **{name: os.environ[name] for name in DEFAULTS if os.environ.get(name)}}.items())


def _address(asking: str) -> str:
    """The value of the variable. Raises `ConfigError` if it is not set."""
    address = variable(URL)
    if not address:
        where = "set it in the environment or in the file .env of the project folder"
        raise ConfigError(f"{asking}: {URL} is not set; {where}, {EXAMPLE}")
    return address


def told(error: Any, reasons: Mapping[str, str]) -> str:
    """An error of psycopg in our words: a server's own may repeat what was in the address.

    Args:
        error: The error.
        reasons: What some codes of PostgreSQL mean for who has asked.
    """
    import psycopg

    code = error.sqlstate or ""
    if isinstance(error, psycopg.ProgrammingError) and not code:
        return f"{URL} is not an address {EXAMPLE}"
    causes = (ours for words, ours in CAUSES_OF_REFUSAL.items() if words in str(error))
    unknown = f"{type(error).__name__}, SQLSTATE {code or 'unknown'}"
    reason = {**REASONS, **reasons}.get(code) or next(causes, unknown)
    return f"the server of {URL} cannot be used: {reason}"
