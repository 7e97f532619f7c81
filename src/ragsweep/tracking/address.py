"""The address of a tracking store: which ones there are, and that none of them carries a password.

An address is written into journals, tags, reports and pages, and printed: it must never hold a secret.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from ragsweep.core.errors import RefusedError

if TYPE_CHECKING:
    from sqlalchemy.engine import URL

SQLITE = "sqlite:///"
SERVERS = ("http://", "https://")
DATABASES = ("postgresql", "mysql", "mssql")
SETTING = "tracking.uri"
EXPECTED = (
    "an address such as http://127.0.0.1:5000, or sqlite:///mlflow.db for a file in this folder; "
    "ragsweep records to an MLflow server, SQLite, PostgreSQL, MySQL or SQL Server"
)
OF_SERVER = "set MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD in the environment instead"
OF_POSTGRES = "set PGPASSWORD in the environment or write it into ~/.pgpass instead"
OF_DATABASE = "leave it to the database client's own configuration instead"

_SCHEME = re.compile(r"([a-zA-Z][\w+.\-]*)://")
# Whatever precedes an @ may be a password where there is no scheme, or a port that is not a number.
_USER = re.compile(r"^[^/?#@]*@|^[^/?#@]*:(?!\d+(?:[/?#]|$))[^@]*@", re.DOTALL)
_IN_NAME = re.compile(r"[^/:@]+:[^/@]+@")  # in the name of a database: the user before it has a slash
_QUERY = re.compile(r"[?#;].*", re.DOTALL)
_SECRET = re.compile(r"(?i)(passw|passphrase|pwd|secret|token|api_?key|access_?key|credential)[\w.+\- ]*=")
# Also as another setting's part: hydra.sweeper.params.tracking.uri=URI, hydra.sweeper.params={tracking.uri: URI}
_OTHERS = r"(?:questions|retriever)\.uri"
_SETTING = re.compile(
    rf"(?:.*?[^\w/])??(?:tracking(?:\.uri|@[^=]*)?|(?P<other>{_OTHERS}))['\"]?\s*[=:](?P<value>.*)", re.DOTALL
)
_NEXT = re.compile(r",(?=\W*[a-zA-Z][\w+.\-]*://)")  # the comma between two addresses
_NAMES = "(MLFLOW_TRACKING_PASSWORD|MLFLOW_TRACKING_TOKEN|PGPASSWORD)"
_VARIABLE = re.compile(rf"oc\.env:\s*{_NAMES}|{_NAMES}['\"\\]*\s*[=:]")


def check_address(uri: object, setting: str = SETTING) -> None:
    """Refuse an address with a password in it, without repeating it, or one that no tracking store can have.

    The message names the setting that it comes from.

    Raises:
        RefusedError: It is such an address.
    """
    if uri is None:  # another check says so
        return
    uri = str(uri)
    _check_no_secret(uri, setting)
    place = uri.removeprefix(SQLITE)
    if uri.startswith(SERVERS):
        known = re.fullmatch(r"https?://[^/?#\\\s]+[^?#\\\s]*", uri)
    elif uri.startswith(SQLITE):
        known = re.fullmatch(r"(?!file:|:memory:|~)[^?]+", place)
    else:
        known = re.match(rf"({'|'.join(DATABASES)})(\+\w+)?://", uri)
    if not known or not uri.isprintable():
        shown = "something else" if "@" in uri else repr(uri)  # a mistyped address may still have a password in it
        raise RefusedError(f"{setting}: found {shown}, expected {EXPECTED}")


def check_arguments(arguments: Sequence[str]) -> None:
    """Refuse a command line that has a password in it, before anything repeats it.

    Raises:
        RefusedError: An address of a tracking store carries one.
    """
    for argument in arguments:
        if found := _SETTING.fullmatch(argument):
            of_sweep = found["value"]
            for value in (*_NEXT.split(of_sweep), *of_sweep.split(",")):  # a password may have a comma
                _check_no_secret(value.strip("'\" "), found["other"] or SETTING)
        if variable := _VARIABLE.search(argument):
            raise RefusedError(f"{variable[1] or variable[2]}: expected in the environment, not among the arguments")


def _check_no_secret(text: str, setting: str = SETTING) -> None:
    found = _SCHEME.search(text)
    scheme, rest = (found[1], text[found.end() :]) if found else ("", text)
    texts = (rest, unquote(rest))
    is_database = scheme.startswith(DATABASES)
    if is_database:
        has_user = _has_password(_read(text[text.index(scheme) :], setting))
    else:
        has_user = not scheme.startswith(("sqlite", "file")) and any(map(_USER.search, texts))
    queries = (unquote(found[0]) for each in texts if (found := _QUERY.search(each)))
    if has_user or any(map(_SECRET.search, queries)):
        remedy = OF_POSTGRES if scheme.startswith("postgresql") else OF_DATABASE if is_database else OF_SERVER
        raise RefusedError(f"{setting}: the address has a user or password in it, which would be recorded; {remedy}")


def _read(uri: str, setting: str = SETTING) -> URL:
    """A database's address as SQLAlchemy reads it; raises `RefusedError` where it cannot."""
    from sqlalchemy.engine import make_url  # slow to load, and only needed for a database
    from sqlalchemy.exc import ArgumentError

    try:
        return make_url(uri)
    except (ArgumentError, ValueError):  # of a port that is not a number, and may be a password
        what = f"expected {uri.partition('://')[0]}://USER@HOST:PORT/NAME, with a number as PORT"
        raise RefusedError(f"{setting}: found an address that SQLAlchemy cannot read, {what}") from None


def _has_password(url: URL) -> bool:
    in_name = _IN_NAME.search(url.database or "")
    return url.password is not None or ":" in (url.username or "") or in_name is not None


def _without_password(url: URL) -> str:
    query = {name: value for name, value in url.query.items() if not _SECRET.search(f"{name}={value}")}
    kept = (url.drivername, url.username, None, url.host, url.port, url.database, query)
    return url.create(*kept).render_as_string()


def is_server(uri: str) -> bool:
    """Whether a store is reached through HTTP."""
    return uri.startswith(SERVERS)


def sqlite_file(uri: str) -> Path | None:
    """The file of an SQLite store; None for another store."""
    return Path(uri.removeprefix(SQLITE)).resolve() if uri.startswith(SQLITE) else None


def without_secret(uri: str) -> str:
    """The same address without what `check_address` refuses: earlier versions recorded passwords.

    Raises:
        RefusedError: No address would be left.
    """
    try:
        _check_no_secret(uri)
        return uri
    except RefusedError:
        scheme, _, rest = uri.partition("://")
    if scheme.startswith(DATABASES):
        bare = _without_password(_read(uri))
    else:
        host, path = re.fullmatch(r"([^/?#]*)([^?#]*).*", rest, re.DOTALL).groups()  # type: ignore[union-attr]
        bare = f"{scheme}://{host.rpartition('@')[2]}{path}"
    _check_no_secret(bare)
    return bare


def absolute(uri: str) -> str:
    """The same address, valid from any folder."""
    if uri.startswith(SQLITE):
        return f"{SQLITE}{os.path.abspath(uri.removeprefix(SQLITE))}"  # noqa: PTH100  # resolve() would follow links
    return uri.rstrip("/")
