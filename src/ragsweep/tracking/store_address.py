"""Addresses: of a tracking store and its artifacts, without a password; of MLflow's pages; of a registered model.

The address of a store is written into journals, tags, reports and pages, and printed: it must never hold a secret.
Nothing here asks a store, so that MLflow need not be loaded.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, unquote, urlsplit

from omegaconf import DictConfig, OmegaConf

from ragsweep.core.errors import ConfigError, RefusedError, TrackingError, first_line
from ragsweep.core.project import CONF, command, for_hydra, project, register_resolvers
from ragsweep.core.terminal import one_line, say_once, shortened

SQLITE = "sqlite:///"
SERVERS = ("http://", "https://")
DATABASES = ("postgresql", "mysql", "mssql")
SETTING, VARIABLE = "tracking.uri", "MLFLOW_TRACKING_URI"  # the variable is that of MLflow's own clients
EXPECTED = (
    "an address such as http://127.0.0.1:5000, or sqlite:///mlflow.db for a file in this folder; "
    "ragsweep records to an MLflow server, SQLite, PostgreSQL, MySQL or SQL Server"
)
OF_SERVER = "set MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD in the environment instead"
OF_POSTGRES = "set PGPASSWORD in the environment or write it into ~/.pgpass instead"
OF_DATABASE = "leave it to the database client's own configuration instead"
HOST, PORT = "127.0.0.1", 5000  # where `ragsweep ui` serves a local store
SCHEME = "models:"  # of a registered model
CLOUD = ("abfss", "gs", "hdfs", "s3", "viewfs", "wasbs")  # their clients have logins of their own
SECONDS_TO_BE_FREE = 20  # for a database that somebody else is writing to

_STORE = re.compile(
    rf"https?://[^/?#\\\s]+[^?#\\\s]*|{SQLITE}(?!file:|:memory:|~)[^?]+|(?:{'|'.join(DATABASES)})(?:\+\w+)?://.*"
)
# A colon before an @ begins a password, except before the number of a port.
_PASSWORD = re.compile(r":(?!\d+(?:[/?#&]|$)).*@", re.DOTALL)
_TOKEN = re.compile(r"https?://[^/?#]*@")  # a server's user needs no password
_SECRET = re.compile(r"(?is)[?#;].*(passw|passphrase|pwd|secret|token|api_?key|access_?key|credential)[\w.+\- ]*=")
# In the address of a database, what follows a colon is a port, and no @ follows that but in the query.
_OF_DATABASE = re.compile(r"[^/?#\[]*:(?!\d+(?:[/?#&]|$))|[^?#]*:[^?#]*@")
# Also as another setting's part: hydra.sweeper.params.tracking.uri=URI, hydra.sweeper.params={tracking.uri: URI}
_SETTING = re.compile(
    r"(?:.*?[^\w/])??(?:tracking(?:\.uri|@[^=]*)?|((?:questions|retriever)\.uri|MLFLOW_TRACKING_URI))['\"]?\s*[=:](.*)",
    re.DOTALL,
)
_NEXT = re.compile(r",(?=\W*[a-zA-Z][\w+.\-]*://)")  # the comma between two addresses
_NAMES = "(MLFLOW_TRACKING_PASSWORD|MLFLOW_TRACKING_TOKEN|PGPASSWORD)"
_VARIABLE = re.compile(rf"oc\.env:\s*{_NAMES}|{_NAMES}['\"\\]*\s*[=:]")
_MODEL_NAME = r"[\w\-](?:[\w.\- ]{0,98}[\w\-])?"
_MODEL = re.compile(rf"models:/({_MODEL_NAME})(?:@([\w\-]{{1,255}})|/([0-9]{{1,9}}))")


def check_address(uri: object, setting: str = SETTING) -> None:
    """Refuse an address with a password in it, without repeating it, or one that no tracking store can have.

    The message names the setting, or the variable, that it comes from.

    Raises:
        RefusedError: It is such an address.
    """
    if uri is None:  # another check says so
        return
    uri = str(uri)
    if uri == "???":
        raise RefusedError(f"{setting}: no value; set it with {setting}=URI, or in {VARIABLE}")
    from_variable = setting == SETTING and uri == os.environ.get(VARIABLE)
    setting, instead = (VARIABLE, f"; or unset it, or set {SETTING}=URI") if from_variable else (setting, "")
    _check_no_secret(uri, setting, instead)
    if not _STORE.fullmatch(uri) or not uri.isprintable():
        shown = "something else" if "@" in uri else repr(uri)  # a mistyped address may still have a password in it
        raise RefusedError(f"{setting}: found {shown}, expected {EXPECTED}{instead}")
    if uri.startswith(SQLITE) and unquote(uri) != uri:
        remedy = f"MLflow reads it as {unquote(uri)!r}; set {setting} to a file whose path has no such %"
        raise RefusedError(f"{setting}: found {uri!r}, and {remedy}{instead}")


def check_arguments(arguments: Sequence[str]) -> None:
    """Refuse a command line that has a password in it, before anything repeats it.

    Raises:
        RefusedError: An address of a tracking store carries one.
    """
    for argument in arguments:
        if setting := _SETTING.fullmatch(argument):
            name, values = setting.groups()
            for value in (*_NEXT.split(values), *values.split(",")):  # a password may have a comma
                _check_no_secret(value.strip("'\"{}[] "), name or SETTING)
        if variable := _VARIABLE.search(argument):
            raise RefusedError(f"{variable[1] or variable[2]}: expected in the environment, not among the arguments")


def _check_no_secret(uri: str, setting: str, instead: str = "") -> None:
    is_database = uri.startswith(DATABASES)
    for text in (uri, unquote(uri)):
        rest = "" if uri.startswith(SQLITE) else text.partition("://")[2] or text  # a path may have anything in it
        has_password = _PASSWORD.search(rest) or _TOKEN.match(text) or _SECRET.search(text)
        if has_password or (is_database and _OF_DATABASE.match(rest)):
            remedy = OF_POSTGRES if uri.startswith("postgresql") else OF_DATABASE if is_database else OF_SERVER
            problem = "the address has a user or password in it, which would be recorded"
            raise RefusedError(f"{setting}: {problem}; {remedy}{instead}")


def say_variable(uri: str) -> None:
    """Print once that the address of the store comes from the variable of MLflow's own clients."""
    if uri and uri == os.environ.get(VARIABLE):
        say_once(f"the tracking store is {uri} ({VARIABLE})")


