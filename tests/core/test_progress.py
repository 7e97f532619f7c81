"""How far long work has come: a bar in a terminal, nothing elsewhere."""

import os
import pty
import re
import subprocess
import sys
import termios

import pytest

from ragsweep.core.progress import advance, progress

COUNT = """
import sys, time
from ragsweep.core.progress import advance, hide_progress, progress
from ragsweep.core.terminal import guard

guard()
with progress("encoding 300 passages", 300):
    with progress("a part", 5):
        for _ in range(6):
            time.sleep(0.15)
            advance(50)
with progress("building an index"):
    pass
print("all is encoded", file=sys.stderr)
"""


def in_a_terminal(code):
    """What a terminal is sent by a process that runs the code."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 80))
    with subprocess.Popen([sys.executable, "-c", code], stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        sent = b""
        try:
            while part := os.read(ours, 1 << 16):
                sent += part
        except OSError:  # the terminal is closed by the end of the process
            pass
        os.close(ours)
    assert process.returncode == 0, sent
    return sent.decode()


@pytest.mark.usefixtures("processes")
def test_work_is_one_bar_in_a_terminal_that_goes_away():
    sent = in_a_terminal(COUNT)
    done = [int(count) for count in re.findall(r"encoding 300 passages: .*?\| (\d+)/300 ", sent)]
    assert done[0] == 0
    assert done == sorted(done)
    assert len(set(done)) > 3
    assert "building an index" in sent
    assert "a part" not in sent
    assert re.search(r"\r +\rall is encoded\r\n$", sent)


@pytest.mark.usefixtures("processes")
def test_a_worker_that_shares_a_terminal_shows_nothing():
    assert in_a_terminal(COUNT.replace("guard()", "guard(); hide_progress()")) == "all is encoded\r\n"


def test_nothing_is_shown_elsewhere_and_an_error_ends_the_work(capsys):
    with pytest.raises(ValueError, match="mistake"), progress("reading", 3):
        raise ValueError("mistake")
    advance(1)
    with progress("reading", 3):
        advance(3)
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("processes")
def test_a_first_run_shows_that_mlflow_is_loaded_and_its_store_created(tmp_path, dataset):
    arguments = [*dataset, "retriever=sparse", f"tracking.uri=sqlite:///{tmp_path}/mlflow.db"]
    folders = {"tracking.artifacts": "artifacts", "store.path": "store", "hydra.run.dir": "run"}
    arguments += [f"{setting}={tmp_path}/{folder}" for setting, folder in folders.items()]
    argv = f"import sys; sys.argv = {['run.py', *arguments]!r}"
    sent = in_a_terminal(f"{argv}; from ragsweep.app.main import main; main('run')")
    assert "\rloading MLflow ..." in sent
    assert "\rcreating the tracking store ..." in sent
