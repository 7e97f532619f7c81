"""A shared tracking server: MLflow with a login, PostgreSQL and proxied artifacts, which goes away and comes back."""

import random
import time
from pathlib import Path

import pytest
import requests
from mlflow import MlflowClient
from servers import PASSWORD, USER, needs_postgres
from warm import CHARTS

SWEEP = ["-m", "tracking=server", "retriever=sparse", "retriever.b=0.3,0.5", "k=1,2"]
JOBS = 4

pytestmark = [pytest.mark.server, pytest.mark.extra("server"), needs_postgres]


def test_everything_works_through_http_alone(client, dataset, tmp_path):
    process = client.run(*SWEEP, *dataset, "tracking.experiment=http", **CHARTS)
    assert process.returncode == 0, process.stderr
    store, [parent], children = client.of("http")
    assert [run.info.status for run in [parent, *children]] == ["FINISHED"] * (1 + JOBS)
    table = Path(store.download_artifacts(children[0].info.run_id, "results/per_query.csv", str(tmp_path)))
    assert len(table.read_text().splitlines()) == 6
    assert {file.path for file in store.list_artifacts(parent.info.run_id)} >= {"charts", "results", "report.md"}
    assert process.stdout.splitlines()[-1].startswith(client.uri)
    assert f"viewStateShareKey=sweep-{parent.info.run_id}" in process.stdout  # the server's page is known


def test_a_wrong_password_is_said_before_any_work(client, dataset):
    process = client.run(*SWEEP, *dataset, "tracking.experiment=closed", MLFLOW_TRACKING_PASSWORD="wrong")
    assert process.returncode == 2
    assert process.stderr.count("\n") == 1, process.stderr
    [line] = process.stderr.splitlines()
    assert line.startswith(f"ragsweep: tracking.uri: {client.uri} cannot be opened (")


def test_a_sweep_keeps_the_password_to_itself(client, dataset, tmp_path):
    secret = PASSWORD.encode()
    process = client.run(*SWEEP, *dataset, "tracking.experiment=secret")
    assert process.returncode == 0, process.stderr
    _, [parent], children = client.of("secret")
    again = client.script("reproduce", children[0].info.run_id)
    for text in (process.stdout, process.stderr, again.stdout, again.stderr):
        assert PASSWORD not in text
    for run in [parent, *children]:
        assert PASSWORD not in str(run.to_dictionary())
    left = [*client.home.rglob("*"), *(client.server.folder / "artifacts").rglob("*")]
    files = [path for path in left if path.is_file()]
    assert {path.suffix for path in files} >= {".json", ".html", ".yaml", ".csv", ".txt"}
    assert [path for path in files if secret in path.read_bytes()] == []


def test_a_colleague_adds_runs_to_the_same_experiment(client, dataset):
    process = client.run("k=1", "tracking=server", "retriever=sparse", *dataset, "tracking.experiment=ours")
    assert process.returncode == 0, process.stderr
    colleague = {"username": "colleague", "password": "another long passphrase"}
    made = requests.post(f"{client.uri}/api/2.0/mlflow/users/create", json=colleague, auth=(USER, PASSWORD), timeout=60)
    assert made.ok, made.text
    login = {f"MLFLOW_TRACKING_{name.upper()}": value for name, value in colleague.items()}
    process = client.run("k=2", "tracking=server", "retriever=sparse", *dataset, "tracking.experiment=ours", **login)
    assert process.returncode == 0, process.stderr
    _, runs, _ = client.of("ours")
    assert [run.info.status for run in runs] == ["FINISHED"] * 2


def test_results_wait_on_disk_while_the_server_is_gone(client, server, dataset):
    process = client.start(*SWEEP, *dataset, "tracking.experiment=gone", **CHARTS)
    for _ in range(2):
        process.stdout.readline()
    server.kill()
    out, err = process.communicate(timeout=300)
    assert process.returncode == 1, err
    assert "4/4 b=0.5 k=2 ndcg=" in out
    assert f" ragsweep push {client.home}/outputs --uri {client.uri} uploads them" in err
    assert client.push().returncode == 2
    server.start()
    assert int(client.push().stdout.removesuffix(" runs uploaded\n")) > 1
    assert client.push().stdout == "0 runs uploaded\n"
    store, [parent], children = client.of("gone")
    assert [run.info.status for run in [parent, *children]] == ["FINISHED"] * (1 + JOBS)
    assert len({run.info.run_name for run in children}) == JOBS
    assert all("f1" in run.data.metrics for run in children)
    assert store.list_artifacts(parent.info.run_id, "charts")


def test_models_go_through_http_alone(client, dataset):
    process = client.run("-m", "k=1", "retriever=sparse", *dataset, "tracking.experiment=registry")
    assert process.returncode == 0, process.stderr
    store, _, [run] = client.of("registry")
    for number in ("1", "2"):
        process = client.script("export", run.info.run_id, "--register", "small", *dataset[2:])
        assert process.returncode == 0, process.stderr
        assert f"(version {number})" in process.stdout
        store.set_registered_model_alias("small", "production", "1")
    names = ["--candidate", "models:/small@candidate", "--baseline", "models:/small@production", "--promote"]
    process = client.script("gate", *names, "--metric", "recall", "--margin", "0.05")
    assert (process.returncode, store.get_model_version_by_alias("small", "production").version) == (0, "2")


@pytest.mark.repeat(usual=1, soak=10)
def test_a_server_killed_at_any_moment_loses_nothing(client, server, dataset, repetition):
    drawn = random.Random(repetition)
    experiment = f"killed{repetition}"
    process = client.start(*SWEEP, *dataset, f"tracking.experiment={experiment}")
    for _ in range(drawn.randint(1, JOBS - 1)):
        process.stdout.readline()
    time.sleep(drawn.uniform(0, 0.5))
    server.kill()
    process.communicate(timeout=300)
    server.start()
    push = client.push()
    assert push.returncode == 0, push.stderr
    _, [parent], children = client.of(experiment)
    assert [run.info.status for run in [parent, *children]] == ["FINISHED"] * (1 + JOBS)
    assert len({run.info.run_name for run in children}) == JOBS
    for run in children:
        points = MlflowClient(client.uri).get_metric_history(run.info.run_id, "at_k/f1")
        assert sorted(point.step for point in points) == list(range(1, 21))