def is_server(uri: str) -> bool:
    """Whether a store is reached through HTTP."""
    return uri.startswith(SERVERS)


def sqlite_file(uri: str) -> Path | None:
    """The file of an SQLite store; None for another store."""
    return Path(uri.removeprefix(SQLITE)).resolve() if uri.startswith(SQLITE) else None


def absolute(uri: str) -> str:
    """The same address, valid from any folder."""
    if uri.startswith(SQLITE):
        return f"{SQLITE}{os.path.abspath(uri.removeprefix(SQLITE))}"  # noqa: PTH100  # resolve() would follow links
    return uri.rstrip("/")


def own_store() -> tuple[str, str]:
    """The default store and the folder of its artifacts, as `conf/tracking/local.yaml` has them.

    Raises:
        RefusedError: The variable of MLflow's own clients names no store that ragsweep can use.
    """
    register_resolvers()
    local = OmegaConf.load(CONF / "tracking" / "local.yaml")
    check_address(local.uri)
    say_variable(local.uri)
    return str(local.uri), str(local.artifacts)


def check_places(config: DictConfig) -> None:
    """Check the address, the database file and the folders of a configuration's store; raises as `check_place`."""
    uri, artifacts = (OmegaConf.select(config, f"tracking.{name}") for name in ("uri", "artifacts"))
    if isinstance(uri, str):  # else `check` says what is missing
        check_place(uri, None if artifacts is None else str(artifacts))


def check_place(uri: str, artifacts: str | None) -> None:
    """Check what a store's address names on this machine, without leaving anything behind.

    Raises:
        TrackingError: It is not an address, a file is not a database, or a folder cannot be written to.
    """
    check_address(uri)
    try:
        if database := sqlite_file(uri):
            is_database(database)
            _check_folder(database.parent)
    except OSError as error:
        raise TrackingError(f"tracking.uri: {uri} cannot be opened ({first_line(error)})") from error
    try:
        if artifacts and "://" in artifacts and not _is_place(artifacts):
            expected = "a folder, or an address such as s3://bucket/folder without a password"
            raise RefusedError(f"tracking.artifacts: expected {expected}")
        if artifacts and "://" not in artifacts and not is_server(uri):
            _check_folder(Path(artifacts).resolve())
    except OSError as error:
        raise RefusedError(f"tracking.artifacts: {artifacts} cannot be used ({first_line(error)})") from error


def is_cloud(artifacts: str) -> bool:
    """Whether this is an address in a cloud rather than a folder."""
    return artifacts.partition("://")[0] in CLOUD


