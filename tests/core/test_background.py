"""The process that draws charts beside a sweep."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ragsweep.core import background

pytestmark = pytest.mark.usefixtures("processes")


@pytest.fixture
def worker():
    """The id of the process in the background."""
    background.start()
    try:
        yield background.in_background(os.getpid)()
    finally:
        for pipe in background._workers:
            pipe.close()
        background._workers.clear()


def test_a_task_is_done_by_the_other_process(worker):
    assert worker != os.getpid()


def test_tasks_are_done_one_after_the_other(worker):
    assert [background.in_background(divmod, 7, number)() for number in (2, 3, 4)] == [(3, 1), (2, 1), (1, 3)]


def test_an_error_comes_back(worker):
    wait = background.in_background(divmod, 1, 0)
    with pytest.raises(ZeroDivisionError):
        wait()


def test_an_error_does_not_end_the_process(worker):
    with pytest.raises(ZeroDivisionError):
        background.in_background(divmod, 1, 0)()
    assert background.in_background(os.getpid)() == worker


def test_what_a_killed_process_owes_is_done_here(worker):
    os.kill(worker, signal.SIGSTOP)
    wait = background.in_background(os.getpid)
    os.kill(worker, signal.SIGKILL)
    assert wait() == os.getpid()


def test_without_the_process_a_task_is_done_here():
    assert background.in_background(os.getpid)() == os.getpid()


START = """
import os, time
from ragsweep.core import background
if __name__ == "__main__":
    background.start()
    print(background.in_background(os.getpid)(), flush=True)
    time.sleep(60)
"""


def test_it_ends_with_the_process_that_started_it(tmp_path):
    (tmp_path / "start.py").write_text(START)
    parent = subprocess.Popen([sys.executable, str(tmp_path / "start.py")], stdout=subprocess.PIPE, text=True)
    child = int(parent.stdout.readline())
    parent.kill()
    parent.wait()
    for _ in range(100):
        status = Path(f"/proc/{child}/stat")
        if not status.exists() or " Z " in status.read_text():  # in a container, nobody may reap it
            return
        time.sleep(0.1)
    pytest.fail("the process still runs")


def test_what_cannot_be_sent_is_done_here(worker):
    assert background.in_background(lambda number: os.getpid() * number, 1)() == os.getpid()
    assert background.in_background(os.getpid)() == worker
