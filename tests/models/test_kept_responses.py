"""Responses that are kept on disk: none is asked for twice, and none is lost."""

import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from application import PROJECT
from hypothesis import given
from hypothesis import strategies as st

from ragsweep.core.digest import digest
from ragsweep.core.errors import ModelError
from ragsweep.models.language.kept_responses import KeptResponses

KEEP = """
import sys
from ragsweep.models.language.kept_responses import KeptResponses
path, first, last = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
for number in range(first, last):
    print(KeptResponses(path).get(number, lambda: {"text": str(number)})["text"], flush=True)
"""


@pytest.fixture
def kept(tmp_path):
    return KeptResponses(tmp_path / "answers.sqlite")


def refuse():
    raise AssertionError("asked again")


def keeping(kept, first, last):
    """A process that keeps responses of its own to the numbers of a range, and prints each when it is kept."""
    command = [sys.executable, "-c", KEEP, str(kept.path), str(first), str(last)]
    environment = {**os.environ, "PYTHONPATH": str(PROJECT / "src")}
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


def change(kept, statement, *values):
    with closing(sqlite3.connect(kept.path)) as connection, connection:
        connection.execute(statement, values)


NUMBERS = st.integers(-(2**63), 2**63) | st.floats(allow_nan=False, allow_infinity=False)
PLAIN = st.none() | st.booleans() | NUMBERS | st.text()
ANY = st.recursive(PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3))


@given(response=st.dictionaries(st.text(), ANY, max_size=4))
def test_a_response_comes_back_as_it_was_returned_first(response):
    with tempfile.TemporaryDirectory() as folder:
        kept = KeptResponses(Path(folder) / "answers.sqlite")
        assert kept.get("prompt", lambda: response) == response == kept.get("prompt", refuse)


def test_a_failed_request_leaves_nothing_and_a_file_that_a_killed_process_left_empty_is_filled(kept):
    kept.path.touch()
    assert kept.find("prompt") is None
    with pytest.raises(ZeroDivisionError):
        kept.get("prompt", lambda: {"text": 1 / 0})
    assert kept.find("prompt") is None
    kept.get("prompt", lambda: {"text": "B"})
    assert kept.get("prompt", refuse) == {"text": "B"}


def test_clearing_the_store_keeps_what_was_paid_for(store):
    kept = KeptResponses.of(store)
    kept.get("prompt", lambda: {"text": "B"})
    assert [*store.entries()] == store.clear() == []
    assert kept.get("prompt", refuse) == {"text": "B"}


def test_threads_that_need_the_same_response_ask_once(kept):
    asked, all_wait = [], threading.Barrier(8)

    def ask():
        asked.append(1)
        time.sleep(0.1)
        return {"text": str(len(asked))}

    def need():
        all_wait.wait()
        assert kept.get("prompt", ask) == {"text": "1"}

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: need(), range(8)))
    assert asked == [1]


def test_the_first_response_counts_for_a_process_that_asked_at_the_same_time(kept, tmp_path):
    (tmp_path / "link").symlink_to(tmp_path)
    other = KeptResponses(tmp_path / "link" / "answers.sqlite")  # another name: no lock is shared, as in a process

    def ask():
        other.get("prompt", lambda: {"text": "first"})
        return {"text": "second"}

    assert kept.get("prompt", ask) == {"text": "first"} == other.get("prompt", refuse)


@pytest.mark.usefixtures("processes")
def test_processes_that_write_at_once_lose_nothing(kept):
    processes = [keeping(kept, start, start + 50) for start in (0, 50)]
    assert [process.wait(timeout=120) for process in processes] == [0, 0]
    assert [kept.get(number, refuse)["text"] for number in range(100)] == [str(number) for number in range(100)]


