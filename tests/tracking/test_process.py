"""Whether the process that a run belongs to is still there."""

import json
import subprocess
import sys

from ragsweep.tracking.process import LOCKS, forget_ended, identity, is_gone

PRINT_IDENTITY = """
import time
from ragsweep.tracking.process import identity

print(identity(), flush=True)
time.sleep(600)
"""


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
    assert not is_gone(identity())


def test_a_process_of_an_earlier_container_that_bore_our_number_is_gone():
    earlier = json.loads(identity()) | {"lock": str(LOCKS / "1_00000000.lock")}
    assert is_gone(json.dumps(earlier))


def test_nothing_is_known_of_a_process_on_another_machine():
    lock = str(LOCKS / "1_00000000.lock")
    for other in (
        {"host": "elsewhere"},
        {"locks": "another machine of our name and path"},
        {"lock": f"/nowhere{lock}"},
    ):
        assert not is_gone(json.dumps(json.loads(identity()) | {"lock": lock} | other))
    assert not is_gone(None)
    assert not is_gone("of another program")
