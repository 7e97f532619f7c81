"""A tracking server that answers with errors for a while, at the start of a sweep and in the middle."""

import threading
import time
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from mlflow import MlflowClient
from servers import Client
from warm import CHARTS

SWEEP = ["-m", "tracking=server", "tracking.experiment=outage", "retriever=sparse", "retriever.b=0.3,0.5", "k=1,2"]
JOBS = 4

pytestmark = [pytest.mark.server, pytest.mark.extra("server")]


class Proxy(ThreadingHTTPServer):
    """Passes on every request to a server, or answers 500 while `fails` is set, and counts these answers."""

    def __init__(self, port):
        super().__init__(("127.0.0.1", 0), Handler)
        self.behind, self.fails, self.failed = port, False, 0
        self.uri = f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
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
    proxy = Proxy(client.server.port)
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    yield proxy
    proxy.shutdown()
    proxy.server_close()


def wait_for_failures(proxy, number):
    for _ in range(1200):
        if proxy.failed >= number:
            return
        time.sleep(0.05)
    pytest.fail(f"{proxy.failed} requests failed")


def test_a_server_that_answers_with_errors_for_a_while_ends_no_sweep_and_loses_nothing(
    client, proxy, tmp_path, cache, dataset
):
    behind = Client(tmp_path, cache, proxy)
    proxy.fails = True
    process = behind.start(*SWEEP, *dataset, **CHARTS)
    wait_for_failures(proxy, 2)
    proxy.fails = False
    assert process.stdout.readline().startswith("1/4 ")
    proxy.fails = True
    assert [process.stdout.readline()[:4] for _ in range(2)] == ["2/4 ", "3/4 "]
    proxy.fails = False
    out, err = process.communicate(timeout=300)
    assert (process.returncode, "not in the tracking store" in err) == (0, False), err
    assert "4/4 " in out
    assert behind.push().stdout == "0 runs uploaded\n"
    store, [parent], children = behind.of("outage")
    assert [run.info.status for run in [parent, *children]] == ["FINISHED"] * (1 + JOBS)
    assert len({run.info.run_name for run in children}) == JOBS
    assert all("decision" in run.data.tags for run in children)
    for run in children:
        points = MlflowClient(client.uri).get_metric_history(run.info.run_id, "at_k/f1")
        assert sorted(point.step for point in points) == list(range(1, 21))
        assert {file.path for file in store.list_artifacts(run.info.run_id)} >= {"charts", "config", "results"}
    assert {file.path for file in store.list_artifacts(parent.info.run_id)} >= {"charts", "report.html"}
