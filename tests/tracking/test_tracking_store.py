"""Where runs are kept, before any of them is opened."""

import socket
import ssl
import subprocess
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
import requests
import sqlalchemy.exc
from application import in_this_process, succeeded
from mlflow import MlflowClient
from mlflow.exceptions import MlflowException, RestException
from mlflow.protos import databricks_pb2 as codes

from ragsweep import decision, runs
from ragsweep.app.commands.stores import ui
from ragsweep.core.errors import RefusedError, TrackingError
from ragsweep.core.terminal import say_once
from ragsweep.tracking import tracking_store as store
from ragsweep.tracking.client import Client
from tracking.stored import SWEEP, execute, refusal, resume, run_here


def test_a_server_that_does_not_answer_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(store, "SECONDS_TO_ANSWER", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        uri = f"http://127.0.0.1:{listening.getsockname()[1]}"
        with pytest.raises(TrackingError, match=f"^tracking.uri: {uri} cannot be opened .*timed out"):
            store.open_store(uri, "new", None)


def test_a_moved_folder_is_refused_until_its_old_place_is_a_link_to_it(copied_sweep, dataset, tmp_path):
    moved = type(copied_sweep)(tmp_path / "moved", copied_sweep.cache)
    copied_sweep.home.rename(moved.home)
    [parent], (run, _) = moved.parents(), moved.children()
    commands = [("compare", parent.info.run_id), ("reproduce", run.info.run_id, *dataset[2:])]
    resumed = run_here(moved, *SWEEP, *dataset, "tracking.resume=true")
    for process in (resumed, *(moved.script_here(*arguments) for arguments in commands)):
        assert f"{copied_sweep.home.as_uri()}/artifacts" in refusal(process)
    assert [sweep.info.run_id for sweep in moved.parents()] == [parent.info.run_id]
    assert not copied_sweep.home.exists()
    copied_sweep.home.symlink_to(moved.home)
    assert resume(moved, dataset).stdout.count("(finished before)") == 2
    for arguments in commands:
        succeeded(moved.script_here(*arguments))


def of_database(kind):
    """An error of a database as MLflow raises it."""
    return MlflowException(kind("INSERT", {}, Exception("why")), codes.BAD_REQUEST)


def of_server(code, message="why"):
    """An error as a client of MLflow's server raises it."""
    return RestException({"error_code": code, "message": message})


def of_http(status):
    return requests.HTTPError(response=SimpleNamespace(status_code=status))


FINAL = (
    MlflowException("too long", codes.INVALID_PARAMETER_VALUE),
    *(of_server(code) for code in ("RESOURCE_DOES_NOT_EXIST", "BAD_REQUEST")),
    of_server("BAD_REQUEST", str(of_database(sqlalchemy.exc.DataError))),
    of_http(413),
    RefusedError("no"),
)
PASSING = (
    *(of_server(code) for code in ("PERMISSION_DENIED", "ENDPOINT_NOT_FOUND", "TEMPORARILY_UNAVAILABLE")),
    of_server("BAD_REQUEST", str(of_database(sqlalchemy.exc.InterfaceError))),
    *(of_database(getattr(sqlalchemy.exc, f"{name}Error")) for name in ("Interface", "Database", "Integrity")),
    *(of_http(status) for status in (401, 404, 503)),
    OSError("no"),
)


def test_only_what_is_known_to_stay_so_is_a_refusal():
    assert [error for error in FINAL if not store.is_refusal(error)] == []
    assert [error for error in PASSING if store.is_refusal(error)] == []


def test_what_to_do_is_said_where_a_server_says_only_that_it_refuses(monkeypatch):
    monkeypatch.setattr(store, "_check_answers", lambda uri: None)
    for status, body, advice in [
        (401, "You are not authenticated. Please see https://mlflow.org", "MLFLOW_TRACKING_USERNAME"),
        (403, "Permission denied", "the user may not do this, or the address lacks the path"),
        (403, "Invalid Host header - possible DNS rebinding attack detected", "--allowed-hosts"),
        (403, "Forbidden by the proxy", ""),
    ]:
        answer = f"API request to endpoint /api/2.0 failed with error code {status} != 200. Response body: '{body}'"
        refusal = Mock(side_effect=MlflowException(answer))
        monkeypatch.setattr(MlflowClient, "search_experiments", refusal)
        with pytest.raises(TrackingError) as caught:
            store.check_uri("http://127.0.0.1:5000", None)
        _, _, after = str(caught.value).partition(answer)
        assert after.startswith("; ") and advice in after if advice else after == ")"


def test_an_experiment_that_another_worker_has_just_made_is_used(application, monkeypatch):
    create = Client.create_experiment

    def too_late(self, name, location):
        create(self, name, location)
        return create(self, name, location)

    monkeypatch.setattr(Client, "create_experiment", too_late)
    client, experiment = store.open_store(application.uri, "new", str(application.home / "artifacts"))
    assert client.get_experiment(experiment).name == "new"


def test_that_a_deleted_experiment_is_back_with_its_runs_is_said(application, capsys):
    _, experiment = store.open_store(application.uri, "deleted", str(application.home / "artifacts"))
    run = application.client().create_run(experiment)
    application.client().delete_experiment(experiment)
    capsys.readouterr()
    client, again = store.open_store(application.uri, "deleted", None)
    assert (again, client.get_run(run.info.run_id).info.lifecycle_stage) == (experiment, "active")
    assert "the experiment deleted had been deleted, and is restored" in capsys.readouterr().err


VARIABLE = "MLFLOW_TRACKING_URI"


def test_every_command_uses_the_store_of_the_variable_where_nothing_names_one(
    copied_sweep, tmp_path, monkeypatch, capsys
):
    sweep = next(run.info.run_id for run in copied_sweep.runs() if "sweep.decided" in run.data.tags)
    sentence = f"the tracking store is {copied_sweep.uri} ({VARIABLE})"
    for command in (["compare", sweep], ["push"]):
        (tmp_path / "project/outputs").mkdir(parents=True, exist_ok=True)
        say_once.cache_clear()
        done = in_this_process(tmp_path / "project", *command, **{VARIABLE: copied_sweep.uri})
        assert (done.returncode, done.stderr.count(sentence)) == (0, 1), done.stderr
    monkeypatch.setenv(VARIABLE, copied_sweep.uri)
    monkeypatch.setenv("RAGSWEEP_PROJECT", str(tmp_path))
    say_once.cache_clear()
    assert len(runs(sweep=sweep)) == len(decision(sweep).decision.sweep.outcomes) == 2
    assert capsys.readouterr().err.count(sentence) == 1
    assert not (tmp_path / "mlruns").exists()


def test_a_variable_that_names_no_store_of_ours_is_refused_in_a_line(tmp_path):
    addresses = ("databricks", "https://user:secret@mlflow.example.org", "file:///data/mlruns")
    asked = [(command, addresses[1]) for command in ("run retriever=sparse", "run -m k=1,2", f"compare {'0' * 32}")]
    for command, address in (*asked, *(("push .", address) for address in addresses)):
        line = refusal(in_this_process(tmp_path, *command.split(), **{VARIABLE: address}))
        assert f"{VARIABLE}: " in line
        assert "unset it, or set tracking.uri=URI" in line
        assert "secret" not in line


def test_a_store_of_another_mlflow_is_refused_and_stays_as_it_was(application, dataset, monkeypatch):
    database = application.home / "mlflow.db"
    execute(database, "UPDATE alembic_version SET version_num = 'another'")
    before = database.read_bytes()
    command = f"mlflow db upgrade {application.uri}"
    monkeypatch.setattr("sys.argv", ["ui", "--uri", application.uri])
    for ask in (lambda: runs(uri=application.uri), ui):
        with pytest.raises(RefusedError, match=command):
            ask()
    assert command in refusal(run_here(application, *dataset, "retriever=sparse"))
    assert database.read_bytes() == before


@pytest.fixture
def behind_tls(tmp_path):
    """A server that can be asked whether it is there, and its certificate, which nobody has signed but itself."""
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    name = ["-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate]
    subprocess.run([*make, *name], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with ThreadingHTTPServer(("127.0.0.1", 0), SimpleHTTPRequestHandler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"https://localhost:{server.server_port}", certificate
        server.shutdown()


@pytest.mark.usefixtures("processes")
def test_a_private_certificate_is_refused_unless_mlflows_variables_allow_it(behind_tls, monkeypatch):
    uri, certificate = behind_tls
    with pytest.raises(store.UNREACHABLE, match="CERTIFICATE_VERIFY_FAILED"):
        store._check_answers(uri)
    for name, value in (("SERVER_CERT_PATH", str(certificate)), ("INSECURE_TLS", "true")):
        with monkeypatch.context() as patch:
            patch.setenv(f"MLFLOW_TRACKING_{name}", value)
            store._check_answers(uri)
