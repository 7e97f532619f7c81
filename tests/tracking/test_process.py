"""Whether the process that a run belongs to is still there."""

import json
import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragsweep.tracking.process import is_gone, process_identity

PRINT_IDENTITY = """
import time
from ragsweep.tracking.process import process_identity

print(process_identity(), flush=True)
time.sleep(600)
"""


@pytest.mark.usefixtures("processes")
def test_a_process_is_gone_once_it_has_been_killed_and_stays_so_also_as_a_zombie():
    process = subprocess.Popen([sys.executable, "-c", PRINT_IDENTITY], stdout=subprocess.PIPE, text=True)
    try:
        other = process.stdout.readline()
        assert not is_gone(other)
    finally:
        process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # nobody else has waited for it
    assert is_gone(other)
    assert is_gone(other)
    process.wait()


def test_a_process_that_bore_our_number_before_or_before_the_machine_started_again_is_gone():
    assert not is_gone(process_identity())
    assert is_gone(altered(age=json.loads(process_identity())["age"] - 60))
    assert is_gone(altered(boot="an earlier one"))
    assert is_gone(altered(pid=2**31 - 1))


def altered(**fields):
    return json.dumps(json.loads(process_identity()) | fields)


@pytest.mark.parametrize("field", ["host", "machine", "namespace"])
def test_nothing_is_known_of_a_process_on_another_machine_or_in_another_container(field):
    assert not is_gone(altered(**{field: "elsewhere"}, pid=2**31 - 1))


UNKNOWN = [None, "of another program", "{}"]
UNKNOWN += [altered(pid=pid) for pid in (10**23, 2**63, -1, 0, 1.5, True, "1", None, [1])]


@pytest.mark.parametrize("process", UNKNOWN)
def test_nothing_is_known_of_what_is_no_process(process):
    assert not is_gone(process)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@given(st.fixed_dictionaries({}, optional=dict.fromkeys(["pid", "boot", "namespace", "age", "since"], ANYTHING)))
def test_any_field_is_one_of_an_identity_or_none(fields):
    assert is_gone(altered(**fields)) in (True, False)


@given(st.text() | ANYTHING.map(json.dumps) | st.sampled_from(["[" * 100_000, "9" * 5_000]))
def test_any_text_is_an_identity_or_none(text):
    assert is_gone(text) in (True, False)
