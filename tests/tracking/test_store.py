"""Where runs are kept, before any of them is opened."""

import shutil
import socket
from types import SimpleNamespace

import pytest
import requests
import sqlalchemy.exc
from mlflow.exceptions import MlflowException, RestException
from mlflow.protos import databricks_pb2 as codes

from ragsweep.core.errors import RefusedError
from ragsweep.tracking import store
from ragsweep.tracking.client import Client


@pytest.mark.parametrize("kind", ["nobody listens", "nobody answers"])
def test_a_server_that_cannot_be_reached_is_said_before_any_work(application, kind):
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        uri = f"http://127.0.0.1:{listening.getsockname()[1]}"
        if kind == "nobody answers":
            listening.listen()
        process = application.run("-m", "k=3,5", "tracking=server", f"tracking.uri={uri}")
    assert process.returncode == 2
    [line] = process.stderr.splitlines()
    assert line.startswith(f"ragsweep: tracking.uri: {uri} cannot be opened (")
    assert process.stdout == ""


def test_a_moved_folder_finds_its_artifacts(application, dataset, tmp_path):
    sweep = ["-m", *dataset, "retriever=sparse", "k=1,2"]
    assert application.run(*sweep).returncode == 0
    copy = type(application)(tmp_path / "copy", application.cache)
    shutil.copytree(application.home, copy.home, ignore=shutil.ignore_patterns("copy"))
    shutil.rmtree(application.home / "artifacts")
    run, *_ = copy.children()
    again = copy.script("reproduce", run.info.run_id, "--no-log", *dataset[2:])
    assert again.returncode == 0, again.stderr
    process = copy.run(*sweep, "tracking.resume=true")
    assert process.returncode == 0, process.stderr
    assert process.stdout.count("(finished before)") == 2
    [parent] = copy.parents()
    assert parent.info.artifact_uri.startswith(copy.home.as_uri())
    assert (copy.artifacts(parent) / "report.md").exists()


def of_database(kind):
    """An error of a database as MLflow raises it."""
    return MlflowException(kind("INSERT", {}, Exception("why")), codes.BAD_REQUEST)


def of_server(code, message="why"):
    """An error as a client of MLflow's server raises it."""
    return RestException({"error_code": code, "message": message})


def of_http(status):
    return requests.HTTPError(response=SimpleNamespace(status_code=status))


@pytest.mark.parametrize(
    ("error", "final"),
    [
        (MlflowException("too long", codes.INVALID_PARAMETER_VALUE), True),
        (of_server("RESOURCE_DOES_NOT_EXIST"), True),
        (of_server("BAD_REQUEST"), True),
        (of_server("PERMISSION_DENIED"), False),
        (of_server("ENDPOINT_NOT_FOUND"), False),
        (of_server("BAD_REQUEST", str(of_database(sqlalchemy.exc.InterfaceError))), False),
        (of_server("BAD_REQUEST", str(of_database(sqlalchemy.exc.DataError))), True),
        (of_server("TEMPORARILY_UNAVAILABLE"), False),
        (of_database(sqlalchemy.exc.InterfaceError), False),
        (of_database(sqlalchemy.exc.DatabaseError), False),
        (of_database(sqlalchemy.exc.IntegrityError), False),
        (of_http(413), True),
        (of_http(404), False),
        (of_http(401), False),
        (of_http(503), False),
        (RefusedError("no"), True),
        (OSError("no"), False),
    ],
)
def test_only_what_is_known_to_stay_so_is_a_refusal(error, final):
    assert store.is_refusal(error) is final


def test_an_experiment_that_another_worker_has_just_made_is_used(application, monkeypatch):
    create = Client.create_experiment

    def too_late(self, name, location):
        create(self, name, location)
        return create(self, name, location)

    monkeypatch.setattr(Client, "create_experiment", too_late)
    client, experiment = store.open_store(application.uri, "new", str(application.home / "artifacts"))
    assert client.get_experiment(experiment).name == "new"


def test_the_lock_of_a_database_is_not_executable(application):
    store.open_store(application.uri, "new", str(application.home / "artifacts"))
    assert (application.home / "mlflow.db.lock").stat().st_mode & 0o111 == 0
