"""Artifacts are sent to and fetched from where they belong only, whatever a store says."""

import os
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from itertools import chain, product
from types import SimpleNamespace
from urllib.parse import unquote

import pytest

import ragsweep
from ragsweep.core.errors import RefusedError, TrackingError
from ragsweep.core.terminal import say_once
from ragsweep.tracking import client as clients
from ragsweep.tracking.client import Client
from ragsweep.tracking.tracking_store import open_store
from tracking.stored import execute, refusal, run_here

LOGIN = {"MLFLOW_TRACKING_USERNAME": "me", "MLFLOW_TRACKING_PASSWORD": "a password for one server"}
OF_RUNS = ("reproduce", "explain --query worms")
NOT_ALLOWED = r"has its artifacts at .*; tracking\.artifacts=FOLDER_OR_ADDRESS allows"


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


def test_nothing_is_sent_to_a_foreign_place(application, dataset, tmp_path):
    """Not from where any run or sweep opens its store, nor by a sweep."""
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    allowed = str(application.home / "artifacts")
    with listening() as (host, heard):
        places = [foreign.as_uri(), str(foreign), f"{allowed}/../../foreign", "s3://bucket/x"]
        places += [f"http://{host}/x", f"mlflow-artifacts://{host}/x"]
        for number, location in enumerate(places):
            name = f"taken {number}"  # as somebody else who can write to the store has left it
            application.client().create_experiment(name, location)
            with pytest.raises(RefusedError, match=f"experiment '{name}': {NOT_ALLOWED}"):
                open_store(application.uri, name, allowed)
        sweep = ["-m", *dataset, "retriever=sparse", f"tracking.experiment='{name}'"]
        assert f"experiment '{name}': has its artifacts at " in refusal(run_here(application, *sweep, **LOGIN))
    assert (application.runs(), files(foreign), heard) == ([], [], [])


def move(application, run, location):
    statement = "UPDATE runs SET artifact_uri = ? WHERE run_uuid = ?"
    execute(application.home / "mlflow.db", statement, location, run.info.run_id)


def test_a_folder_that_the_user_names_is_allowed(copied_sweep, tmp_path):
    run, place = copied_sweep.children()[0], tmp_path / "elsewhere"
    copied_sweep.artifacts(run).rename(place)
    move(copied_sweep, run, place.as_uri())
    per_query = ragsweep.per_query(run.info.run_id, uri=copied_sweep.uri, artifacts=str(place))
    assert len(per_query) == 5
    (tmp_path / "more.txt").write_text("more")
    Client(copied_sweep.uri, str(place)).log_artifact(run.info.run_id, str(tmp_path / "more.txt"))
    assert (place / "more.txt").read_text() == "more"
    with pytest.raises(TrackingError, match=NOT_ALLOWED):
        ragsweep.per_query(run.info.run_id, uri=copied_sweep.uri)
    refused = refusal(copied_sweep.script_here("reproduce", run.info.run_id))
    assert "tracking.artifacts=FOLDER_OR_ADDRESS allows" in refused


def test_a_place_that_an_experiment_does_not_use_is_said_once(application, tmp_path, capsys):
    say_once.cache_clear()
    for place in (application.home / "artifacts", tmp_path / "elsewhere", tmp_path / "elsewhere"):
        open_store(application.uri, "ours", str(place))
    [line] = capsys.readouterr().err.splitlines()
    assert f"keeps its artifacts in {application.home}/artifacts; tracking.experiment=NAME makes one" in line
    assert not (tmp_path / "elsewhere").exists()


def test_nothing_is_read_from_a_foreign_place(copied_sweep, tmp_path):
    [parent], (run, _) = copied_sweep.parents(), copied_sweep.children()
    with listening() as (host, heard):
        for location in (f"http://{host}/x", f"mlflow-artifacts://{host}/x", (tmp_path / "foreign").as_uri()):
            move(copied_sweep, run, location)
            for command in (f"compare {parent.info.run_id}", *(f"{name} {run.info.run_id}" for name in OF_RUNS)):
                line = refusal(copied_sweep.script_here(*command.split(), **LOGIN))
                assert f"run '{run.info.run_id}': has its artifacts at" in line
    assert heard == []


def test_what_is_not_a_plain_file_is_not_waited_for(copied_sweep, tmp_path):
    run = copied_sweep.children()[0]
    file = copied_sweep.artifacts(run) / "results" / "per_query.csv"
    (tmp_path / "secret.csv").write_text("query_id\n1\n")
    refused = r"there is no file|is a named pipe|outside the artifact directory|larger than 500 MB"

    def huge():
        file.touch()
        os.truncate(file, clients.LARGEST_ARTIFACT + 1)

    for make in (lambda: os.mkfifo(file), lambda: file.symlink_to(tmp_path / "secret.csv"), huge, file.mkdir):
        file.unlink()
        make()
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


SERVER, ALLOWED = "http://host:5000", "/data/mlflow"
BELONGS = {  # by the store and the place that the user allows: locations that belong to them, and that do not
    (SERVER, None): (
        "mlflow-artifacts:/1/2/artifacts mlflow-artifacts://host:5000/1",
        "mlflow-artifacts://host/1 mlflow-artifacts://evil:5000/1 mlflow-artifacts://host:5000@evil/1 "
        "http://host:5000/1 s3://bucket/1 sftp://evil/1 runs:/abc/x file:///data/mlflow/1",
    ),
    (SERVER, ALLOWED): (
        "file:///data/mlflow/1 /data/mlflow/1",
        "s3://bucket/1 /data/mlflow/../x file:///data/mlflow/%2e%2e/x /data/mlflow2",
    ),
    ("postgresql://host/db", None): ("", "mlflow-artifacts:/1 gs://bucket/1"),
    ("postgresql://host/db", "gs://bucket"): ("gs://bucket/1", ""),
    ("sqlite:////srv/mlflow.db", "wasbs://box@me.net/a"): ("wasbs://box@me.net/a/1", "wasbs://box@you.net/a/1"),
    ("sqlite:////srv/mlflow.db", "s3://bucket"): ("file:///srv/artifacts/1", ""),
    ("sqlite:////srv/mlflow.db", None): ("file:///srv/artifacts/1", "/srv/artifacts/\0 http://[ None"),
}


def test_where_artifacts_belong():
    for (uri, artifacts), (own, foreign) in BELONGS.items():
        client = SimpleNamespace(tracking_uri=uri, _artifacts=artifacts)
        locations = [*own.split(" "), *foreign.split(" ")]
        assert [place for place in filter(None, locations) if Client._belongs(client, place)] == own.split()


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


def test_no_other_address_is_a_place_for_artifacts(application):
    for place in ("http://host/x", "file:///x", "s3:///x", "s3://me:secret@bucket/x", "s3://b/x?y=z", "s3://["):
        with pytest.raises(RefusedError, match=r"tracking.artifacts: expected a folder, or an address") as error:
            open_store(application.uri, "new", place)
        assert "secret" not in str(error.value)
