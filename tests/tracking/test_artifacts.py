"""Artifacts are sent to and fetched from where they belong only, whatever a store says."""

import os
import sqlite3
import threading
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from itertools import chain, product
from types import SimpleNamespace
from urllib.parse import unquote

import pytest
from application import error_lines, succeeded

import ragsweep
from ragsweep.core.errors import RefusedError, TrackingError
from ragsweep.tracking import client as clients
from ragsweep.tracking.client import Client
from ragsweep.tracking.tracking_store import open_store

RUN = ["retriever=sparse", "k=2"]
PASSWORD = "a password for one server"


def make_experiment(application, name, location):
    """An experiment as somebody else who can write to the store has left it."""
    return application.client().create_experiment(name, location)


def files(folder):
    return sorted(path for path in folder.rglob("*") if not path.is_dir())


@contextmanager
def listening():
    """An HTTP server that keeps what it is sent: paths and logins."""
    heard = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            heard.append((self.path, self.headers.get("Authorization")))
            self.send_error(404)

        do_PUT = do_POST = do_GET  # noqa: N815

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"127.0.0.1:{server.server_port}", heard
    finally:
        server.shutdown()


@pytest.mark.parametrize(
    ("place", "mode"),
    [("file", None), ("path", None), ("http", []), ("mlflow-artifacts", ["-m"]), ("s3", None), ("relative", None)],
)
def test_nothing_is_sent_to_a_foreign_place(application, dataset, tmp_path, place, mode):
    """In a run, and where any run or sweep opens its store."""
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    with listening() as (host, heard):
        location = {
            "file": foreign.as_uri(),
            "path": str(foreign),
            "http": f"http://{host}/x",
            "mlflow-artifacts": f"mlflow-artifacts://{host}/x",
            "s3": "s3://bucket/x",
            "relative": str(application.home / "artifacts" / ".." / ".." / "foreign"),
        }[place]
        make_experiment(application, "taken", location)
        login = {"MLFLOW_TRACKING_USERNAME": "me", "MLFLOW_TRACKING_PASSWORD": PASSWORD}
        if mode is None:
            with pytest.raises(RefusedError) as refused:
                open_store(application.uri, "taken", str(application.home / "artifacts"))
            line = str(refused.value)
        else:
            process = application.run(*mode, *dataset, *RUN, "tracking.experiment=taken", **login)
            assert process.returncode == 2, process.stderr
            [line] = error_lines(process.stderr)
    assert "experiment 'taken': has its artifacts at " in line
    assert "tracking.artifacts=FOLDER_OR_ADDRESS allows" in line
    assert (application.runs(), files(foreign), heard) == ([], [], [])


def test_a_folder_that_the_user_names_is_allowed(application, dataset, tmp_path):
    make_experiment(application, "ours", (tmp_path / "elsewhere" / "x").as_uri())
    allowed = f"tracking.artifacts={tmp_path}/elsewhere"
    succeeded(application.run(*dataset, *RUN, "tracking.experiment=ours", allowed))
    [run] = application.runs()
    assert files(tmp_path / "elsewhere")
    per_query = ragsweep.per_query(run.info.run_id, uri=application.uri, artifacts=str(tmp_path / "elsewhere"))
    assert len(per_query) == 5
    with pytest.raises(TrackingError, match=r"has its artifacts at .*; tracking.artifacts=FOLDER_OR_ADDRESS allows"):
        ragsweep.per_query(run.info.run_id, uri=application.uri)
    refused = application.script_here("reproduce", run.info.run_id)
    assert refused.returncode == 2
    assert "tracking.artifacts=FOLDER_OR_ADDRESS allows" in refused.stderr


def test_a_place_that_an_experiment_does_not_use_is_said_once(application, dataset, tmp_path):
    assert application.run(*dataset, *RUN).returncode == 0
    other = f"tracking.artifacts={tmp_path}/elsewhere"
    process = succeeded(application.run(*dataset, *RUN, other))
    kept = f"experiment small keeps its artifacts in {application.home}/artifacts; tracking.experiment=NAME makes one"
    [line] = error_lines(process.stderr)
    assert line.startswith(kept)
    assert not (tmp_path / "elsewhere").exists()


def move(application, run, location):
    with closing(sqlite3.connect(application.home / "mlflow.db")) as database, database:
        database.execute("UPDATE runs SET artifact_uri = ? WHERE run_uuid = ?", [location, run.info.run_id])


