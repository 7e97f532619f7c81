"""Sweeps that ask an endpoint, ended before their time and started again: no answer is paid for twice."""

import hashlib
import json
import shutil
import signal
import sqlite3
import threading
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field, replace

import pytest
from application import Application
from endpoint_server import TOKENS_IN, TOKENS_OUT, EndpointServer, Reply, answer
from small import CASES, case_arguments

pytestmark = pytest.mark.extra("openai")
KEY = "sk-test-Zm9vYmFyYmF6cXV4"
CONCURRENCY = 4
GRID = ["reasoning=direct,cot", "k=1,2"]
RUNS = 4  # of this grid
MIDDLE = 28  # the requests after which a sweep is ended: in its second run
TOKENS = TOKENS_IN + TOKENS_OUT  # of a request, as the server counts them


class Server(EndpointServer):
    """Answers as the prompt decides, so that an answer that gets lost or mixed up changes a run.

    Attributes:
        in_the_middle: Set when a sweep is in its middle, from where the server is slow, so that it stays there.
        hurry: Set it, and the server is not slow.
    """

    def __init__(self) -> None:
        super().__init__(self._answer)
        self.in_the_middle, self.hurry = threading.Event(), threading.Event()

    def _answer(self, prompt: str, times: int) -> Reply:
        if len(self.requests) >= MIDDLE:
            self.in_the_middle.set()
            self.hurry.wait(0.5)
        return replace(answer("ABC"[hashlib.sha256(prompt.encode()).digest()[0] % 3]), after_s=0.02)

    def counts(self) -> Counter[str]:
        """How often each request came, by all that it contains."""
        with self.lock:
            return Counter(map(content, self.requests))


@dataclass(frozen=True)
class Sweeps:
    """Sweeps over the small cases, which ask a server and keep its answers in a store of their own."""

    application: Application
    server: Server
    cases: list[str]
    printed: list[str] = field(default_factory=list)

    def start(self, *settings):
        asked = ["answerer=llm", "language_model=openai", "language_model.model=model"]
        asked += [f"language_model.base_url={self.server.url}"]
        usual = ["retriever=sparse", f"language_model.concurrency={CONCURRENCY}"]
        return self.application.start("-m", *self.cases, *asked, *usual, *settings, OPENAI_API_KEY=KEY)

    def end(self, process):
        """Wait for the end of a sweep: its exit status and what it printed."""
        out, err = process.communicate(timeout=120)
        self.printed.append(out + err)
        return process.returncode, out + err

    def run(self, *settings):
        return self.end(self.start(*settings))

    def end_in_the_middle(self, *settings, by):
        """Start a sweep, send it a signal in the middle, and wait for its end."""
        process = self.start(*settings)
        assert self.server.in_the_middle.wait(120), process.communicate()
        process.send_signal(by)
        ended = self.end(process)
        self.server.hurry.set()
        return ended

    def kept(self):
        """The requests whose responses are on the disk, from a copy: the next start has to mend the file by itself."""
        copy = self.application.home / "copy"
        copy.mkdir()
        files = [shutil.copy(file, copy) for file in self.application.cache.glob("answers.sqlite*")]
        if not files:
            return set()
        with closing(sqlite3.connect(copy / "answers.sqlite")) as connection:
            rows = connection.execute("SELECT request FROM responses").fetchall()
        return {content(json.loads(request)["request"]) for (request,) in rows}

    def answers(self):
        """The lines of `answers.jsonl` of each finished run, by its name, without the times."""
        runs = [run for run in self.application.children() if run.info.status == "FINISHED"]
        files = {run.info.run_name: self.application.artifacts(run) / "results" / "answers.jsonl" for run in runs}
        lines = {name: map(json.loads, file.read_text().splitlines()) for name, file in files.items()}
        return {name: [{**line, "time_ms": None} for line in of_run] for name, of_run in lines.items()}

    def statuses(self):
        return Counter(run.info.status for run in self.application.runs())


def content(request):
    return json.dumps(request, sort_keys=True)


def prompt(request):
    [message] = json.loads(request)["messages"]
    return message["content"]


def application(folder, empty_database, store):
    folder.mkdir()
    shutil.copy(empty_database, folder)
    return Application(folder, store)


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    return case_arguments(tmp_path_factory.mktemp("cases"))


@pytest.fixture
def sweeps(tmp_path, cases, empty_database):
    with Server() as server:
        yield Sweeps(application(tmp_path / "home", empty_database, tmp_path / "store"), server, cases)


@dataclass(frozen=True)
class Killed:
    """A sweep that was killed in the middle and started again with the same command, which went through."""

    sweeps: Sweeps
    status: int
    before: Counter[str]  # what it had asked
    kept: set[str]  # what it had kept
    again: tuple[int, str]
    after: Counter[str]  # what both had asked


