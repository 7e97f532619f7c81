"""A real Slurm of one node, munge and all: a sweep through a tracking server, one of whose workers is killed."""

import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from application import succeeded
from held import ENVIRONMENT, held_by
from servers import free_port

DAEMONS = ("munged", "slurmctld", "slurmd")
pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(not all(map(shutil.which, DAEMONS)), reason="Slurm and munge are not installed"),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root may run Slurm's daemons"),
    pytest.mark.extra("slurm", "server"),
]
SWEEP = ["-m", "tracking=server", "k=1,2,3"]
JOBS = 3
SUBMITTED = ["hydra/launcher=submitit_slurm", "hydra.launcher.cpus_per_task=1", "hydra.launcher.mem_gb=1"]


@dataclass
class Slurm:
    """A controller and a node on loopback, with keys, sockets and state of their own in `folder`."""

    folder: Path

    @property
    def environment(self):
        return {"SLURM_CONF": str(self.folder / "slurm.conf"), **ENVIRONMENT}

    def configure(self):
        host = socket.gethostname().partition(".")[0]
        (self.folder / "munge").mkdir(mode=0o711)
        key = self.folder / "munge" / "key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o600)
        (self.folder / "slurm.conf").write_text(
            f"""
ClusterName=loopback
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={free_port()}
SlurmdPort={free_port()}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={self.folder}/munge/socket
CryptoType=crypto/munge
StateSaveLocation={self.folder}/state
SlurmdSpoolDir={self.folder}/spool
SlurmctldPidFile={self.folder}/slurmctld.pid
SlurmdPidFile={self.folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
# What was killed goes back into the queue, as labs have it for nodes that fail.
RequeueExit=137
NodeName={host} NodeAddr=127.0.0.1 CPUs={os.cpu_count()} RealMemory=4000
PartitionName=lab Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""
        )

    @property
    def commands(self):
        munge = self.folder / "munge"
        places = {"key-file": "key", "socket": "socket", "pid-file": "pid", "log-file": "log", "seed-file": "seed"}
        yield ["munged", "--foreground", "--force", *(f"--{name}={munge / place}" for name, place in places.items())]
        yield ["slurmctld", "-D", "-f", self.folder / "slurm.conf"]
        yield ["slurmd", "-D", "-f", self.folder / "slurm.conf"]

    def ask(self, *command):
        """What one of Slurm's commands prints."""
        shell = {**os.environ, **self.environment}
        return subprocess.run(command, env=shell, capture_output=True, text=True, check=False).stdout

    def hurry(self):
        """Start at once what has been put back into the queue, where Slurm lets it wait for two minutes."""
        queue = [line.split() for line in self.ask("squeue", "--noheader", "--format=%A %r").splitlines()]
        waiting = [number for number, reason in queue if reason == "BeginTime"]
        for number in waiting:
            self.ask("scontrol", "update", f"jobid={number}", "starttime=now")
        return waiting

    def until(self, condition):
        for _ in range(240):
            if result := condition():
                return result
            time.sleep(0.5)
        return pytest.fail(self.ask("squeue") + self.ask("sinfo") + (self.folder / "slurmd.log").read_text())


@contextmanager
def daemon(command, log):
    with log.open("wb") as file:
        process = subprocess.Popen(command, stdout=file, stderr=file)
    try:
        yield
    finally:
        process.terminate()
        process.wait(60)


@pytest.fixture(scope="module")
def slurm():
    with tempfile.TemporaryDirectory(prefix="slurm") as folder, ExitStack() as running:
        Path(folder).chmod(0o755)
        cluster = Slurm(Path(folder))
        cluster.configure()
        for command in cluster.commands:
            running.enter_context(daemon(command, cluster.folder / f"{command[0]}.log"))
        cluster.until(lambda: "idle" in cluster.ask("sinfo", "--noheader"))
        yield cluster
        cluster.ask("scancel", "--user=root")
        cluster.until(lambda: not cluster.ask("squeue", "--noheader"))


def at_work(client, experiment):
    """A run that a job has open, and the number of its process."""
    for run in client.of(experiment)[2]:
        if run.info.status == "RUNNING":
            return run.info.run_id, json.loads(run.data.tags["process"])["pid"]
    return None


@pytest.fixture
def held(client, dataset):
    """A sweep whose jobs wait as long as a file is there, and the file."""
    file = client.home / "wait"
    return [*SWEEP, *held_by(file), *dataset], file


def test_a_killed_worker_goes_back_into_the_queue_and_on_with_its_own_run(slurm, client, held, tmp_path):
    undisturbed = replace(client, home=tmp_path / "undisturbed")
    undisturbed.home.mkdir()
    sweep, file = held
    succeeded(undisturbed.run(*sweep, "tracking.experiment=undisturbed", **ENVIRONMENT))
    file.touch()
    process = client.start(*sweep, "tracking.experiment=killed", *SUBMITTED, **slurm.environment)
    run_id, pid = slurm.until(lambda: at_work(client, "killed"))
    os.kill(pid, signal.SIGKILL)
    file.unlink()
    slurm.until(slurm.hurry)
    _, err = process.communicate(timeout=240)
    assert process.returncode == 0, err
    _, [parent], children = client.of("killed")
    assert [run.info.status for run in [parent, *children]] == ["FINISHED"] * (1 + JOBS)
    assert run_id in {run.info.run_id for run in children}
    assert client.summary("killed") == undisturbed.summary("undisturbed")


def test_a_sweep_that_is_interrupted_takes_its_jobs_out_of_the_queue(slurm, client, held):
    sweep, file = held
    file.touch()
    process = client.start(*sweep, "tracking.experiment=interrupted", *SUBMITTED, **slurm.environment)
    slurm.until(lambda: at_work(client, "interrupted"))
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    slurm.until(lambda: not slurm.ask("squeue", "--noheader"))
    _, [parent], children = client.of("interrupted")
    assert parent.info.status == "KILLED"
    assert {run.info.status for run in children} == {"KILLED"}
