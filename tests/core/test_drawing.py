"""The process that draws charts beside a sweep."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ragsweep.core import drawing
from ragsweep.core.style import figure

pytestmark = pytest.mark.usefixtures("processes")


@pytest.fixture
def second_process():
    drawing.start_drawing()
    try:
        yield drawing._processes[0].submit(os.getpid).result()
    finally:
        drawing._processes.pop().shutdown()


def by_process(*_):
    """A chart that says in which process it was drawn."""
    yield "chart.png", figure(4, 3, str(os.getpid()), "")


def failing():
    raise ZeroDivisionError
    yield


def drawn(folder, draw=by_process, *args):
    with drawing.drawing(folder, draw, *args) as charts:
        pass
    assert [(folder / chart.name).stat().st_size > 0 for chart in charts] == [True]
    return int(charts[0].title)


def test_charts_are_drawn_by_the_second_process_and_here_what_cannot_be_sent(second_process, tmp_path):
    assert [drawn(tmp_path), drawn(tmp_path)] == [second_process, second_process]
    assert drawn(tmp_path, by_process, lambda: None) == os.getpid()
    with pytest.raises(ZeroDivisionError):
        drawn(tmp_path, failing)
    assert drawn(tmp_path) == second_process  # an error does not end it


def test_what_a_killed_process_owes_is_drawn_here(second_process, tmp_path):
    os.kill(second_process, signal.SIGSTOP)
    with drawing.drawing(tmp_path, by_process) as charts:
        os.kill(second_process, signal.SIGKILL)
    assert charts[0].title == str(os.getpid())
    assert drawn(tmp_path) == os.getpid()


def test_without_the_process_charts_are_drawn_here(tmp_path):
    assert drawn(tmp_path) == os.getpid()


START = """
import os, time
from ragsweep.core import drawing
if __name__ == "__main__":
    drawing.start_drawing()
    print(drawing._processes[0].submit(os.getpid).result(), flush=True)
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
