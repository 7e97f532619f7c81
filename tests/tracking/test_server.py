"""A shared tracking server: MLflow with a login, PostgreSQL and proxied artifacts, which goes away and comes back."""

import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import pytest
from application import PROJECT, Application
from mlflow import MlflowClient
from small import arguments

SWEEP = ["-m", "tracking=server", "retriever=sparse", "retriever.b=0,0.3,0.5,0.7,1", "k=1,2,3"]
USER, PASSWORD = "admin", "a long passphrase of ours"
POSTGRES = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
needs_postgres = pytest.mark.skipif(not POSTGRES, reason="PostgreSQL is not installed")


def free_port():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


def as_postgres(*command):
    """PostgreSQL does not run as root."""
    return ["runuser", "-u", "postgres", "--", *command] if os.geteuid() == 0 else list(command)


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    """The address of a PostgreSQL server of our own."""
    folder = tmp_path_factory.mktemp("postgres")
    if os.geteuid() == 0:
        shutil.chown(folder, "postgres")
        for parent in list(folder.parents)[:2]:
            parent.chmod(0o755)
    port = free_port()
    tools, place = POSTGRES[-1], ["-h", "127.0.0.1", "-p", str(port)]
    subprocess.run(as_postgres(tools / "initdb", "-D", folder / "data", "-A", "trust", "-U", "mlflow"), check=True)
    command = as_postgres(tools / "postgres", "-D", folder / "data", "-k", folder, *place)
    server = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        for _ in range(100):
            if subprocess.run([tools / "pg_isready", *place], check=False).returncode == 0:
                break
            time.sleep(0.1)
        subprocess.run([tools / "createdb", *place, "-U", "mlflow", "mlflow"], check=True)
        yield f"postgresql://mlflow@127.0.0.1:{port}/mlflow"
    finally:
        subprocess.run(as_postgres(tools / "pg_ctl", "stop", "-m", "immediate", "-D", folder / "data"), check=True)
        server.wait(30)