@pytest.fixture(scope="module")
def killed(tmp_path_factory, cases, empty_database):
    folder = tmp_path_factory.mktemp("killed")
    with Server() as server:
        sweeps = Sweeps(application(folder / "home", empty_database, folder / "store"), server, cases)
        status, _ = sweeps.end_in_the_middle(*GRID, by=signal.SIGKILL)
        before, kept = server.counts(), sweeps.kept()
        yield Killed(sweeps, status, before, kept, sweeps.run(*GRID), server.counts())


def test_a_killed_sweep_asks_again_only_for_what_was_on_its_way(killed):
    """At most as many as may be on their way: each thread keeps its response before it sends the next request."""
    assert killed.status == -signal.SIGKILL
    assert len(killed.before) < len(killed.after)  # it was killed in the middle
    assert set(killed.before.values()) == {1}
    assert killed.again[0] == 0, killed.again
    twice = {request for request, times in killed.after.items() if times > 1}
    assert not twice & killed.kept
    assert len(twice) <= CONCURRENCY
    assert killed.after.total() == len(killed.after) + len(twice)
    assert killed.kept <= killed.before.keys()
    assert len(killed.before.keys() - killed.kept) <= CONCURRENCY


def test_a_sweep_in_another_tracking_store_asks_only_what_has_other_passages(killed, tmp_path, empty_database):
    elsewhere = application(tmp_path / "home", empty_database, killed.sweeps.application.cache)
    before = killed.sweeps.server.counts()
    wider = replace(killed.sweeps, application=elsewhere)
    status, printed = wider.run("reasoning=direct,cot", "k=1,2,3")
    assert status == 0, printed
    assert wider.statuses() == {"FINISHED": 1 + RUNS + 2}
    new = killed.sweeps.server.counts() - before
    assert set(new.values()) == {1}
    assert not new.keys() & before.keys()
    assert all("\n[3] " in prompt(request) for request in new)
    first, answers = killed.sweeps.answers(), wider.answers()
    assert {name: answers.pop(name) for name in first} == first
    for lines in answers.values():
        shown = {exchange["prompt"] for line in lines for exchange in line["exchanges"]}
        assert len(shown) == len(CASES)
        assert {text for text in shown if "\n[3] " in text} <= {prompt(request) for request in new}


def test_an_interrupted_sweep_waits_for_its_requests_and_asks_nothing_twice(sweeps):
    grid = ["reasoning=direct,cot", "k=1"]
    status, _ = sweeps.end_in_the_middle(*grid, by=signal.SIGINT)
    before = sweeps.server.counts()
    assert status == 128 + signal.SIGINT
    assert sweeps.statuses() == {"KILLED": 2, "FINISHED": 1}
    assert sweeps.kept() == before.keys()
    status, printed = sweeps.run(*grid, "tracking.resume=true")
    assert status == 0, printed
    assert len(sweeps.answers()) == 2
    assert sweeps.server.counts().total() > before.total()
    assert set(sweeps.server.counts().values()) == {1}


def test_a_sweep_that_has_spent_its_tokens_goes_on_with_a_higher_limit(sweeps):
    grid = ["reasoning=direct", "k=1,2", "evaluation.controls=[]", f"answerer.max_tokens={TOKENS_OUT}"]
    limit = len(CASES) * TOKENS  # enough for the first run, and for nothing of the second one
    status, printed = sweeps.run(*grid, f"language_model.max_tokens_total={limit}")
    spent = sweeps.server.counts().total() * TOKENS
    assert status == 1
    assert f" of {limit:,} tokens are spent" in printed
    assert "Traceback" not in printed
    assert spent == limit
    assert sweeps.statuses()["RUNNING"] == 0
    assert [run.info.status for run in sweeps.application.children()] == ["FINISHED", "FAILED"]
    status, printed = sweeps.run(*grid, f"language_model.max_tokens_total={100 * limit}", "tracking.resume=true")
    assert status == 0, printed
    assert len(sweeps.answers()) == 2
    assert set(sweeps.server.counts().values()) == {1}


def test_no_file_and_no_line_repeats_the_key(killed):
    application = killed.sweeps.application
    files = [path for folder in (application.home, application.cache) for path in folder.rglob("*") if path.is_file()]
    assert {"mlflow.db", "answers.sqlite", "answers.jsonl", "config.yaml"} <= {path.name for path in files}
    assert not [path for path in files if KEY.encode() in path.read_bytes()]
    assert killed.sweeps.server.key == KEY
    assert KEY not in "".join(killed.sweeps.printed)
