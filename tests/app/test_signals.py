"""A worker and the process that started its sweep."""

import os
import subprocess
import sys
from socket import gethostname

import pytest

from ragsweep.core.terminal import TERMINATED

WORKER = "from ragsweep.app.signals import end_with; end_with({}, {!r}); print('goes on')"


@pytest.fixture(scope="module")
def gone():
    """The number of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


@pytest.mark.parametrize(
    ("driver", "machine", "ends"),
    [("gone", gethostname(), True), ("gone", "another.example", False), ("this", gethostname(), False)],
)
def test_a_worker_whose_driver_is_gone_before_it_is_ready_ends(gone, driver, machine, ends):
    code = WORKER.format(gone if driver == "gone" else os.getpid(), machine)
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout) == ((TERMINATED, "") if ends else (0, "goes on\n"))