@pytest.mark.usefixtures("processes")
def test_a_killed_process_loses_no_response_that_it_had_received(kept):
    process = keeping(kept, 0, 10**6)
    received = [process.stdout.readline() for _ in range(20)]
    process.send_signal(signal.SIGKILL)
    received += process.stdout.readlines()
    process.wait()
    numbers = [int(line) for line in received if line.endswith("\n")]
    assert len(numbers) >= 20
    assert [kept.get(number, refuse)["text"] for number in numbers] == [str(number) for number in numbers]


def test_a_damaged_response_is_asked_for_again(kept):
    kept.get("prompt", lambda: {"text": "B"})
    with_checksum = ((damage, digest(damage)) for damage in ("[1]", "not JSON", '{"text": NaN}', "[" * 200_000))
    for response, checksum in (('{"text": "C"}', None), (b"\xff", None), *with_checksum):
        change(kept, "UPDATE responses SET response = ?, checksum = coalesce(?, checksum)", response, checksum)
        with pytest.warns(UserWarning, match="a kept response is damaged"):
            assert kept.get("prompt", lambda: {"text": "D"}) == {"text": "D"}
        assert kept.get("prompt", refuse) == {"text": "D"}


ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n WHERE i < 0"
VIEW = f"CREATE VIEW responses AS SELECT i AS key, i AS request, i AS response, i AS checksum FROM ({ENDLESS})"
TABLE = "CREATE TABLE responses (key, request, response, checksum)"
TRIGGER = "CREATE TRIGGER responses BEFORE INSERT ON responses BEGIN SELECT raise(abort, 'no'); END"
VERSION = "PRAGMA user_version = 1"
REFUSED = {  # what makes a file, and what its refusal says
    "view": ([VIEW, VERSION], r"found no intact .*view or a trigger.*move the file"),
    "trigger": ([TABLE, TRIGGER, VERSION], r"found no intact .*view or a trigger.*move the file"),
    "old": ([TABLE], "found schema 0 of kept responses, expected 1; move it away"),
    "new": ([TABLE, "PRAGMA user_version = 2"], "found schema 2 of kept responses, expected 1; move it away"),
    "text": ([], r"found no intact database.*move the file away"),
}


def test_a_file_that_is_not_ours_is_an_error_before_anything_is_asked_or_executed_and_stays(tmp_path):
    for name, (statements, expected) in REFUSED.items():
        kept = KeptResponses(tmp_path / f"{name}.sqlite")
        if not statements:
            kept.path.write_text("no database, but perhaps something dear\n" * 100)
        for statement in statements:
            change(kept, statement)
        before = kept.path.read_bytes()
        for attempt in (lambda kept=kept: kept.find("prompt"), lambda kept=kept: kept.get("prompt", refuse)):
            with pytest.raises(ModelError, match=rf"{name}\.sqlite: {expected}"):
                attempt()
        assert kept.path.read_bytes() == before


@pytest.fixture
def as_reader():
    """A folder that this process may read, but not write, even if it belongs to root."""
    before = os.geteuid()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        KeptResponses(folder / "answers.sqlite").get("prompt", lambda: {"text": "B"})
        (folder / "answers.sqlite").chmod(0o444)
        folder.chmod(0o555)
        if before == 0:
            os.seteuid(65534)
        yield folder
        os.seteuid(before)
        folder.chmod(0o755)


def test_a_read_only_file_gives_what_it_has_and_anything_else_is_an_error(as_reader):
    kept = KeptResponses(as_reader / "answers.sqlite")
    assert kept.get("prompt", refuse) == {"text": "B"}
    with pytest.raises(ModelError, match=r"kept responses: cannot use .*store\.enabled=false"):
        kept.get("other", lambda: {"text": "C"})
    with pytest.raises(ModelError, match=r"kept responses: cannot use"):
        KeptResponses(as_reader / "folder" / "answers.sqlite").get("prompt", refuse)
    not_kept = KeptResponses(as_reader / "answers.sqlite", enabled=False)
    assert not_kept.get("prompt", lambda: {"text": "C"}) == {"text": "C"}
