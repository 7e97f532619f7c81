"""A real Ray of two nodes on this machine: sweeps whose workers, nodes and driver are killed."""

import json
import os
import re
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
from application import Application, succeeded
from servers import free_port

pytestmark = [pytest.mark.cluster, pytest.mark.extra("ray", "server")]
PORT = free_port()
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


@pytest.fixture(scope="module")
def nodes():
    """A node with Ray's services and a second one."""
    folder = Path(tempfile.mkdtemp(prefix="ray"))  # short, since sockets lie below it
    head = ["--head", f"--port={PORT}", "--include-dashboard=false", f"--temp-dir={folder}/ray"]
    nodes = [Node("first", folder / "1", head), Node("second", folder / "2", [f"--address=127.0.0.1:{PORT}"])]
    try:
        for node in nodes:
            node.start()
        yield nodes
    finally:
        for node in reversed(nodes):
            if hasattr(node, "process"):
                node.kill()
        shutil.rmtree(folder)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory, cache, dataset):
    """The summary of the sweep, one job after the other on this machine."""
    application = Application(tmp_path_factory.mktemp("undisturbed"), cache)
    succeeded(application.run(*SWEEP, *dataset))
    [parent] = application.parents()
    return (application.artifacts(parent) / "results" / "summary_statistics.csv").read_text()


@pytest.fixture
def sweep(nodes, dataset, request):
    """Its arguments, and the name of the test as that of its experiment."""
    experiment = re.sub(r"\W+", "_", request.node.name)
    launcher = ["hydra/launcher=ray", f"hydra.launcher.ray.init.address=127.0.0.1:{PORT}", CREDENTIALS]
    return [*SWEEP, *dataset, "tracking=server", *launcher, f"tracking.experiment={experiment}"], experiment


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


def test_both_nodes_do_jobs_and_measure_what_one_machine_does(client, sweep, undisturbed):
    arguments, experiment = sweep
    succeeded(client.run(*arguments, **TOKEN))
    children, summary = finished(client, experiment)
    assert summary == undisturbed
    assert {run.data.tags["mlflow.user"] for run in children} == {"first", "second"}


@pytest.mark.parametrize("lost", ["worker", "node"])
def test_a_job_whose_worker_or_node_is_killed_goes_on_with_its_own_run(client, nodes, sweep, undisturbed, lost):
    arguments, experiment = sweep
    _, second = nodes  # without Ray's services
    process = client.start(*arguments, **TOKEN)
    disturbed, worker = at_work(client, experiment, users=["second"])
    (second if lost == "node" else worker).kill()
    try:
        _, err = process.communicate(timeout=240)
    finally:
        if lost == "node":
            second.start()
    assert process.returncode == 0, err
    children, summary = finished(client, experiment)
    assert summary == undisturbed
    [again] = [run for run in children if run.info.run_id == disturbed.info.run_id]
    assert again.data.tags["process"] != disturbed.data.tags["process"]


def test_a_sweep_whose_driver_is_killed_is_resumed(client, sweep, undisturbed):
    arguments, experiment = sweep
    process = client.start(*arguments, **TOKEN)
    _, worker = at_work(client, experiment)
    process.kill()
    process.communicate(timeout=60)
    with suppress(psutil.Error):  # Ray may have ended it by now
        worker.resume()
    succeeded(client.run(*arguments, "tracking.resume=true", **TOKEN))
    _, summary = finished(client, experiment)
    assert summary == undisturbed
