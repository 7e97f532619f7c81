"""The address of the user's PostgreSQL, and its errors, in words that repeat nothing of the address."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ragsweep.core.errors import ConfigError
from ragsweep.core.project import variable
from ragsweep_engines.asking import PassingError

Connection = Any  # of psycopg, which takes no text as a statement that was put together

URL = "PGVECTOR_URL"
EXAMPLE = "such as postgresql://user:password@host:5432/database"
SECRET = ("password", "sslpassword")
# What libpq takes where the address does not say it.
DEFAULTS = ("PGHOST", "PGHOSTADDR", "PGPORT", "PGDATABASE", "PGUSER", "PGSERVICE", "PGOPTIONS")
SECONDS_TO_ANSWER = 10
NOBODY, LATE, ENDED = "nothing answers there", "it does not answer in time", "it has ended the connection"
PASSING = ("08", "40", "53", "57")  # classes of codes: connections, conflicts, resources, interventions
# By code of PostgreSQL, or by words of libpq. A server's own words may repeat what was in the address.
REASONS = {
    "28P01": "it refuses the password",
    "28000": "it refuses the user",
    "3D000": "it has no such database",
    "25006": "it is read-only",
    "57P01": ENDED,
    "Connection refused": NOBODY,
    "No such file": NOBODY,
    "timeout": LATE,
    "could not translate host": "there is no host of this name",
    "failed to resolve host": "there is no host of this name",
    "no password supplied": "it asks for a password",
    "password authentication": "it refuses the password",
    "closed the connection": ENDED,
    "does not exist": "it has no such database or user",
}


def connect(asking: str) -> Connection:
    """A connection that commits every statement, for a setting such as `index=pgvector`; raises errors of psycopg."""
    import psycopg

    options = {"connect_timeout": SECONDS_TO_ANSWER, "application_name": "ragsweep"}
    return psycopg.connect(_address(asking), autocommit=True, **options)


def address_parts(asking: str) -> list[tuple[str, Any]]:
    """The parts of the address that determine which rows are read: all but passwords. Raises `ConfigError`."""
    from psycopg.conninfo import conninfo_to_dict

    with our_errors(asking, {}):
        parts = conninfo_to_dict(_address(asking))
    of_address = {name: value for name, value in parts.items() if name not in SECRET}
    return sorted({**of_address, **{name: os.environ[name] for name in DEFAULTS if os.environ.get(name)}}.items())


def _address(asking: str) -> str:
    address = variable(URL)
    if not address:
        where = "set it in the environment or in the file .env of the project folder"
        raise ConfigError(f"{asking}: {URL} is not set; {where}, {EXAMPLE}")
    return address


@contextmanager
def our_errors(asking: str, reasons: Mapping[str, str], *, may_pass: bool = False) -> Iterator[None]:
    """Turn an error of psycopg into one of ours.

    Args:
        asking: The setting that asks, for errors.
        reasons: What some codes of PostgreSQL mean for who has asked.
        may_pass: Whether asking again is possible.

    Raises:
        PassingError: Asking again is possible and may help.
        ConfigError: Any other error.
    """
    import psycopg

    try:
        yield
    except psycopg.Error as error:
        code = error.sqlstate or ""
        if isinstance(error, psycopg.ProgrammingError) and not code:
            raise ConfigError(f"{asking}: {URL} is not an address {EXAMPLE}") from None
        by_words = (reason for words, reason in REASONS.items() if words in str(error))
        unknown = f"{type(error).__name__}, SQLSTATE {code or 'unknown'}"
        reason = {**REASONS, **reasons}.get(code) or next(by_words, unknown)
        passes = may_pass and (code[:2] in PASSING or reason in (NOBODY, LATE, ENDED))
        kind = PassingError if passes else ConfigError
        raise kind(f"{asking}: the server of {URL} cannot be used: {reason}") from None
