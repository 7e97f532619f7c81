"""The retriever that runs already: when it is made, and what is timed."""

import pytest

from ragsweep.core.errors import RetrieverError
from ragsweep.store.stage_store import Store
from ragsweep_engines.callable_retriever import CallableRetriever

SLOW_S = 0.4
MODULE = f"""
import json
import pathlib
import sys
import time

class Slow:
    def __init__(self, log):
        time.sleep({SLOW_S})
        with open(log, "a") as file:
            file.write("made\\n")

    def invoke(self, input):
        return [{{"id": "a", "text": input}}]

class Broken:
    def __init__(self):
        raise ValueError("no index\\nat all")

class Ending:
    def __init__(self):
        sys.exit(0)

class Replay:
    def __init__(self, path):
        self.found = json.loads(pathlib.Path(path).read_text())

    def invoke(self, input):
        return [{{"text": text, "source": "manual.txt"}} for text in self.found[input]]
"""


@pytest.fixture(autouse=True)
def module(tmp_path, monkeypatch):
    (tmp_path / "made_by_tests.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)


def test_making_a_system_is_not_timed_and_has_no_time_limit(tmp_path):
    settings = {"log": str(tmp_path / "log.txt")}
    retriever = CallableRetriever("made_by_tests:Slow", settings=settings, timeout_s=SLOW_S / 2)
    assert retriever.answers(["a", "b"], 10).latency_ms.max() < 1000 * SLOW_S / 2


def test_a_system_is_made_only_if_a_query_is_asked(tmp_path):
    settings, store = {"log": str(tmp_path / "other.txt")}, Store(str(tmp_path / "store"))
    log = tmp_path / "other.txt"
    first = CallableRetriever("made_by_tests:Slow", settings=settings, store=store).answers(["a", "b"], 10)
    assert (first.kept, log.read_text()) == (0, "made\n")
    log.unlink()
    again = CallableRetriever("made_by_tests:Slow", settings=settings, store=store).answers(["b", "a"], 10)
    assert (again.kept, again.results) == (2, first.results[::-1])
    assert not log.exists()


@pytest.mark.parametrize(
    ("name", "said"), [("Broken", r"cannot be made \(ValueError: no index"), ("Ending", r"cannot be made \(SystemExit")]
)
def test_a_system_that_cannot_be_made_is_one_line(name, said):
    with pytest.raises(RetrieverError, match=said) as failed:
        CallableRetriever(f"made_by_tests:{name}").answers(["a"], 10)
    assert "\n" not in str(failed.value)
