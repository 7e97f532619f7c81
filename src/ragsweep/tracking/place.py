"""Where a tracking store and its artifacts are: checked without asking the store, so that MLflow need not be loaded."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import quote, urlsplit

from omegaconf import DictConfig, OmegaConf

from ragsweep.core.errors import RefusedError, TrackingError, first_line
from ragsweep.core.project import CONF, register_resolvers
from ragsweep.core.terminal import one_line, say_once
from ragsweep.tracking.address import check_address, is_server, say_variable, sqlite_file

CLOUD = ("abfss", "gs", "hdfs", "s3", "viewfs", "wasbs")  # their clients have logins of their own
SECONDS_TO_BE_FREE = 20  # for a database that somebody else is writing to
EXPERIMENT_VARIABLE = "MLFLOW_EXPERIMENT_NAME"  # of MLflow's own client
UNUSED_VARIABLE = "MLFLOW_RUN_ID"  # it names an existing run; ragsweep makes new ones


def own_store() -> tuple[str, str]:
    """The store where nothing names another one, and the folder of its artifacts, as `conf/tracking/local.yaml` says.

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
        check_place(uri, artifacts)


def name_variables(uri: str, experiment: object) -> None:
    """Say which variables of MLflow's own client are used, and which say something else than the configuration."""
    check_address(uri)
    say_variable(uri)
    named = os.environ.get(EXPERIMENT_VARIABLE)
    if named and named != experiment:
        shown = f"{EXPERIMENT_VARIABLE}={one_line(named)}"
        say_once(
            f"{shown} is not used; the experiment is {one_line(str(experiment))} (tracking.experiment changes that)"
        )
    if os.environ.get(UNUSED_VARIABLE):
        say_once(f"{UNUSED_VARIABLE} is not used; each run is a new one")


def check_place(uri: str, artifacts: str | None) -> None:
    """Check what a store's address names on this machine, without leaving anything behind.

    Raises:
        TrackingError: It is not an address, a file is not a database, or a folder cannot be written to.
    """
    check_address(uri)
    if database := sqlite_file(uri):
        try:
            is_database(database)
            _check_folder(database.parent)
        except OSError as error:
            raise TrackingError(f"tracking.uri: {uri} cannot be opened ({first_line(error)})") from error
    if artifacts and "://" in str(artifacts):
        if not _is_place(artifacts):
            expected = "a folder, or an address such as s3://bucket/folder without a password"
            raise RefusedError(f"tracking.artifacts: expected {expected}")
    elif artifacts and not is_server(uri):
        try:
            _check_folder(Path(str(artifacts)).resolve())
        except OSError as error:
            raise RefusedError(f"tracking.artifacts: {artifacts} cannot be used ({first_line(error)})") from error


def is_cloud(artifacts: str) -> bool:
    """Whether this is an address in a cloud rather than a folder."""
    return artifacts.partition("://")[0] in CLOUD


def _is_place(address: str) -> bool:
    """Whether this is a place in a cloud, and no more."""
    try:
        place = urlsplit(address)
    except ValueError:
        return False
    has_host = bool(place.netloc) or place.scheme in ("hdfs", "viewfs")  # they have a default one
    return is_cloud(address) and has_host and place.password is None and not (place.query or place.fragment)


def is_database(file: Path) -> bool:
    """Whether there is a database of MLflow's in this file, or nothing yet; raises `OSError` where another thing is.

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
