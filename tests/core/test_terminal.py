"""What reaches a terminal, how far long work has come there, and the signals that come from one."""

import io
import os
import pty
import re
import subprocess
import sys
import termios
from textwrap import indent

import application
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragsweep.core.errors import first_line
from ragsweep.core.progress import advance, progress
from ragsweep.core.terminal import duration, one_line, printable, shortened

HOSTILE = "\x1b[2J\x1b]0;owned\x07\x9b31m\u202eevil\u2066\u2028\x00\x7f\r"
GUARDED = "import sys; from ragsweep.core.terminal import guard; guard(); guard(); "
OF_HAYSTACK = "The following component failed to run:\nComponent name: 'm'\nError: no parent document\n"
FIRST_LINES = {  # lines that the first one announces belong to it
    "the index is gone\nsee the log": "the index is gone",
    OF_HAYSTACK: "The following component failed to run: Component name: 'm' Error: no parent document",
    "\n": "ValueError",
    "a\x1b[31m\n": "a[31m",
}
DURATIONS = {0: "0 s", 19.4: "19 s", 59.6: "1 min 0 s", 185: "3 min 5 s", 3600: "1 h 0 min", 7869: "2 h 11 min"}


@given(st.text())
def test_only_line_breaks_are_no_letters(text):
    assert printable(text).replace("\n", "").isprintable()
    assert one_line(text).isprintable()
    assert len(shortened(text, 20)) <= 20


def test_texts_durations_and_errors_read_as_one_would_say_them():
    assert printable("naïve 中文 עברית\n 😀 [1]") == "naïve 中文 עברית\n 😀 [1]"
    assert {seconds: duration(seconds) for seconds in DURATIONS} == DURATIONS
    assert {text: first_line(ValueError(text)) for text in FIRST_LINES} == FIRST_LINES


def run(code):
    """Run code in a process of its own: what it prints, and that it ended well."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


@pytest.mark.usefixtures("processes")
def test_whatever_is_printed_is_printable_and_a_warning_of_ours_has_no_place_in_the_code():
    warn = "warnings.warn_explicit('the disk is full', UserWarning, {}, 7)".format
    code = f"{GUARDED}print({HOSTILE!r}, 'a'); print({HOSTILE!r}, 'a', file=sys.stderr)"
    code += f"\nimport warnings; from ragsweep.core import terminal; {warn('terminal.__file__')}; {warn(repr('b.py'))}"
    stdout, stderr = run(code)
    printed, ours, theirs = stderr.splitlines()
    assert stdout.rstrip("\n") == printed == "[2J]0;owned31mevil   a"
    assert ours == "ragsweep: the disk is full"
    assert theirs.startswith("b.py:7: UserWarning: ")


@pytest.mark.usefixtures("processes")
def test_a_reader_may_go_away():
    code = f"{GUARDED}\nfor n in range(100000): print('x' * 100)\nprint('done', file=sys.stderr)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b"done\n"
    assert process.returncode == 0


BEGIN = """
import os, signal, sys
from ragsweep.core import terminal
signal.signal(signal.SIGINT, signal.default_int_handler)  # also if the process of the tests ignores it
terminal.answer_signals()
def press(): signal.raise_signal(signal.SIGINT)
"""
IN_A_HANDLER = """
try:
    try:
        press()
    except BaseException as error:
        press()
        raise ImportError("half imported") from error
except ImportError:
    press()
    terminal.end_if_signalled()
"""
SWALLOWED = """
try:
    press()
except KeyboardInterrupt:
    pass
press()
"""
IN_A_FINALISER = """
class Held:
    def __del__(self): press()
Held()
terminal.end_if_signalled()
"""
CLOSING_FOR_LONG = """
terminal.SECONDS_TO_UNWIND = 0
try:
    press()
except KeyboardInterrupt:
    press()
"""


@pytest.mark.usefixtures("processes")
def test_ctrl_c_is_raised_once_and_is_not_lost_but_by_a_process_that_ignores_it():
    """Each in a process of its own, since signals are remembered until its end."""
    for work in (IN_A_HANDLER, SWALLOWED, IN_A_FINALISER, CLOSING_FOR_LONG):
        code = f"{BEGIN}try:{indent(work, '    ')}except KeyboardInterrupt: print('whole')"
        assert run(code) == ("whole\n", ""), work
    ignoring = BEGIN.replace("default_int_handler", "SIG_IGN")
    assert run(f"{ignoring}press(); print('goes on')") == ("goes on\n", "")


COUNT = """
import sys, time
from ragsweep.core.progress import advance, hide_progress, progress
from ragsweep.core.terminal import guard

guard()
with progress("encoding 300 passages", 300):
    with progress("a part", 5):
        for _ in range(6):
            time.sleep(0.11)
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
def test_work_is_one_bar_in_a_terminal_that_goes_away_and_a_worker_that_shares_one_shows_none():
    sent = in_a_terminal(COUNT)
    done = [int(count) for count in re.findall(r"encoding 300 passages: .*?\| (\d+)/300 ", sent)]
    assert done[0] == 0
    assert done == sorted(done)
    assert len(set(done)) > 3
    assert "building an index" in sent
    assert "a part" not in sent
    assert re.search(r"\r +\rall is encoded\r\n$", sent)
    assert in_a_terminal(COUNT.replace("guard()", "guard(); hide_progress()")) == "all is encoded\r\n"


def test_nothing_is_shown_elsewhere_and_an_error_ends_the_work(capsys):
    with pytest.raises(ValueError, match="mistake"), progress("reading", 3):
        raise ValueError("mistake")
    advance(1)
    with progress("reading", 3):
        advance(3)
    assert capsys.readouterr().err == ""


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self):
        return True


@pytest.mark.usefixtures("processes")
def test_a_first_run_shows_that_mlflow_is_loaded_and_its_store_created(tmp_path, dataset, monkeypatch):
    monkeypatch.setattr(application, "StringIO", Terminal)
    arguments = [*dataset, "retriever=sparse", f"tracking.uri=sqlite:///{tmp_path}/mlflow.db"]
    folders = {"tracking.artifacts": "artifacts", "store.path": "store", "hydra.run.dir": "run"}
    arguments += [f"{setting}={tmp_path}/{folder}" for setting, folder in folders.items()]
    sent = application.in_this_process(tmp_path, "run", *arguments).stderr
    assert "\rloading MLflow ..." in sent
    assert "\rcreating the tracking store ..." in sent