READERS = {
    "compare": lambda application, parent, run: application.script_here("compare", parent.info.run_id),
    "reproduce": lambda application, parent, run: application.script_here("reproduce", run.info.run_id),
    "explain": lambda application, parent, run: application.script_here("explain", run.info.run_id, "worms"),
}


@pytest.mark.parametrize("reader", READERS)
def test_nothing_is_read_from_a_foreign_place(copied_sweep, tmp_path, reader):
    [parent], (run, _) = copied_sweep.parents(), copied_sweep.children()
    with listening() as (host, heard):
        for location in (f"http://{host}/x", f"mlflow-artifacts://{host}/x", (tmp_path / "foreign").as_uri()):
            move(copied_sweep, run, location)
            login = {"MLFLOW_TRACKING_USERNAME": "me", "MLFLOW_TRACKING_PASSWORD": PASSWORD}
            os.environ.update(login)
            try:
                process = READERS[reader](copied_sweep, parent, run)
            finally:
                for name in login:
                    del os.environ[name]
            assert process.returncode == 2
            [line] = process.stderr.splitlines()
            assert f"run '{run.info.run_id}': has its artifacts at" in line
    assert heard == []


@pytest.mark.parametrize("kind", ["pipe", "folder", "link", "huge"])
def test_what_is_not_a_plain_file_is_not_waited_for(copied_sweep, tmp_path, kind):
    run = copied_sweep.children()[0]
    file = copied_sweep.artifacts(run) / "results" / "per_query.csv"
    file.unlink()
    if kind == "pipe":
        os.mkfifo(file)
    elif kind == "folder":
        file.mkdir()
    elif kind == "link":
        (tmp_path / "secret.csv").write_text("query_id\n1\n")
        file.symlink_to(tmp_path / "secret.csv")
    else:
        with file.open("wb") as sparse:
            sparse.truncate(clients.LARGEST_ARTIFACT + 1)
    refused = r"there is no file|is a named pipe|outside the artifact directory|larger than 500 MB"
    with pytest.raises(TrackingError, match=refused):
        ragsweep.per_query(run.info.run_id, uri=copied_sweep.uri)


def test_a_link_in_the_folder_of_artifacts_is_not_written_through(copied_sweep, tmp_path):
    run = copied_sweep.children()[0]
    victim = tmp_path / "victim"
    victim.write_text("mine")
    file = copied_sweep.artifacts(run) / "results" / "per_query.csv"
    file.unlink()
    file.symlink_to(victim)
    (tmp_path / "new" / "results").mkdir(parents=True)
    (tmp_path / "new" / "results" / "per_query.csv").write_text("theirs")
    with pytest.raises(Exception, match="outside the artifact directory"):
        Client(copied_sweep.uri).log_artifacts(run.info.run_id, str(tmp_path / "new"))
    assert victim.read_text() == "mine"


@pytest.mark.parametrize(
    ("uri", "artifacts", "location", "belongs"),
    [
        ("http://host:5000", None, "mlflow-artifacts:/1/2/artifacts", True),
        ("http://host:5000", None, "mlflow-artifacts://host:5000/1", True),
        ("http://host:5000", None, "mlflow-artifacts://host/1", False),
        ("http://host:5000", None, "mlflow-artifacts://evil:5000/1", False),
        ("http://host:5000", None, "mlflow-artifacts://host:5000@evil/1", False),
        ("http://host:5000", None, "http://host:5000/1", False),
        ("http://host:5000", None, "s3://bucket/1", False),
        ("http://host:5000", "s3://bucket", "s3://bucket/1", True),
        ("http://host:5000", "s3://bucket/a", "s3://bucket/a/1", True),
        ("http://host:5000", "s3://bucket/a/", "s3://bucket/a", True),
        ("http://host:5000", "s3://bucket/a", "s3://bucket/ab/1", False),
        ("http://host:5000", "s3://bucket/a", "s3://bucket/a/../b", False),
        ("http://host:5000", "s3://bucket/a", "s3://bucket/a/%2e%2e/b", False),
        ("http://host:5000", "s3://bucket/a", "s3://bucket2/a/1", False),
        ("http://host:5000", "s3://bucket/a", "gs://bucket/a/1", False),
        ("http://host:5000", "/data/mlflow", "s3://bucket/1", False),
        ("http://host:5000", "s3://bucket/a", "file:///data/1", False),
        ("http://host:5000", "s3://bucket/a", "mlflow-artifacts:/1", True),
        ("http://host:5000", None, "sftp://evil/1", False),
        ("http://host:5000", None, "runs:/abc/x", False),
        ("http://host:5000", None, "file:///data/mlflow/1", False),
        ("http://host:5000", "/data/mlflow", "file:///data/mlflow/1", True),
        ("http://host:5000", "/data/mlflow", "/data/mlflow/1", True),
        ("http://host:5000", "/data/mlflow", "/data/mlflow/../x", False),
        ("http://host:5000", "/data/mlflow", "file:///data/mlflow/%2e%2e/x", False),
        ("http://host:5000", "/data/mlflow", "/data/mlflow2", False),
        ("postgresql://host/db", None, "mlflow-artifacts:/1", False),
        ("postgresql://host/db", None, "gs://bucket/1", False),
        ("postgresql://host/db", "gs://bucket", "gs://bucket/1", True),
        ("sqlite:////srv/mlflow.db", "wasbs://box@me.net/a", "wasbs://box@me.net/a/1", True),
        ("sqlite:////srv/mlflow.db", "wasbs://box@me.net/a", "wasbs://box@you.net/a/1", False),
        ("sqlite:////srv/mlflow.db", "s3://bucket", "file:///srv/artifacts/1", True),
        ("sqlite:////srv/mlflow.db", None, "file:///srv/artifacts/1", True),
        ("sqlite:////srv/mlflow.db", None, "/srv/artifacts/\0", False),
        ("sqlite:////srv/mlflow.db", None, "http://[", False),
        ("sqlite:////srv/mlflow.db", None, "None", False),
    ],
)
def test_where_artifacts_belong(uri, artifacts, location, belongs):
    client = SimpleNamespace(tracking_uri=uri, _artifacts=artifacts)
    assert Client._belongs(client, location) is belongs


