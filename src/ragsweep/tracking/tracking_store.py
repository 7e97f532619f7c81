"""Opens, creates and searches the MLflow tracking store."""

from __future__ import annotations

import logging
import os
import re
import shlex
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "2")  # the default, 7, would try for minutes without a word
os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")
os.environ.setdefault("MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT", "true")

from mlflow import MlflowClient
from mlflow.entities import Run
from mlflow.exceptions import MlflowException
from mlflow.utils.credentials import get_default_host_creds
from mlflow.utils.rest_utils import http_request
from omegaconf import DictConfig
from sqlalchemy import NullPool, create_engine
from sqlalchemy.exc import DataError, SQLAlchemyError

from ragsweep.core.errors import RefusedError, TrackingError, first_line
from ragsweep.core.locks import locked
from ragsweep.core.progress import progress
from ragsweep.core.project import project
from ragsweep.core.terminal import one_line, say_once
from ragsweep.tracking.client import Client, absolute_artifacts, reason
from ragsweep.tracking.store_address import (
    SQLITE,
    absolute,
    check_address,
    check_place,
    is_cloud,
    is_database,
    is_server,
    say_variable,
    sqlite_file,
)

SECONDS_TO_ANSWER = 5
SECONDS_TO_RECOVER, SECONDS_TO_ASK_AGAIN = 90, 3  # of a server that answers with errors, as one that is restarted
SECONDS_TO_MIGRATE = 120  # for a lock, while another process creates a database
OUT_OF_DATE = "out-of-date database schema"  # MLflow's words for tables of another version
UNREACHABLE = (MlflowException, SQLAlchemyError, OSError)  # a store does not answer; errors of `requests` are OSErrors
FINAL = ("INVALID_PARAMETER_VALUE", "RESOURCE_DOES_NOT_EXIST", "RESOURCE_ALREADY_EXISTS")  # error codes of MLflow
FINAL_STATUSES = (400, 405, 411, 413, 414, 415, 422)  # of HTTP, for an artifact; others may be a proxy's
SQL = re.compile(r"sqlalche\.me/e/\w+/(\w+)")  # the code at the end of an error of SQLAlchemy
FINAL_SQL = (DataError.code,)  # not IntegrityError: two processes that add the same at once may try again
PAGE = 1000  # runs per request


def open_store(uri: str, experiment: str, artifacts: str | None) -> tuple[Client, str]:
    """A client of a tracking store and the id of an experiment, which is created if it is new.

    The first process that uses an SQLite store creates its tables while all others wait: two at once would break it.

    Args:
        uri: The store's address.
        experiment: The experiment's name.
        artifacts: Folder or cloud address of a new experiment's artifacts. A server has its own.

    Raises:
        TrackingError: The store cannot be opened; a `RefusedError` if trying again cannot help.
    """
    with _opening(uri, artifacts):
        place = absolute_artifacts(artifacts)
        location = None if is_server(uri) else Path(place).as_uri() if place and not is_cloud(place) else place
        database = sqlite_file(uri)
        if database is None:
            return _opened(uri, experiment, location, artifacts)
        database.parent.mkdir(parents=True, exist_ok=True)
        with locked(database, SECONDS_TO_MIGRATE):
            if not is_database(database):
                _create(database)
            return _opened(uri, experiment, location, artifacts)


@contextmanager
def locked_store(uri: str) -> Iterator[None]:
    """Let one process at a time search a store and change what it found.

    With a database, this holds for all processes that use it. A server has no lock, so with a server it holds for the
    processes of this project. On a file system without locks, nobody waits.
    """
    database = sqlite_file(uri)
    file = database.with_name(f"{database.name}.turn") if database else project() / "mlruns" / "turn"
    with ExitStack() as stack:
        with suppress(OSError, NotImplementedError):  # of a file system without locks
            file.parent.mkdir(parents=True, exist_ok=True)
            stack.enter_context(locked(file, SECONDS_TO_MIGRATE))
        yield


def _create(database: Path) -> None:
    """Create an SQLite store completely or not at all: a half-made one could never be opened."""
    draft = database.with_name(f"{database.name}.new")
    draft.unlink(missing_ok=True)
    with progress("creating the tracking store"):
        MlflowClient(f"{SQLITE}{draft}").search_experiments()
    draft.replace(database)


def check_uri(uri: str, artifacts: str | None) -> None:
    """Check without changing anything whether a store can be opened; wait while a server answers with errors.

    Raises:
        TrackingError: A server is out of reach or refuses us, a file is not a database, a folder cannot be written to.
    """
    ends = time.monotonic() + SECONDS_TO_RECOVER
    while True:
        try:
            with _opening(uri, artifacts):
                if is_server(uri):
                    MlflowClient(uri).search_experiments(max_results=1)
            return
        except TrackingError as error:
            if "error responses" not in str(error) or time.monotonic() > ends:  # as urllib3 says after its attempts
                raise
            why = reason(error.__cause__ or error)
            say_once(f"{uri} answers with an error ({why}); asking it again for {SECONDS_TO_RECOVER} s")
            time.sleep(SECONDS_TO_ASK_AGAIN)


@contextmanager
def _opening(uri: str, artifacts: str | None) -> Iterator[None]:
    """Check what an address names, and that a server answers; errors of the store become a `TrackingError`."""
    try:
        check_place(uri, artifacts)
        _quiet()
        _check_answers(uri)
        yield
    except UNREACHABLE as error:
        kind = RefusedError if is_refusal(error) else TrackingError
        raise kind(f"tracking.uri: {uri} cannot be opened ({reason(error)})") from error