def _is_place(address: str) -> bool:
    """Whether this is an address in a cloud, without a password or a query."""
    try:
        place = urlsplit(address)
    except ValueError:
        return False
    has_host = bool(place.netloc) or place.scheme in ("hdfs", "viewfs")  # they have a default one
    return is_cloud(address) and has_host and place.password is None and not (place.query or place.fragment)


def is_database(file: Path) -> bool:
    """Whether a file is a database of MLflow's. False for a new or empty one; raises `OSError` for any other file.

    SQLite itself looks into it: if anything else opened and closed the file, this process would lose all its locks.
    """
    if not file.exists():
        return False
    if not file.is_file():
        raise OSError("it is not a file")
    try:
        with closing(
            sqlite3.connect(f"file:{quote(str(file))}?mode=rw", timeout=SECONDS_TO_BE_FREE, uri=True)
        ) as connection:
            tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    except sqlite3.Error as error:
        raise OSError(first_line(error)) from error
    if tables and "experiments" not in tables:
        raise OSError("it is a database of another program")
    return bool(tables)


def _check_folder(folder: Path) -> None:
    """Raise `OSError` where it is not a folder, or is not writable; of a new folder, the nearest one above."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    if not folder.is_dir():
        raise NotADirectoryError(f"{folder} is not a folder")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(f"{folder} cannot be written to")


def ui_of(uri: str) -> str:
    """The address of a store's UI: that of its server, or where `ragsweep ui` serves it."""
    return uri.rstrip("/") if is_server(uri) else f"http://{HOST}:{PORT}"


def run_address(tracking: DictConfig, experiment_id: str, run_id: str) -> str:
    """The address of a run in the UI."""
    return f"{ui_of(tracking.uri)}/{_run(experiment_id, run_id)}?workflowType=machine_learning"


def link_to_artifact(experiment_id: str, run_id: str, path: str) -> str:
    """The address of a run's artifact within the UI, on whichever port it is served."""
    return f"{_run(experiment_id, run_id)}/artifacts/{path}"


def _run(experiment_id: str, run_id: str) -> str:
    return f"#/experiments/{quote(experiment_id, safe='')}/runs/{quote(run_id, safe='')}"


def how_to_open(tracking: DictConfig) -> list[str]:
    """A line with the command after which a printed address can be opened; none for a server."""
    if is_server(tracking.uri):
        return []
    named = [] if _is_own(tracking.uri) else ["--uri", absolute(tracking.uri)]
    return [f"to see it in MLflow: {command('ui', *named)}"]


def _is_own(uri: str) -> bool:
    """Whether this is the store that every command uses by default."""
    return not os.environ.get(VARIABLE) and absolute(uri) == f"{SQLITE}{project() / 'mlruns' / 'mlflow.db'}"


def store_overrides(tracking: DictConfig, given: Sequence[str] = ()) -> list[str]:
    """The overrides that a command needs to use a store, in any environment; none for the project's own store.

    Args:
        tracking: The `tracking` group of the configuration.
        given: Overrides that the command has already, which are not repeated.
    """
    own = str(project() / "mlruns" / "artifacts")
    artifacts = str(tracking.artifacts or own)
    artifacts = artifacts if "://" in artifacts else os.path.abspath(artifacts)  # noqa: PTH100  # as in `absolute`
    needed = {} if _is_own(tracking.uri) else {SETTING: absolute(tracking.uri)}
    if artifacts != own and ("://" in artifacts or not is_server(tracking.uri)):
        needed["tracking.artifacts"] = artifacts
    names = {override.lstrip("+").partition("=")[0] for override in given}
    return [f"{name}={for_hydra(value)}" for name, value in needed.items() if name not in names]


class ModelAddress(NamedTuple):
    """A version of a registered model, by an alias or by its number; the other one is None."""

    name: str
    alias: str | None
    number: str | None


def model_address(text: str) -> ModelAddress:
    """The parts of `models:/NAME@ALIAS` or `models:/NAME/VERSION`. Raises `ConfigError` for anything else."""
    if (parts := _MODEL.fullmatch(text)) is None:
        raise ConfigError(f"{shortened(one_line(text))}: expected models:/NAME@ALIAS or models:/NAME/VERSION")
    return ModelAddress(*parts.groups())


def check_model_name(name: str) -> None:
    """Raise `ConfigError` unless a registered model can have this name in an address."""
    if not re.fullmatch(_MODEL_NAME, name):
        shown = shortened(one_line(name))
        raise ConfigError(
            f"--register: found {shown!r}, expected a name: at most 100 letters, digits and _ - . or space"
        )
