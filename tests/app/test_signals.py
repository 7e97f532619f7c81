"""A worker and the process that started its sweep."""

import json
import os
import subprocess
import sys

import pytest

from ragsweep.core.project import PROJECT
from ragsweep.core.terminal import TERMINATED
from ragsweep.tracking.process import process_identity

pytestmark = pytest.mark.usefixtures("processes")

DRIVER = "import os; from ragsweep.tracking.process import process_identity; print(os.getpid(), process_identity())"
WORKER = """import sys; from ragsweep.app.workers import begin_worker
begin_worker(int(sys.argv[1]), sys.argv[2]); print('goes on')"""


def in_process(code, folder, *arguments):
    command = [sys.executable, "-c", code, *arguments]
    environment = {**os.environ, PROJECT: str(folder)}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


@pytest.fixture(scope="module")
def gone(tmp_path_factory):
    """A folder, and the number and the identity of a process that has ended there."""
    folder = tmp_path_factory.mktemp("project")
    return folder, *in_process(DRIVER, folder).stdout.rstrip().split(" ", 1)


def test_a_worker_whose_driver_is_gone_before_it_is_ready_ends(gone):
    folder, number, identity = gone
    process = in_process(WORKER, folder, number, identity)
    assert (process.returncode, process.stdout) == (TERMINATED, "")


def test_a_worker_goes_on_where_its_driver_runs(gone, monkeypatch):
    folder = gone[0]
    monkeypatch.setenv(PROJECT, str(folder))
    process = in_process(WORKER, folder, str(os.getpid()), process_identity())
    assert (process.returncode, process.stdout) == (0, "goes on\n")


def test_a_worker_does_not_judge_a_driver_on_another_host_by_the_processes_of_its_own(gone):
    folder, number, identity = gone
    elsewhere = json.dumps({**json.loads(identity), "host": "another.example"})
    process = in_process(WORKER, folder, number, elsewhere)
    assert (process.returncode, process.stdout) == (0, "goes on\n")
