"""A real Ray of two nodes on this machine: sweeps whose workers, nodes and driver are killed."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest
from application import Application
from servers import free_port

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.extra("ray", "server"),
]
SWEEP = ["-m", "retriever=sparse", "retriever.b=0,0.5,1", "k=1,2"]
JOBS = 6
TOKEN = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "0123456789abcdef0123456789abcdef"}
CREDENTIALS = "hydra.job.env_copy=[MLFLOW_TRACKING_USERNAME,MLFLOW_TRACKING_PASSWORD]"


@dataclass
class Node:
    """`ray start` for one job at a time, in a folder of its own and by a user of its own, whom runs name in a tag."""

    user: str
    folder: Path
    place: list[str]
    process: psutil.Popen = field(init=False)

    def start(self):
        self.folder.mkdir(exist_ok=True)
        ports = ["--min-worker-port=0", "--max-worker-port=0", "--dashboard-agent-listen-port=0"]
        size = ["--num-cpus=1", "--object-store-memory=80000000"]
        log = self.folder / "log"
        self.process = psutil.Popen(
            [sys.executable, "-m", "ray.scripts.scripts", "start", "--block", *self.place, *ports, *size],
            cwd=self.folder,
            env={**os.environ, **TOKEN, "LOGNAME": self.user, "RAY_USAGE_STATS_ENABLED": "0"},
            stdout=log.open("w"),
            stderr=subprocess.STDOUT,
        )
        for _ in range(1800):
            if "Ray runtime started." in log.read_text():
                return
            assert self.process.poll() is None, log.read_text()
            time.sleep(0.1)
        pytest.fail(f"ray start takes too long: {log.read_text()}")

    def kill(self):
        """End every process of the node at once, as a power cut would."""
        processes = [self.process, *self.process.children(recursive=True)] if self.process.is_running() else []
        for process in processes:
            with suppress(psutil.Error):
                process.kill()
        psutil.wait_procs(processes, 60)


@dataclass
class Cluster:
    """A node with Ray's services and a second one."""

    folder: Path  # short, since sockets lie below it
    port: int = field(default_factory=free_port)
    nodes: list[Node] = field(init=False)

    def __post_init__(self):
        head = ["--head", f"--port={self.port}", "--include-dashboard=false", f"--temp-dir={self.folder}/ray"]
        self.nodes = [
            Node("first", self.folder / "1", head),
            Node("second", self.folder / "2", [f"--address=127.0.0.1:{self.port}"]),
        ]

    @property
    def arguments(self):
        address = f"hydra.launcher.ray.init.address=127.0.0.1:{self.port}"
        return ["tracking=server", "hydra/launcher=ray", address, CREDENTIALS]


@pytest.fixture(scope="module")
def cluster():
    folder = Path(tempfile.mkdtemp(prefix="ray"))
    cluster = Cluster(folder)
    try:
        for node in cluster.nodes:
            node.start()
        yield cluster
    finally:
        for node in reversed(cluster.nodes):
            if hasattr(node, "process"):
                node.kill()
        shutil.rmtree(folder)


@pytest.fixture
def second(cluster):
    """The node without Ray's services, for a test that kills it."""
    yield cluster.nodes[1]
    cluster.nodes[1].start()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory, cache, dataset):
    """The summary of the sweep, one job after the other on this machine."""
    application = Application(tmp_path_factory.mktemp("undisturbed"), cache)
    assert application.run(*SWEEP, *dataset).returncode == 0
    [parent] = application.parents()
    return (application.artifacts(parent) / "results" / "summary_statistics.csv").read_text()


@pytest.fixture
def experiment(request):
    """The name of the test, for its runs."""
    return request.node.name


@pytest.fixture
def sweep(cluster, dataset, experiment):
    return [*SWEEP, *dataset, *cluster.arguments, f"tracking.experiment={experiment}"]


def at_work(client, experiment, users=("first", "second")):
    """A run that a worker of these users' nodes has open, and the worker, which does not go on."""
    for _ in range(360):
        store, _, children = client.of(experiment)
        for run in children:
            if run.info.status == "RUNNING" and run.data.tags["mlflow.user"] in users:
                worker = psutil.Process(json.loads(run.data.tags["process"])["pid"])
                worker.suspend()
                if store.get_run(run.info.run_id).info.status == "RUNNING":
                    return run, worker
                worker.resume()
        time.sleep(0.5)
    return pytest.fail("no worker has begun")


def finished(client, experiment):
    """The jobs' runs, all of them finished and none of them twice, and the summary of their sweep."""
    store, [parent], children = client.of(experiment)
    assert Counter(run.info.status for run in [parent, *children]) == {"FINISHED": JOBS + 1}
    assert {run.data.tags["sweep.job"] for run in children} == {str(number) for number in range(JOBS)}
    table = store.download_artifacts(parent.info.run_id, "results/summary_statistics.csv", str(client.home))
    return children, Path(table).read_text()


def test_both_nodes_do_jobs_and_measure_what_one_machine_does(client, sweep, experiment, undisturbed):
    process = client.run(*sweep, **TOKEN)
    assert process.returncode == 0, process.stderr
    children, summary = finished(client, experiment)
    assert summary == undisturbed
    assert {run.data.tags["mlflow.user"] for run in children} == {"first", "second"}


def test_a_job_whose_worker_is_killed_goes_on_with_its_own_run(client, sweep, experiment, undisturbed):
    process = client.start(*sweep, **TOKEN)
    disturbed, worker = at_work(client, experiment)
    worker.kill()
    _, err = process.communicate(timeout=240)
    assert process.returncode == 0, err
    children, summary = finished(client, experiment)
    assert summary == undisturbed
    [again] = [run for run in children if run.info.run_id == disturbed.info.run_id]
    assert again.data.tags["process"] != disturbed.data.tags["process"]


def test_the_jobs_of_a_node_that_is_gone_go_on_elsewhere(client, second, sweep, experiment, undisturbed):
    process = client.start(*sweep, **TOKEN)
    disturbed, _ = at_work(client, experiment, users=["second"])
    second.kill()
    _, err = process.communicate(timeout=240)
    assert process.returncode == 0, err
    children, summary = finished(client, experiment)
    assert summary == undisturbed
    [again] = [run for run in children if run.info.run_id == disturbed.info.run_id]
    assert again.data.tags["process"] != disturbed.data.tags["process"]


def test_a_sweep_whose_driver_is_killed_is_resumed(client, sweep, experiment, undisturbed):
    process = client.start(*sweep, **TOKEN)
    _, worker = at_work(client, experiment)
    process.kill()
    process.communicate(timeout=60)
    with suppress(psutil.Error):  # Ray may have ended it by now
        worker.resume()
    resumed = client.run(*sweep, "tracking.resume=true", **TOKEN)
    assert resumed.returncode == 0, resumed.stderr
    _, summary = finished(client, experiment)
    assert summary == undisturbed
