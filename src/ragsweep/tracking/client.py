"""A client of a tracking store that reads and writes artifacts only in places that the user allows.

The store says where a run's artifacts are, and anybody who can write to the store can change that. If we followed it
blindly, files could be written anywhere on this machine, or the login of the tracking server sent to another host.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

from mlflow import MlflowClient
from mlflow.entities import Experiment, Run
from mlflow.exceptions import MlflowException
from mlflow.store.artifact.artifact_repo import ArtifactRepository
from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository
from mlflow.utils.credentials import get_default_host_creds
from mlflow.utils.file_utils import local_file_uri_to_path
from mlflow.utils.rest_utils import http_request
from mlflow.version import VERSION

from ragsweep.core.errors import RefusedError, first_line
from ragsweep.tracking.store_address import is_cloud, is_server, sqlite_file

PROXIED = re.compile(r"mlflow-artifacts:(?://(?P<host>[^/\\\s]*))?(/[^\\\t\r\n]*)?")
LARGEST_ARTIFACT = 500 * 10**6  # bytes of an artifact, as its store lists it
REMEDIES = {  # where a server's answer says only that it refuses
    "error code 401": "set MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD in the environment",
    "'Permission denied'": "the user may not do this, or the address lacks the path below which the server is",
    "'Invalid Host header": "the --allowed-hosts of the server must name this host",
}


def reason(error: BaseException) -> str:
    """Why a tracking store did not do something, and what to do where its answer does not say so."""
    line = first_line(error)
    if not isinstance(error, MlflowException):
        return line
    return next((f"{line}; {remedy}" for answer, remedy in REMEDIES.items() if answer in line), line)


def version_of(uri: str) -> str:
    """The version of the MLflow that shows a store: that of its server, or of the one that is installed here."""
    if not is_server(uri):
        return str(VERSION)
    with http_request(get_default_host_creds(uri), "/version", "GET", stream=True, max_retries=0, timeout=10) as answer:
        return next(answer.iter_content(20), b"").decode(errors="replace") if answer.ok else ""


class Client(MlflowClient):  # type: ignore[misc]
    """MLflow's client, limited to artifacts on the tracking server itself or in places that the user allowed."""

    def __init__(self, uri: str, artifacts: str | None = None) -> None:
        """Make a client of the store at `uri`. `artifacts` is a folder or cloud address that its user allows."""
        super().__init__(uri, uri)
        self._artifacts = artifacts
        self._run: Run | None = None

    def get_run(self, run_id: str) -> Run:
        """A run. Its files are sent to where this answer says, and not to where a second answer might."""
        self._run = super().get_run(run_id)
        return self._run

    def create_run(self, *arguments: Any) -> Run:
        """Create a run, which is remembered as `get_run` does."""
        self._run = super().create_run(*arguments)
        return self._run

    def check_experiment(self, experiment: Experiment) -> None:
        """Raise `RefusedError` if an experiment keeps its artifacts in a place that is not allowed."""
        self._check(str(experiment.artifact_location), f"experiment {experiment.name!r}")

    def check_run(self, run_id: str) -> None:
        """Raise `RefusedError` if a run keeps its artifacts in a place that is not allowed."""
        self._repository(run_id)

    def log_artifact(self, run_id: str, local_path: str, artifact_path: str | None = None) -> None:
        """Upload a file into a folder of the run's artifacts."""
        with _own_errors():
            self._repository(run_id).log_artifact(local_path, artifact_path)

    def log_artifacts(self, run_id: str, local_dir: str, artifact_path: str | None = None) -> None:
        """Upload the content of a folder into a folder of the run's artifacts."""
        _upload(self._repository(run_id), local_dir, artifact_path)

    def log_model_artifacts(self, model_id: str, local_dir: str) -> None:
        """Upload the content of a folder into the artifacts of a logged model."""
        location = str(self.get_logged_model(model_id).artifact_location)
        _upload(self._repository_at(location, f"model {model_id!r}"), local_dir)

    def download_artifacts(self, run_id: str, path: str, dst_path: str) -> str:
        """Fetch an artifact of a run. Returns its path in the folder `dst_path`.

        Raises:
            RefusedError: It is in a place that is not allowed.
            OSError: There is no such file, or it is larger than `LARGEST_ARTIFACT`, or cannot be read.
        """
        repository = self._repository(run_id)
        with _own_errors():
            listed = {file.path: file for file in repository.list_artifacts(_folder(PurePosixPath(path).parent))}
            if path not in listed or listed[path].is_dir:
                raise FileNotFoundError(f"there is no file {path}")
            if not 0 <= (listed[path].file_size or 0) <= LARGEST_ARTIFACT:
                raise OSError(f"{path} is larger than {LARGEST_ARTIFACT // 10**6} MB")
            return str(repository.download_artifacts(path, dst_path))

    def _repository(self, run_id: str) -> ArtifactRepository:
        """The repository of a run's artifacts."""
        run = self._run if self._run and self._run.info.run_id == run_id else self.get_run(run_id)
        return self._repository_at(str(run.info.artifact_uri), f"run {run_id!r}")

    def _repository_at(self, location: str, owner: str) -> ArtifactRepository:
        self._check(location, owner)
        try:
            return _repository_of(location, self.tracking_uri)
        except ImportError as error:
            raise RefusedError(f"{owner}: {location!r} needs a package ({first_line(error)})") from error

    def _check(self, location: str, owner: str) -> None:
        if not self._belongs(location):
            raise RefusedError(
                f"{owner}: has its artifacts at {location!r}, which you have not allowed; "
                "tracking.artifacts=FOLDER_OR_ADDRESS allows a folder of this machine or a place in a cloud; "
                "if the project was moved, move it back or link its old place to the new one"
            )

    def _belongs(self, location: str) -> bool:
        """Whether this store may keep artifacts at a location."""
        try:
            scheme = urlsplit(location).scheme
            if scheme in ("", "file"):
                folder = Path(local_file_uri_to_path(location)).resolve()  # as LocalArtifactRepository reads it
                return any(folder.is_relative_to(own) for own in own_folders(self.tracking_uri, self._artifacts))
        except ValueError:
            return False
        if is_server(self.tracking_uri) and (proxied := PROXIED.fullmatch(location)):
            return (proxied["host"] or "") in ("", urlsplit(self.tracking_uri).netloc)
        return self._artifacts is not None and is_cloud(self._artifacts) and _is_below(location, self._artifacts)


