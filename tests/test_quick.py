"""The guard of the quick tests: a test that starts a process or draws fails, unless a fixture says that it is slow."""

import re
import subprocess
import sys

import pytest
from application import PROJECT

TESTS = """
import multiprocessing, subprocess, sys
from contextlib import suppress

def test_that_computes():
    assert 1 + 1 == 2

def test_that_starts_a_process():
    with suppress(Exception):
        subprocess.run([sys.executable, "--version"])

def test_that_starts_a_fork_server():
    with suppress(Exception):
        multiprocessing.get_context("forkserver").Process(target=print).start()

def test_that_draws():
    import matplotlib

def test_that_says_so(processes):
    subprocess.run([sys.executable, "--version"], check=True)
"""


@pytest.mark.usefixtures("processes")
def test_a_test_that_is_slow_without_saying_so_fails(tmp_path):
    (tmp_path / "test_some.py").write_text(TESTS)
    options = ["-p", "conftest", "-c", PROJECT / "pyproject.toml", "--rootdir", tmp_path, "-n0", "-rE", "--quick"]
    command = [sys.executable, "-m", "pytest", *options, tmp_path / "test_some.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    failed = re.findall(r"^ERROR .*::test_that_(\w+)", done.stdout, re.MULTILINE)
    assert failed == ["starts_a_process", "starts_a_fork_server", "draws"]
    assert "4 passed, 1 deselected, 3 errors" in done.stdout