OF_A_SERVER = SimpleNamespace(tracking_uri="http://host", _artifacts="s3://bucket/a")
PROXIED = ("mlflow-artifacts:/1", "mlflow-artifacts://host/1")
ROOTS = (*PROXIED, "mlflow-artifacts://evil/1", "s3://bucket", "s3://bucket2", "gs://bucket")
NAMES = ("a", "b", "a2", ".", "..", "%2e%2e", ".%2E", "")


def test_what_belongs_lies_below_the_place_that_is_allowed_or_goes_through_the_server():
    for root, *names in chain.from_iterable(product(ROOTS, *[NAMES] * length) for length in range(5)):
        below = root == "s3://bucket" and [*filter(None, names)][:1] == ["a"] and ".." not in map(unquote, names)
        location = "/".join([root, *names])
        assert Client._belongs(OF_A_SERVER, location) is (below or root in PROXIED), location


def test_a_new_experiment_of_a_local_store_may_keep_its_artifacts_in_a_cloud(application):
    client, experiment = open_store(application.uri, "in a bucket", "s3://bucket/a")
    assert client.get_experiment(experiment).artifact_location == "s3://bucket/a"
    assert open_store(application.uri, "in a bucket", "s3://bucket/a")[1] == experiment
    with pytest.raises(RefusedError, match=r"'s3://bucket/a', .*; tracking.artifacts=FOLDER_OR_ADDRESS allows"):
        open_store(application.uri, "in a bucket", str(application.home / "artifacts"))


def test_a_cloud_without_a_login_is_out_of_reach(application, tmp_path, monkeypatch):
    pytest.importorskip("boto3")
    for name in ("AWS_EC2_METADATA_DISABLED", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, "true")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    client, experiment = open_store(application.uri, "in a bucket", "s3://bucket/a")
    run = client.create_run(experiment).info.run_id
    (tmp_path / "file").write_text("1")
    with pytest.raises(OSError, match="credentials"):
        client.log_artifact(run, str(tmp_path / "file"))


@pytest.mark.skipif(find_spec("azure") is not None, reason="the package is installed")
def test_a_cloud_whose_package_is_missing_is_refused(application):
    client, experiment = open_store(application.uri, "in a box", "wasbs://box@me.blob.core.windows.net/a")
    with pytest.raises(RefusedError, match=r"needs a package .*azure"):
        client.check_run(client.create_run(experiment).info.run_id)


@pytest.mark.parametrize(
    "place", ["http://host/x", "file:///x", "s3:///x", "s3://me:secret@bucket/x", "s3://b/x?y=z", "s3://["]
)
def test_no_other_address_is_a_place_for_artifacts(application, place):
    with pytest.raises(RefusedError, match=r"tracking.artifacts: expected a folder, or an address") as error:
        open_store(application.uri, "new", place)
    assert "secret" not in str(error.value)
