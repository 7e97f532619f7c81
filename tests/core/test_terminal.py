"""What reaches a terminal."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragsweep.core.errors import first_line
from ragsweep.core.terminal import duration, one_line, printable, shortened

HOSTILE = "\x1b[2J\x1b]0;owned\x07\x9b31m\u202eevil\u2066\u2028\x00\x7f\r"
GUARDED = "import sys; from ragsweep.core.terminal import guard; guard(); guard(); "


@given(st.text())
def test_only_line_breaks_are_no_letters(text):
    assert printable(text).replace("\n", "").isprintable()
    assert one_line(text).isprintable()
    assert len(shortened(text, 20)) <= 20


def test_a_printable_text_stays_as_it_is():
    assert printable("naïve 中文 עברית\n 😀 [1]") == "naïve 中文 עברית\n 😀 [1]"


@pytest.mark.usefixtures("processes")
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_whatever_is_printed_is_printable(stream):
    told = subprocess.run(
        [sys.executable, "-c", f"{GUARDED}print({HOSTILE!r}, 'a', file=sys.{stream})"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert getattr(told, stream) == "[2J]0;owned31mevil   a\n"


@pytest.mark.usefixtures("processes")
def test_a_reader_may_go_away():
    code = f"{GUARDED}\nfor n in range(100000): print('x' * 100)\nprint('done', file=sys.stderr)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b"done\n"
    assert process.returncode == 0


@pytest.mark.usefixtures("processes")
@pytest.mark.parametrize(
    ("filename", "expected"),
    [
        ("terminal.__file__", "ragsweep: the disk is full\n"),
        ("'theirs.py'", "theirs.py:7: UserWarning: "),
    ],
    ids=["ours", "theirs"],
)
def test_a_warning_of_ours_is_a_line_without_a_place_in_the_code(filename, expected):
    warn = f"import warnings; warnings.warn_explicit('the disk is full', UserWarning, {filename}, 7)"
    code = f"{GUARDED}from ragsweep.core import terminal; {warn}"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stderr.startswith(expected)
    assert told.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (19.4, "19 s"), (59.6, "1 min 0 s"), (185, "3 min 5 s"), (3600, "1 h 0 min"), (7869, "2 h 11 min")],
)
def test_a_duration_reads_as_one_would_say_it(seconds, text):
    assert duration(seconds) == text


OF_HAYSTACK = "The following component failed to run:\nComponent name: 'm'\nError: no parent document\n"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("the index is gone\nsee the log", "the index is gone"),
        (OF_HAYSTACK, "The following component failed to run: Component name: 'm' Error: no parent document"),
        ("\n", "ValueError"),
        ("a\x1b[31m\n", "a[31m"),
    ],
)
def test_lines_that_the_first_one_announces_belong_to_it(text, line):
    assert first_line(ValueError(text)) == line
