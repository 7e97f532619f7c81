"""What a run says of its process and of the code that made it, and what of that code leaves this machine."""

import json
import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragsweep.core.project import PROJECT
from ragsweep.core.terminal import TERMINATED
from ragsweep.tracking.recorded_environment import git_commit, is_dirty, uncommitted_patch, untracked
from ragsweep.tracking.run_owner import has_ended, process_identity
from tracking.stored import ANYTHING

IDENTITY = "import os, time; from ragsweep.tracking.run_owner import process_identity; "
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


def git(folder, *arguments):
    who = ["-c", "user.name=me", "-c", "user.email=me@example.org"]
    return subprocess.run(["git", "-C", folder, *who, *arguments], check=True, capture_output=True, text=True).stdout


@pytest.fixture
def project(tmp_path, processes):
    """A repository with a commit of one file."""
    folder = tmp_path / "project"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / "code.py").write_text("k = 1\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    return folder


def test_a_clean_checkout_is_its_commit(project):
    assert git_commit(project) == git(project, "rev-parse", "HEAD").strip()
    assert (is_dirty(project), uncommitted_patch(project), untracked(project)) == (False, "", "")


def test_a_change_of_a_tracked_file_is_a_patch_that_applies(project):
    (project / "code.py").write_text("k = 2\n")
    patch = uncommitted_patch(project)
    assert is_dirty(project)
    git(project, "checkout", "-q", "code.py")
    (project.parent / "patch").write_text(patch)
    git(project, "apply", "../patch")
    assert (project / "code.py").read_text() == "k = 2\n"


def test_of_a_file_that_git_does_not_have_only_the_name_leaves_this_machine(project):
    (project / "secret.py").write_text("PASSWORD = 'hunter2'\n")
    (project / "corpus").mkdir()
    for number in range(3):
        (project / "corpus" / f"{number}.yaml").write_text("hunter2")
    assert uncommitted_patch(project) == ""
    assert not is_dirty(project)
    assert untracked(project) == "corpus/\nsecret.py\n"


def test_what_is_no_repository_of_its_own_with_a_commit_has_none(project, tmp_path, monkeypatch):
    inner, other = project / "ragsweep", tmp_path / "other"
    for folder in (inner, other):
        folder.mkdir()
    (inner / "code.py").write_text("k = 1\n")
    assert (git_commit(inner), is_dirty(inner), uncommitted_patch(inner), untracked(inner)) == (None, False, "", "")
    git(tmp_path, "init", "-q")
    assert (git_commit(tmp_path), uncommitted_patch(tmp_path)) == (None, "")
    monkeypatch.setenv("GIT_DIR", str(project / ".git"))
    assert git_commit(other) is None