@dataclass
class Server:
    """`mlflow server` as conf/tracking/server.yaml says to start it."""

    database: str
    folder: Path
    port: int
    process: subprocess.Popen | None = None

    @property
    def uri(self):
        return f"http://127.0.0.1:{self.port}"

    @property
    def login(self):
        return {"MLFLOW_TRACKING_USERNAME": USER, "MLFLOW_TRACKING_PASSWORD": PASSWORD}

    def start(self):
        (self.folder / "auth.ini").write_text(
            f"[mlflow]\ndefault_permission = READ\ndatabase_uri = sqlite:///{self.folder}/auth.db\n"
            f"admin_username = {USER}\nadmin_password = {PASSWORD}\n"
            "authorization_function = mlflow.server.auth:authenticate_request_basic_auth\n"
        )
        environment = {
            "MLFLOW_AUTH_CONFIG_PATH": str(self.folder / "auth.ini"),
            "MLFLOW_FLASK_SERVER_SECRET_KEY": "any long random text",
            "MLFLOW_DISABLE_TELEMETRY": "true",
            "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
        }
        command = ["mlflow", "server", "--app-name", "basic-auth", "--backend-store-uri", self.database]
        command += ["--artifacts-destination", self.folder / "artifacts", "--host", "127.0.0.1"]
        command += ["--port", str(self.port), "--workers", "1"]
        self.process = subprocess.Popen(
            [sys.executable, "-m", *command],
            env={**os.environ, **environment},
            stdout=subprocess.DEVNULL,
            stderr=(self.folder / "log").open("ab"),
            start_new_session=True,
        )
        for _ in range(1200):
            try:
                urllib.request.urlopen(f"{self.uri}/health", timeout=1)
                return
            except OSError:
                assert self.process.poll() is None, (self.folder / "log").read_text()
                time.sleep(0.1)
        pytest.fail("mlflow server does not answer")

    def kill(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


@pytest.fixture(scope="module")
def server(database, tmp_path_factory):
    started = Server(database, tmp_path_factory.mktemp("server"), free_port())
    started.start()
    yield started
    started.kill()


@dataclass(frozen=True)
class Client(Application):
    """`python run.py` on a tracking server."""

    server: Server | None = None

    @property
    def uri(self):
        return self.server.uri

    def command(self, *given):
        places = {
            "tracking.uri": self.uri,
            "store.path": self.cache,
            "hydra.run.dir": self.home / "outputs",
            "hydra.sweep.dir": self.home / "outputs",
        }
        return [sys.executable, str(PROJECT / "run.py"), *given, *(f"{name}={place}" for name, place in places.items())]

    def start(self, *given, **environment):
        return super().start(*given, **{**self.server.login, **environment})

    def push(self):
        return subprocess.run(
            [sys.executable, str(PROJECT / "scripts/push.py"), str(self.home / "outputs")],
            env={**os.environ, **self.server.login},
            capture_output=True,
            text=True,
            check=False,
        )

    def of(self, dataset_name):
        """Parents and children of the runs on one dataset, as the server tells."""
        client = MlflowClient(self.uri)
        experiment = client.get_experiment_by_name(dataset_name)
        runs = client.search_runs([experiment.experiment_id], max_results=1000) if experiment else []
        parents = [run for run in runs if "mlflow.parentRunId" not in run.data.tags]
        return client, parents, [run for run in runs if run not in parents]


@pytest.fixture
def login(server, monkeypatch):
    for name, value in server.login.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def client(server, tmp_path, cache, login):
    return Client(tmp_path, cache, server)


def small(folder, name):
    dataset = arguments(folder / "data")
    return [f"dataset.name={name}" if given.startswith("dataset.name=") else given for given in dataset]


pytestmark = [pytest.mark.server, needs_postgres]


def test_everything_works_through_http_alone(client, tmp_path):
    process = client.run(*SWEEP, *small(tmp_path, "http"))
    assert process.returncode == 0, process.stderr
    store, [parent], children = client.of("http")
    assert [run.info.status for run in [parent, *children]] == ["FINISHED"] * 16
    table = Path(store.download_artifacts(children[0].info.run_id, "results/per_query.csv", str(tmp_path)))
    assert len(table.read_text().splitlines()) == 6
    assert {file.path for file in store.list_artifacts(parent.info.run_id)} >= {"charts", "results", "report.md"}
    assert process.stdout.splitlines()[-1].startswith(client.uri)


def test_a_wrong_password_is_said_before_any_work(client, tmp_path):
    process = client.run(*SWEEP, *small(tmp_path, "closed"), MLFLOW_TRACKING_PASSWORD="wrong")
    assert process.returncode == 2
    assert process.stderr.count("\n") == 1, process.stderr
    [line] = process.stderr.splitlines()
    assert line.startswith(f"ragsweep: tracking.uri: {client.uri} cannot be opened (")


def test_results_wait_on_disk_while_the_server_is_gone(client, server, tmp_path):
    process = client.start(*SWEEP, *small(tmp_path, "gone"))
    for _ in range(5):
        process.stdout.readline()
    server.kill()
    out, err = process.communicate(timeout=300)
    assert process.returncode == 1, err
    assert "15/15 b=1 k=3 f1=" in out
    assert f"python scripts/push.py {client.home}/outputs uploads them" in err
    assert client.push().returncode == 2
    server.start()
    assert client.push().stdout.endswith(" runs uploaded\n")
    assert client.push().stdout == "0 runs uploaded\n"
    store, [parent], children = client.of("gone")
    assert [run.info.status for run in [parent, *children]] == ["FINISHED"] * 16
    assert len({run.info.run_name for run in children}) == 15
    assert all("f1" in run.data.metrics for run in children)
    assert store.list_artifacts(parent.info.run_id, "charts")


@pytest.mark.slow
def test_a_server_killed_at_any_moment_loses_nothing(server, tmp_path, cache, login):
    drawn = random.Random(0)
    for number in range(10):
        home = tmp_path / str(number)
        home.mkdir()
        client = Client(home, cache, server)
        name = f"killed{number}"
        process = client.start(*SWEEP, *small(home, name))
        for _ in range(drawn.randint(1, 14)):
            process.stdout.readline()
        time.sleep(drawn.uniform(0, 0.5))
        server.kill()
        process.communicate(timeout=300)
        server.start()
        assert client.push().returncode == 0
        _, [parent], children = client.of(name)
        assert [run.info.status for run in [parent, *children]] == ["FINISHED"] * 16
        assert len({run.info.run_name for run in children}) == 15
        for run in children:
            points = MlflowClient(client.uri).get_metric_history(run.info.run_id, "at_k/f1")
            assert sorted(point.step for point in points) == list(range(1, 21))
