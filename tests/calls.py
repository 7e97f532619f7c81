"""Counts what a function does, where a time would depend on the machine."""

import sys


def calls_of(function):
    """How many functions are called, also those of C, such as a search with a pattern, whatever that takes inside."""
    calls = 0

    def note(frame, event, argument):
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(before)
    return calls
