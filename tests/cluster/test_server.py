"""A shared tracking server: MLflow with a login, PostgreSQL and proxied artifacts, which goes away and comes back."""

import json
import random
import threading
import time
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import mlflow
import pytest
import requests
from application import succeeded
from mlflow.entities import Document
from servers import PASSWORD, USER, Client, needs_postgres
from warm import CHARTS

from ragsweep import tracking

SWEEP = ["-m", "tracking=server", "retriever=sparse", "retriever.b=0.3,0.5", "k=1,2"]
JOBS = 4

pytestmark = [pytest.mark.server, pytest.mark.extra("server"), needs_postgres]


def whole(client, experiment):
    """The store, the parent and the runs of a sweep: all of them finished, none of them twice, each curve complete."""
    store, [parent], children = client.of(experiment)
    assert [run.info.status for run in [parent, *children]] == ["FINISHED"] * (1 + JOBS)
    assert len({run.info.run_name for run in children}) == JOBS
    for run in children:
        points = store.get_metric_history(run.info.run_id, "at_k/f1")
        assert sorted(point.step for point in points) == list(range(1, 21))
    return store, parent, children


def test_everything_works_through_http_alone_and_the_password_stays_here(client, dataset, tmp_path):
    process = succeeded(client.run(*SWEEP, *dataset, "tracking.experiment=http", **CHARTS))
    store, parent, children = whole(client, "http")
    table = Path(store.download_artifacts(children[0].info.run_id, "results/per_query.csv", str(tmp_path)))
    assert len(table.read_text().splitlines()) == 6
    assert {file.path for file in store.list_artifacts(parent.info.run_id)} >= {"charts", "results", "report.md"}
    assert process.stdout.splitlines()[-1].startswith(client.uri)
    assert f"viewStateShareKey=sweep-{parent.info.run_id}" in process.stdout  # the server's page is known
    again = client.script("reproduce", children[0].info.run_id)
    for text in (process.stdout, process.stderr, again.stdout, again.stderr):
        assert PASSWORD not in text
    for run in [parent, *children]:
        assert PASSWORD not in str(run.to_dictionary())
    left = [*client.home.rglob("*"), *(client.server.folder / "artifacts").rglob("*")]
    files = [path for path in left if path.is_file()]
    assert {path.suffix for path in files} >= {".json", ".html", ".yaml", ".csv", ".txt"}
    assert [path for path in files if PASSWORD.encode() in path.read_bytes()] == []


def test_a_wrong_password_is_said_before_any_work(client, dataset):
    process = client.run(*SWEEP, *dataset, "tracking.experiment=closed", MLFLOW_TRACKING_PASSWORD="wrong")
    assert process.returncode == 2
    [line] = process.stderr.splitlines()
    assert line.startswith(f"ragsweep: tracking.uri: {client.uri} cannot be opened (")


def test_a_colleague_adds_runs_to_the_same_experiment(client, dataset):
    ours = ["tracking=server", "retriever=sparse", *dataset, "tracking.experiment=ours"]
    succeeded(client.run("k=1", *ours))
    colleague = {"username": "colleague", "password": "another long passphrase"}
    made = requests.post(f"{client.uri}/api/2.0/mlflow/users/create", json=colleague, auth=(USER, PASSWORD), timeout=60)
    assert made.ok, made.text
    succeeded(client.run("k=2", *ours, **{f"MLFLOW_TRACKING_{name.upper()}": text for name, text in colleague.items()}))
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
    store, parent, _ = whole(client, "gone")
    assert store.list_artifacts(parent.info.run_id, "charts")


def test_models_go_through_http_alone(client, dataset):
    succeeded(client.run("-m", "k=1", "retriever=sparse", *dataset, "tracking.experiment=registry"))
    store, _, [run] = client.of("registry")
    for number in ("1", "2"):
        process = succeeded(client.script("export", run.info.run_id, "--register", "small", *dataset[2:]))
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
    succeeded(client.push())
    whole(client, experiment)


def test_traces_are_read_from_a_server(client):
    mlflow.set_tracking_uri(client.uri)
    mlflow.set_experiment("production")
    try:
        for number in range(12):  # more than a server sends at once
            with mlflow.start_span("search", span_type="RETRIEVER") as span:
                span.set_inputs({"query": f"Question {number}?"})
                span.set_outputs([Document("text", {"doc_uri": "m.pdf", "page": number})])
        mlflow.flush_trace_async_logging()
    finally:
        mlflow.set_tracking_uri(None)
    listed = tracking.list_traces(client.uri, "production").ids
    assert len(listed) == 12
    spans = tracking.fetch_spans(client.uri, listed)
    asked = [json.loads(span["attributes"]["mlflow.spanInputs"])["query"] for span in spans]
    assert sorted(asked) == sorted(f"Question {number}?" for number in range(12))


class Handler(BaseHTTPRequestHandler):
    """Passes on every request to a server, or answers 500 while its own server's `fails` is set, and counts these."""

    def pass_on(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.server.fails:
            self.server.failed += 1
            return self.send_error(500)
        behind = HTTPConnection("127.0.0.1", self.server.behind)
        behind.request(self.command, self.path, body, dict(self.headers))
        answer = behind.getresponse()
        content = answer.read()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("transfer-encoding", "content-length", "connection"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        return self.wfile.write(content)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = pass_on  # noqa: N815

    def log_message(self, *_):
        pass


@pytest.fixture
def proxy(client):
    proxy = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    proxy.behind, proxy.fails, proxy.failed = client.server.port, False, 0
    proxy.uri = f"http://127.0.0.1:{proxy.server_port}"
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    yield proxy
    proxy.shutdown()
    proxy.server_close()


def test_a_server_that_answers_with_errors_for_a_while_ends_no_sweep_and_loses_nothing(
    client, proxy, tmp_path, cache, dataset
):
    """At the start of a sweep and in the middle."""
    behind = Client(tmp_path, cache, proxy)
    proxy.fails = True
    process = behind.start(*SWEEP, *dataset, "tracking.experiment=outage", **CHARTS)
    for _ in range(1200):
        if proxy.failed >= 2:
            break
        time.sleep(0.05)
    assert proxy.failed >= 2
    proxy.fails = False
    assert process.stdout.readline().startswith("1/4 ")
    proxy.fails = True
    assert [process.stdout.readline()[:4] for _ in range(2)] == ["2/4 ", "3/4 "]
    proxy.fails = False
    out, err = process.communicate(timeout=300)
    assert (process.returncode, "not in the tracking store" in err) == (0, False), err
    assert "4/4 " in out
    assert behind.push().stdout == "0 runs uploaded\n"
    store, parent, children = whole(client, "outage")
    assert all("decision" in run.data.tags for run in children)
    for run in children:
        assert {file.path for file in store.list_artifacts(run.info.run_id)} >= {"charts", "config", "results"}
    assert {file.path for file in store.list_artifacts(parent.info.run_id)} >= {"charts", "report.html"}