def is_refusal(error: BaseException) -> bool:
    """Whether a store rejects a request and trying again cannot help. False for outages and unknown errors.

    MLflow reports most errors of its database as BAD_REQUEST, even a lost connection.
    """
    if isinstance(error, MlflowException):
        if error.error_code == "BAD_REQUEST":
            code = SQL.search(str(error))
            return code is None or code[1] in FINAL_SQL
        return error.error_code in FINAL
    status = getattr(getattr(error, "response", None), "status_code", 0)  # of `requests`, for an artifact
    return isinstance(error, RefusedError) or status in FINAL_STATUSES


def existing_store(uri: str, artifacts: str | None = None) -> Client:
    """A client of an existing store. Raises one of `UNREACHABLE` if there is none.

    Args:
        uri: The store's address.
        artifacts: Folder or cloud address where the user allows artifacts, besides the folder of the database.

    Raises:
        RefusedError: `uri` is not the address of a store, or its tables are of another version of MLflow.
    """
    check_address(uri)
    say_variable(uri)
    _quiet()
    _check_answers(uri)
    if (database := sqlite_file(uri)) and not is_database(database):
        raise FileNotFoundError("there is no such file")
    return _client(uri, artifacts)


@contextmanager
def reading(uri: str, artifacts: str | None, subject: str) -> Iterator[Client]:
    """A client of an existing store. Errors within the block become a `TrackingError` that names what was asked for."""
    try:
        yield existing_store(uri, artifacts)
    except (ValueError, TypeError, KeyError, OverflowError) as error:  # anybody may have written into it
        raise TrackingError(f"{subject}: its record cannot be read ({first_line(error)})") from error
    except UNREACHABLE as error:
        raise TrackingError(f"{subject}: cannot be read from {uri} ({first_line(error)})") from error


def _client(uri: str, artifacts: str | None) -> Client:
    """A client of a store, of which MLflow compares the tables' version with its own."""
    try:
        return Client(uri, artifacts)
    except MlflowException as error:
        if OUT_OF_DATE not in str(error):
            raise
        problem, upgrade = first_line(error).partition(". ")[0], f"mlflow db upgrade {shlex.quote(absolute(uri))}"
        raise RefusedError(
            f"tracking.uri: {uri} cannot be opened ({problem}). Copy the database and run: {upgrade}; "
            "or install the MLflow that wrote it"
        ) from error


def _quiet() -> None:
    for name in ("mlflow", "alembic", "urllib3"):
        logging.getLogger(name).setLevel(logging.ERROR if name == "urllib3" else logging.WARNING)
    for name in ("mlflow.store.db.utils", "sqlalchemy.pool"):  # they log a traceback for every error
        logging.getLogger(name).setLevel(logging.CRITICAL)


def _check_answers(uri: str) -> None:
    """Raise one of `UNREACHABLE` if a server does not answer soon. MLflow itself would try for minutes."""
    if is_server(uri):
        http_request(get_default_host_creds(uri), "/health", "GET", max_retries=0, timeout=SECONDS_TO_ANSWER).close()
    elif sqlite_file(uri) is None:
        try:
            name = "timeout" if uri.startswith("mssql") else "connect_timeout"
            create_engine(uri, poolclass=NullPool, connect_args={name: SECONDS_TO_ANSWER}).connect().close()
        except (ImportError, TypeError, ValueError) as error:  # the driver is not installed or does not know a setting
            raise OSError(first_line(error)) from error


def _opened(uri: str, name: str, location: str | None, artifacts: str | None) -> tuple[Client, str]:
    client = _client(uri, artifacts)
    experiment = client.get_experiment_by_name(name)
    if experiment is None:
        try:
            experiment = client.get_experiment(client.create_experiment(name, location))
        except MlflowException:  # another worker may have created it meanwhile
            experiment = client.get_experiment_by_name(name)
            if experiment is None:
                raise
    client.check_experiment(experiment)
    kept, usual = str(experiment.artifact_location).rstrip("/"), (project() / "mlruns" / "artifacts").as_uri()
    if location and location.rstrip("/") not in (kept, usual):
        place = f"keeps its artifacts in {one_line(kept.removeprefix('file://'))}"
        say_once(f"experiment {one_line(name)} {place}; tracking.experiment=NAME makes one with another place")
    if experiment.lifecycle_stage == "deleted":
        client.restore_experiment(experiment.experiment_id)
        back = "had been deleted, and is restored with all its runs, also for tracking.resume"
        say_once(f"ragsweep: the experiment {one_line(name)} {back}")
    return client, str(experiment.experiment_id)


def open_configured(tracking: DictConfig) -> tuple[MlflowClient, str]:
    """A client of the configured store, and the id of the configured experiment, which is created if missing."""
    return open_store(tracking.uri, tracking.experiment, tracking.artifacts)


def search(client: MlflowClient, condition: str, experiments: Sequence[str] | None = None) -> list[Run]:
    """All runs that meet a condition, in the experiments with these ids. None searches all experiments."""
    experiments = experiments or [experiment.experiment_id for experiment in client.search_experiments()]
    runs: list[Run] = []
    token: str | None = None
    while True:
        page = client.search_runs(experiments, condition, max_results=PAGE, page_token=token)
        runs += page
        token = page.token
        if not token:
            return runs