@lru_cache(maxsize=1)  # a client of a cloud takes a while to make, and a run has many files
def _repository_of(location: str, uri: str) -> ArtifactRepository:
    return get_artifact_repository(location, tracking_uri=uri)


@contextmanager
def _own_errors() -> Iterator[None]:
    """Turn an error of a cloud's client, such as a missing login, into an `OSError`, as if the store did not answer."""
    try:
        yield
    except (RefusedError, MlflowException, OSError):
        raise
    except Exception as error:
        raise OSError(first_line(error)) from error


def _upload(repository: ArtifactRepository, local_dir: str, artifact_path: str | None = None) -> None:
    """Upload the content of a folder, file by file: MLflow would follow links in a target on this machine."""
    with _own_errors():
        for folder, _, names in os.walk(local_dir):
            target = _folder(artifact_path or "", Path(folder).relative_to(local_dir).as_posix())
            for name in names:
                repository.log_artifact(str(Path(folder, name)), target)


def own_folders(uri: str, artifacts: str | None) -> list[Path]:
    """The folders of this machine where a store may keep artifacts: that of its database, and the user's."""
    database = sqlite_file(uri)
    named = [Path(artifacts).resolve()] if artifacts and not is_cloud(artifacts) else []
    return [*([database.parent] if database else []), *named]


def absolute_artifacts(artifacts: str | None) -> str | None:
    """The same place as an absolute path, so that it can be used from another folder."""
    return artifacts if not artifacts or is_cloud(artifacts) else str(Path(artifacts).resolve())


def _is_below(location: str, place: str) -> bool:
    """Whether an address in a cloud is another address or lies below it. Only whole names in its path count."""
    (scheme, netloc, path, *_), (*host, root, _, _) = urlsplit(location), urlsplit(place)
    parts, above = (list(filter(None, text.split("/"))) for text in (path, root))
    return [scheme, netloc] == host and parts[: len(above)] == above and ".." not in map(unquote, parts)


def _folder(*parts: str | PurePosixPath) -> str | None:
    """A folder of artifacts as MLflow names it."""
    path = str(PurePosixPath(*parts))
    return None if path == "." else path
