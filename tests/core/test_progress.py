"""How far long work has come, in a terminal and elsewhere."""

import os
import pty
import re
import subprocess
import sys

import pytest

from ragsweep.core.progress import Progress, advance, progress

ENCODE = """
import sys
from ragsweep.core.progress import Progress
from ragsweep.store.stage_store import NO_STORE
from ragsweep.core.terminal import guard
from ragsweep.retrieval import SentenceTransformerEncoder
from ragsweep.models.encoders import embeddings

guard()
Progress.seconds_to_appear = Progress.seconds_between_bars = Progress.seconds_between_lines = 0.05
embeddings.ENCODED_AT_ONCE = 100
texts = [f"the passage with the number {number} " * (number % 3 + 1) for number in range(300)]
embeddings.embed(SentenceTransformerEncoder(device="cpu"), NO_STORE, texts, "passage")
print("all is encoded", file=sys.stderr)
"""

COUNT = """
import sys, time
from ragsweep.core.progress import Progress, advance, progress
from ragsweep.core.terminal import guard

guard()
Progress.seconds_to_appear = Progress.seconds_between_bars = Progress.seconds_between_lines = 0.05
with progress("encoding 300 passages", 300):
    time.sleep(0.2)
    for _ in range(60):
        time.sleep(0.01)
        advance(5)
print("all is encoded", file=sys.stderr)
"""


def in_a_terminal(code):
    """What a terminal is sent by a process that runs the code."""
    ours, theirs = pty.openpty()
    with subprocess.Popen([sys.executable, "-c", code], stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        sent = b""
        try:
            while some := os.read(ours, 1 << 16):
                sent += some
        except OSError:  # the terminal is closed by the end of the process
            pass
        os.close(ours)
    assert process.returncode == 0, sent
    return sent.decode()


@pytest.mark.usefixtures("processes")
def test_encoding_is_one_bar_in_a_terminal():
    sent = in_a_terminal(ENCODE)
    bars = [each for each in sent.split("\r") if each.startswith("encoding")]
    shares = [int(re.fullmatch(r"encoding 300 passages: +(\d+)%\|.*\| [\d:]+<(\?|[\d:]+)", bar)[1]) for bar in bars]
    assert shares[0] == 0  # it is there while torch and the model are being loaded
    assert shares.count(0) > 5
    assert shares == sorted(shares)
    assert len(set(shares)) > 5
    assert sent.rstrip().endswith("\rall is encoded")


@pytest.mark.usefixtures("processes")
def test_work_is_lines_where_there_is_no_terminal():
    done = subprocess.run([sys.executable, "-c", COUNT], capture_output=True, text=True, check=True)
    *lines, last = done.stderr.splitlines()
    shares = [
        int(re.fullmatch(r"encoding 300 passages: (\d+) %, [\d:]+ so far, (\?|[\d:]+) left", line)[1]) for line in lines
    ]
    assert shares[0] == 0
    assert shares == sorted(shares)
    assert len(set(shares)) > 5
    assert last == "all is encoded"


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(Progress, "seconds_between_lines", 0.01)


def shown(capsys):
    return capsys.readouterr().err.splitlines()


def wait_for(capsys, expected):
    lines = []
    while not any(re.fullmatch(expected, line) for line in lines):
        lines += shown(capsys)
    return lines


def test_work_without_a_known_end_shows_its_time(quick, capsys):
    with progress("building an index"):
        wait_for(capsys, r"building an index: [\d:]+ so far")


def test_work_within_work_goes_on_with_its_line(quick, capsys):
    with progress("encoding 10 passages", 10):
        with progress("encoding 5 texts", 5):
            advance(4)
        lines = wait_for(capsys, r"encoding 10 passages: 40 %, [\d:]+ so far, [\d:]+ left")
    assert not [line for line in lines if "5 texts" in line]


def test_nothing_is_shown_after_the_work(quick, capsys):
    with pytest.raises(ValueError, match="mistake"), progress("reading", 3):
        raise ValueError("mistake")
    shown(capsys)
    advance(1)
    assert shown(capsys) == []


def test_short_work_shows_nothing(capsys):
    with progress("reading", 3):
        advance(3)
    assert shown(capsys) == []


@pytest.mark.usefixtures("processes")
def test_a_worker_that_shares_a_terminal_prints_lines():
    code = COUNT.replace("guard()", "guard(); Progress.may_draw = False")
    sent = in_a_terminal(code)
    assert re.fullmatch(r"(encoding 300 passages: [^\r\n]*left\r\n)+all is encoded\r\n", sent)


@pytest.mark.usefixtures("processes")
def test_a_first_run_shows_that_mlflow_is_loaded_and_its_store_created(tmp_path, dataset):
    arguments = [*dataset, "retriever=sparse", f"tracking.uri=sqlite:///{tmp_path}/mlflow.db"]
    arguments += [
        f"tracking.artifacts={tmp_path}/artifacts",
        f"store.path={tmp_path}/store",
        f"hydra.run.dir={tmp_path}/run",
    ]
    sent = in_a_terminal(
        f"import sys; sys.argv = {['run.py', *arguments]!r}; from ragsweep.app.cli import main; main()"
    )
    shown = [each.partition(":")[0] for each in sent.split("\r")]
    assert "loading MLflow" in shown
    assert "creating the tracking store" in shown
