"""Signals that end a process: each in a process of its own, since they are remembered until its end."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.usefixtures("processes")

BEGIN = """
import os, signal, sys
from ragsweep.core import terminal
terminal.answer_signals()
def press(): signal.raise_signal(signal.SIGINT)
"""

IN_A_HANDLER = """
try:
    try:
        try:
            press()
        except BaseException as error:
            press()
            raise ImportError("half imported") from error
    except ImportError:
        press()
        terminal.end_if_signalled()
except KeyboardInterrupt:
    print("whole")
"""
SWALLOWED = """
try:
    press()
except KeyboardInterrupt:
    pass
try:
    press()
except KeyboardInterrupt:
    print("whole")
"""
IN_A_FINALISER = """
class Held:
    def __del__(self): press()
Held()
try:
    terminal.end_if_signalled()
except KeyboardInterrupt:
    print("whole")
"""
CLOSING_FOR_LONG = """
terminal.SECONDS_TO_UNWIND = 0
try:
    try:
        press()
    except KeyboardInterrupt:
        press()
except KeyboardInterrupt:
    print("whole")
"""


@pytest.mark.parametrize("rest", [IN_A_HANDLER, SWALLOWED, IN_A_FINALISER, CLOSING_FOR_LONG])
def test_ctrl_c_is_raised_once_and_is_not_lost(rest):
    done = subprocess.run([sys.executable, "-c", BEGIN + rest], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("whole\n", "", 0)


def test_a_process_that_ignores_ctrl_c_still_does():
    code = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)" + BEGIN + "press(); print('goes on')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "goes on\n", done.stderr
