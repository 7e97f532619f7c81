"""Whether the process that a run belongs to is still there, and what a worker does without its driver."""

import json
import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragsweep.core.project import PROJECT
from ragsweep.core.terminal import TERMINATED
from ragsweep.tracking.process import has_ended, process_identity
from tracking.stored import ANYTHING

IDENTITY = "import os, time; from ragsweep.tracking.process import process_identity; "
PRINT_IDENTITY = f"{IDENTITY} print(process_identity(), flush=True); time.sleep(600)"
DRIVER = f"{IDENTITY} print(os.getpid(), process_identity())"
WORKER = """import sys; from ragsweep.app.workers import begin_worker
begin_worker(int(sys.argv[1]), sys.argv[2]); print('goes on')"""


@pytest.mark.usefixtures("processes")
def test_a_process_is_gone_once_it_has_been_killed_and_stays_so_also_as_a_zombie():
    process = subprocess.Popen([sys.executable, "-c", PRINT_IDENTITY], stdout=subprocess.PIPE, text=True)
    try:
        other = process.stdout.readline()
        assert has_ended(other) is False
    finally:
        process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # nobody else has waited for it
    assert has_ended(other)
    assert has_ended(other)
    process.wait()


def test_a_process_that_bore_our_number_before_or_before_the_machine_started_again_is_gone():
    assert has_ended(process_identity()) is False
    assert has_ended(altered(age=json.loads(process_identity())["age"] - 60))
    assert has_ended(altered(boot="an earlier one"))
    assert has_ended(altered(pid=2**31 - 1))


def altered(**fields):
    return json.dumps(json.loads(process_identity()) | fields)


def test_nothing_is_known_of_a_process_elsewhere_nor_of_what_is_no_process():
    elsewhere = [altered(**{field: "elsewhere"}, pid=2**31 - 1) for field in ("host", "machine", "namespace")]
    pids = [altered(pid=pid) for pid in (10**23, 2**63, -1, 0, 1.5, True, "1", None, [1])]
    assert [has_ended(process) for process in (*elsewhere, *pids, None, "of another program", "{}")] == [None] * 15


@given(st.fixed_dictionaries({}, optional=dict.fromkeys(["pid", "boot", "namespace", "age", "since"], ANYTHING)))
def test_any_field_is_one_of_an_identity_or_none(fields):
    assert has_ended(altered(**fields)) in (True, False, None)


@given(st.text() | ANYTHING.map(json.dumps) | st.sampled_from(["[" * 100_000, "9" * 5_000]))
def test_any_text_is_an_identity_or_none(text):
    assert has_ended(text) in (True, False, None)


def in_process(code, folder, *arguments):
    command = [sys.executable, "-c", code, *arguments]
    environment = {**os.environ, PROJECT: str(folder)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    return done.returncode, done.stdout


@pytest.mark.usefixtures("processes")
def test_a_worker_ends_where_its_driver_is_gone_before_it_is_ready_but_not_if_that_was_on_another_host(
    tmp_path, monkeypatch
):
    gone, identity = in_process(DRIVER, tmp_path)[1].rstrip().split(" ", 1)
    elsewhere = json.dumps({**json.loads(identity), "host": "another.example"})
    monkeypatch.setenv(PROJECT, str(tmp_path))
    for number, driver, expected in (
        (gone, identity, (TERMINATED, "")),
        (gone, elsewhere, (0, "goes on\n")),
        (str(os.getpid()), process_identity(), (0, "goes on\n")),
    ):
        assert in_process(WORKER, tmp_path, number, driver) == expected
