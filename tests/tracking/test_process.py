"""Whether the process that a run belongs to is still there."""

import json
import socket
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragsweep.tracking import process as processes
from ragsweep.tracking.process import forget_ended, is_gone, process_identity

PRINT_IDENTITY = """
import time
from ragsweep.tracking.process import process_identity

print(process_identity(), flush=True)
time.sleep(600)
"""
ENDED = "1_00000000.lock"


@pytest.mark.usefixtures("processes")
def test_a_process_is_gone_once_it_has_been_killed_and_stays_so_also_as_a_zombie():
    process = subprocess.Popen([sys.executable, "-c", PRINT_IDENTITY], stdout=subprocess.PIPE, text=True)
    try:
        other = process.stdout.readline()
        assert not is_gone(other)
        forget_ended()
        assert not is_gone(other)
    finally:
        process.kill()
    process.stdout.read()  # until it is dead; nobody has waited for it
    assert is_gone(other)
    assert is_gone(other)
    process.wait()


def test_this_process_is_not_gone():
    assert not is_gone(process_identity())


def test_a_process_of_an_earlier_container_that_bore_our_number_is_gone():
    assert is_gone(json.dumps(json.loads(process_identity()) | {"lock": ENDED}))


def test_nothing_is_known_of_a_process_on_another_machine():
    for other in ({"host": "elsewhere"}, {"locks": "another machine of our name and path"}):
        assert not is_gone(json.dumps(json.loads(process_identity()) | {"lock": ENDED} | other))
    assert not is_gone(None)
    assert not is_gone("of another program")


@pytest.mark.parametrize("pid", [10**23, 2**63, -1, 0, 1.5, True, "1", None, [1]])
def test_a_number_that_no_process_has_says_nothing(pid):
    assert not is_gone(json.dumps({"host": socket.gethostname(), "pid": pid, "lock": "", "locks": ""}))


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    """A folder of locks in use, of which `name` is the name, and a folder beside it that is none of ours."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(processes, "locks", lambda: home / "locks")
        for folder in ("locks", "foreign"):
            (home / folder).mkdir()
            (home / folder / "name").write_text("the name")
        (home / "foreign" / ENDED).write_text("dear to its owner")
        yield home


def tree(folder):
    return {path: path.is_file() and path.read_bytes() for path in folder.rglob("*")}


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
FOREIGN = ["foreign/" + ENDED, "locks/../foreign/" + ENDED, "foreign/2_00000000.lock", "elsewhere/" + ENDED]
LOCK_NAMES = [ENDED, ENDED + "\n", "name", ".", "..", "../foreign/" + ENDED, "../" + ENDED, "\0.lock", ""]


@given(data=st.data())
def test_no_identity_touches_a_file_outside_the_folder_of_locks(places, data):
    paths = [f"{places}/{name}" for name in FOREIGN]
    known = data.draw(
        st.fixed_dictionaries(
            {},
            optional={
                "host": st.just(socket.gethostname()) | ANYTHING,
                "pid": st.integers() | ANYTHING,
                "lock": st.sampled_from([*LOCK_NAMES, *FOREIGN, *paths]) | ANYTHING,
                "locks": st.just("the name") | ANYTHING,
            },
        )
    )
    before = tree(places)
    assert is_gone(json.dumps(known)) in (True, False)
    forget_ended()
    assert tree(places) == before


@given(st.text() | ANYTHING.map(json.dumps) | st.sampled_from(["[" * 100_000, "9" * 5_000]))
def test_any_text_is_an_identity_or_none(text):
    assert is_gone(text) in (True, False)
