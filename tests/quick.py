"""Quick tests start no process, load no model and draw nothing. A guard fails those that do."""

from __future__ import annotations

import importlib
import multiprocessing.util
import platform
import sys

# A test that has one of these fixtures is not quick.
SLOW = {"processes", "models", "drawing", "long_work", "real_data", "times"}
STARTS = {"subprocess.Popen", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.system"}
LIBRARIES = {"torch": "models", "matplotlib": "drawing"}  # each with the fixture of a test that loads it

_starts: list[str] = []
_loaded: set[str] = set()


def guard() -> None:
    """Refuse to start a process, as long as this one lives."""
    platform.processor()  # runs `uname`, once, for any library that asks
    importlib.import_module("numpy.testing")  # of NumPy 2.0 runs `lscpu`; the SciPy of its time imports it
    sys.addaudithook(lambda event, given: _refuse(f"{event} {given[0] if given else ''}") if event in STARTS else None)
    multiprocessing.util.spawnv_passfds = lambda path, *_: _refuse(f"multiprocessing {path!r}")  # raises no event


def check() -> None:
    """Fail for what was started or loaded since the last call."""
    new = LIBRARIES.keys() & sys.modules.keys() - _loaded
    _loaded.update(new)
    slow = [f"starts a process, which needs the fixture `processes`: {start}" for start in _starts]
    slow += [f"loads {name}, which needs the fixture `{LIBRARIES[name]}`" for name in sorted(new)]
    _starts.clear()
    assert not slow, "not a quick test: it " + "; it ".join(slow)


def _refuse(start: str) -> None:
    _starts.append(start)
    raise RuntimeError(f"a quick test starts no process: {start}")
