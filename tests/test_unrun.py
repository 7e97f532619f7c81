"""What is left unrun is counted, and what is required fails if it is skipped, under xdist as without it."""

import os
import re

import pytest
from application import PROJECT, PYTEST
from unrun import Unrun
from warm import Process

TESTS = """
import pytest

@pytest.fixture
def data_of_mine(real_data):
    pass

def test_fixture(data_of_mine):
    pass

@pytest.mark.real_data
def test_late_fixture(request):
    request.getfixturevalue("real_data")

@pytest.mark.real_data
@pytest.mark.skipif(True, reason="it is not there")
def test_mark():
    pass

@pytest.mark.real_data
@pytest.mark.soak
def test_soak():
    pass

@pytest.mark.real_data
def test_hardware():
    pytest.skip("this machine has no such addresses")

@pytest.mark.server
def test_server():
    pytest.skip("PostgreSQL is not installed")

@pytest.mark.release
def test_release():
    pass

@pytest.mark.parametrize("number", range(12))
def test_other(number):
    pytest.skip(f"reason {number}")
"""


def run(folder, required, tests, workers):
    (folder / "test_some.py").write_text(tests)
    options = ["-p", "conftest", "-c", f"{PROJECT}/pyproject.toml", "--rootdir", str(folder), "-rfE", workers]
    ours = {"PYTHONPATH": f"{PROJECT}/tests", "RAGSWEEP_REAL_DATA": str(folder / "absent")}
    environment = {**os.environ, **ours, "RAGSWEEP_REQUIRE": required}
    environment.pop("CI", None)  # there pytest says every reason twice
    process = Process(PYTEST, [*options, "-m", "not release", "test_some.py"], folder, environment)
    stdout, _ = process.communicate(timeout=300)
    return process.returncode, stdout


@pytest.mark.usefixtures("processes")
@pytest.mark.parametrize("workers", ["-n0", "-n1"])
def test_what_is_required_fails_where_it_is_skipped_and_the_rest_is_counted_by_reason(tmp_path, workers):
    status, stdout = run(tmp_path, "real_data,extras", TESTS, workers)
    assert status == 1, stdout
    failed = re.findall(r"^(?:ERROR|FAILED) .*::test_(\w+)", stdout, re.MULTILINE)
    assert sorted(failed) == ["fixture", "late_fixture", "mark"]
    assert stdout.count(f"skipped: {tmp_path / 'absent'} is not there") == 2  # why the first two fail
    [unrun] = re.findall(r"^=+ 16 tests left unrun =+\n((?: +\d+  .*\n)*)", stdout, re.MULTILINE)
    assert [int(line.split()[0]) for line in unrun.splitlines()] == [1] * 9 + [7]
    assert "  1  make test-release" in unrun


@pytest.mark.usefixtures("processes")
def test_a_file_that_is_skipped_whole_fails_where_anything_is_required(tmp_path):
    skipped = 'import pytest\npytest.importorskip("no_such_package")\n'
    assert "1 error" in run(tmp_path, "browser", skipped, "-n0")[1]


def test_a_requirement_that_no_test_has_is_refused(monkeypatch):
    monkeypatch.setenv("RAGSWEEP_REQUIRE", "browser,realdata")
    with pytest.raises(pytest.UsageError, match="found realdata, expected some of browser,"):
        Unrun()
