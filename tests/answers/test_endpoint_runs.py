"""Runs and sweeps that ask an endpoint, several times and ended before their time: no answer is paid for twice."""

import hashlib
import json
import shutil
import signal
import sqlite3
import threading
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
import pytest
from answers.small_answers import questions
from application import PROJECT, Application, succeeded
from endpoint_server import TOKENS_IN, TOKENS_OUT, EndpointServer, answer, completion
from hydra import compose, initialize_config_dir
from small import CASES, QUERIES, arguments

from ragsweep.config.configuration_walk import Walk
from ragsweep.core.errors import ModelError
from ragsweep.core.project import SWEEP_ID, register_resolvers
from ragsweep.experiment import Experiment

pytestmark = pytest.mark.extra("openai")
KEY = "sk-test-Zm9vYmFyYmF6cXV4"
CONCURRENCY = 4
REPEATS = 3
VARIED = ["language_model.temperature=0.7", f"repeats={REPEATS}"]
MIDDLE = 28  # the requests after which a sweep is ended
ALONE = ["evaluation.controls=[]"]
MS = "latency/mean_ms"


def letter_of(prompt, seed, temperature):
    """The letter that the server answers with."""
    return "ABC"[hashlib.sha256(f"{prompt} {seed} {temperature}".encode()).digest()[0] % 3]


class Server(EndpointServer):
    """Answers as the request decides, so that an answer that gets lost or mixed up changes a run.

    Attributes:
        middle: From how many requests on it is slow, so that whoever asks stays there.
        in_the_middle: Set when it has been asked so many.
        hurry: Set it, and the server is not slow.
    """

    def __init__(self):
        super().__init__()
        self.middle, self.in_the_middle, self.hurry = MIDDLE, threading.Event(), threading.Event()

    def opened(self, request, key):
        super().opened(request, key)
        if len(self.requests) >= self.middle:
            self.in_the_middle.set()
            self.hurry.wait(0.5)
        letter = letter_of(request["messages"][-1]["content"], request.get("seed"), request["temperature"])
        return replace(answer(letter), after_s=0.02)

    def counts(self):
        """How often each request came, by all that it contains."""
        with self.lock:
            return Counter(map(content, self.requests))


def content(request):
    return json.dumps(request, sort_keys=True)


@dataclass(frozen=True)
class Asking:
    """Runs over the small cases, which ask a server and keep its answers in a store of their own."""

    application: Application
    server: Server
    cases: list[str]
    printed: list[str] = field(default_factory=list)

    @property
    def usual(self):
        asked = ["answerer=llm", "language_model=openai", "language_model.model=model", "retriever=sparse"]
        address = [f"language_model.base_url={self.server.url}", f"language_model.concurrency={CONCURRENCY}"]
        return [*self.cases, *asked, *address]

    def here(self, *settings):
        """In this process."""
        return succeeded(self.application.script_here("run", *self.usual, *settings, OPENAI_API_KEY=KEY))

    def sweep(self, *settings, ended_by=None):
        """The exit status of a sweep and what it printed; a signal ends it in the middle."""
        process = self.application.start("-m", *self.usual, *settings, OPENAI_API_KEY=KEY)
        if ended_by is not None:
            assert self.server.in_the_middle.wait(120), process.communicate()
            process.send_signal(ended_by)
        self.printed.append("".join(process.communicate(timeout=120)))
        self.server.hurry.set()
        return process.returncode, self.printed[-1]

    def kept(self):
        """The requests whose responses are on the disk, from a copy: the next start has to mend the file by itself."""
        copy = self.application.home / "copy"
        copy.mkdir()
        for file in self.application.cache.glob("answers.sqlite*"):
            shutil.copy(file, copy)
        with closing(sqlite3.connect(copy / "answers.sqlite")) as connection:
            rows = connection.execute("SELECT request FROM responses").fetchall()
        return {content(json.loads(request)["request"]) for (request,) in rows}

    def results(self, run):
        return self.application.artifacts(run) / "results"

    def facts(self, run):
        return json.loads((self.results(run) / "evaluation.json").read_text())

    def statuses(self):
        return Counter(run.info.status for run in self.application.runs())


@pytest.fixture
def ask(tmp_path, cases, empty_database):
    (tmp_path / "home").mkdir()
    shutil.copy(empty_database, tmp_path / "home")
    with Server() as server:
        yield Asking(Application(tmp_path / "home", tmp_path / "store"), server, cases)


def test_a_killed_sweep_asks_again_only_for_what_was_on_its_way(ask):
    """At most as many as may be on their way: each thread keeps its response before it sends the next request."""
    ask.server.middle = 20  # of 32 requests: in the second run
    repeated = ["reasoning=direct", "k=1,2", *ALONE, VARIED[0], "repeats=2"]
    status, _ = ask.sweep(*repeated, ended_by=signal.SIGKILL)
    before, kept = ask.server.counts(), ask.kept()
    assert status == -signal.SIGKILL
    status, printed = ask.sweep(*repeated)
    assert status == 0, printed
    after = ask.server.counts()
    assert len(before) < len(after)  # it was killed in the middle
    assert set(before.values()) == {1}
    twice = {request for request, times in after.items() if times > 1}
    assert not twice & kept
    assert len(twice) <= CONCURRENCY
    assert after.total() == len(after) + len(twice)
    assert kept <= before.keys()
    assert len(before.keys() - kept) <= CONCURRENCY
    finished = [run for run in ask.application.children() if run.info.status == "FINISHED"]
    assert len(finished) == 2 + 1  # what was finished before is recorded once more
    for run in finished:
        for seed, name in enumerate(("answers.jsonl", "repeat_2_answers.jsonl")):
            lines = [json.loads(line) for line in (ask.results(run) / name).read_text().splitlines()]
            expected = [letter_of(line["exchanges"][-1]["prompt"], seed, 0.7) for line in lines]
            assert ([line["answer"] for line in lines], len(lines)) == (expected, len(CASES))
    files = [path for at in (ask.application.home, ask.application.cache) for path in at.rglob("*") if path.is_file()]
    assert {"mlflow.db", "answers.sqlite", "answers.jsonl", "config.yaml"} <= {path.name for path in files}
    assert not [path for path in files if KEY.encode() in path.read_bytes()]
    assert ask.server.key == KEY
    assert KEY not in "".join(ask.printed)


def test_an_interrupted_sweep_waits_for_its_requests_and_asks_nothing_twice(ask):
    grid = ["reasoning=direct,cot", "k=1"]  # it is ended in its second run
    status, _ = ask.sweep(*grid, ended_by=signal.SIGINT)
    before = ask.server.counts()
    assert status == 128 + signal.SIGINT
    assert ask.statuses() == {"KILLED": 2, "FINISHED": 1}
    assert ask.kept() == before.keys()
    status, printed = ask.sweep(*grid, "tracking.resume=true")
    assert status == 0, printed
    assert [run.info.status for run in ask.application.children()].count("FINISHED") == 2
    assert ask.server.counts().total() > before.total()
    assert set(ask.server.counts().values()) == {1}


def test_a_sweep_that_has_spent_its_tokens_goes_on_with_a_higher_limit(ask):
    grid = ["reasoning=direct", "k=1,2", *ALONE, f"answerer.max_tokens={TOKENS_OUT}"]
    limit = len(CASES) * (TOKENS_IN + TOKENS_OUT)  # enough for the first run, and for nothing of the second one
    status, printed = ask.sweep(*grid, f"language_model.max_tokens_total={limit}")
    assert status == 1
    assert f" of {limit:,} tokens are spent" in printed
    assert "Traceback" not in printed
    assert ask.server.counts().total() == len(CASES)
    assert ask.statuses()["RUNNING"] == 0
    assert [run.info.status for run in ask.application.children()] == ["FINISHED", "FAILED"]
    status, printed = ask.sweep(*grid, f"language_model.max_tokens_total={100 * limit}", "tracking.resume=true")
    assert status == 0, printed
    assert [run.info.status for run in ask.application.children()].count("FINISHED") == 2
    assert set(ask.server.counts().values()) == {1}


def test_each_repeat_asks_with_a_seed_of_its_own_and_all_are_recorded_and_reproduced(ask):
    ask.server.middle = 10**6
    assert "repeats=5" in ask.here(VARIED[0], *ALONE).stdout
    alone = ask.server.counts()
    process = ask.here(*VARIED, *ALONE)
    assert f"model: {(REPEATS - 1) * len(CASES)} requests to {ask.server.url}, " in process.stderr.splitlines()[-1]
    repeated = ask.server.counts()
    assert alone.items() <= repeated.items()  # the first repeat is what is asked without repeats
    assert Counter(request["seed"] for request in ask.server.requests) == dict.fromkeys(range(REPEATS), len(CASES))
    once, run = ask.application.runs()
    folder, facts = ask.results(run), ask.facts(run)
    by_repeat, per_query = pd.read_csv(folder / "by_repeat.csv"), pd.read_csv(folder / "per_query.csv")
    assert by_repeat["accuracy"].tolist() == facts["repeated"]["accuracy"]["means"]
    assert {"question", "repeat", "residual", "asked_once"} <= facts["repeated"]["accuracy"].keys()
    assert by_repeat["accuracy"][0] == ask.facts(once)["metrics"]["accuracy"]["mean"]
    assert (ask.facts(once)["varies"], facts["varies"], facts["repeats"]) == (True, True, REPEATS)
    assert len({*by_repeat["accuracy"]}) > 1
    assert run.data.metrics["accuracy"] == pytest.approx(by_repeat["accuracy"].mean())
    letters = [Counter(text.split(" | ")) for text in per_query["answer"]]
    right = [counts[correct] / counts.total() for counts, correct in zip(letters, per_query["correct"], strict=True)]
    assert per_query["accuracy"].tolist() == pytest.approx(right)
    assert f"{REPEATS} repeats of {len(CASES)} questions tell as much as 1 of" in process.stdout
    names = {path.name for path in folder.glob("*answers.jsonl")}
    assert names == {"answers.jsonl", "repeat_2_answers.jsonl", "repeat_3_answers.jsonl"}
    steps = ask.application.client().get_metric_history(run.info.run_id, "by_repeat/accuracy")
    assert [point.step for point in steps] == [1, 2, 3]
    places = ["language_model.model=model", f"language_model.base_url={ask.server.url}", *ask.cases[2:]]
    again = ask.application.script_here("reproduce", run.info.run_id, "--stored", *places, OPENAI_API_KEY=KEY)
    assert "identical" in again.stdout, again.stdout + again.stderr
    assert repeated == ask.server.counts()
    ask.here(*VARIED, *ALONE, "language_model.seed=null")
    assert {*(ask.server.counts() - repeated).values()} == {REPEATS}  # each asks the same


def test_what_does_not_vary_is_measured_once_and_keeps_its_time_and_the_endpoint_as_its_machine(ask):
    assert "repeats=5" in ask.here("repeats=5", *ALONE).stderr
    ask.here("tracking.experiment=again", *ALONE)
    assert len(ask.server.requests) == len(CASES)
    runs = ask.application.runs()
    assert len(runs) == 2
    for run in runs:
        facts = ask.facts(run)
        assert "repeats" not in run.data.params
        assert not facts["varies"]
        assert facts["measures"][MS]["machines"] == ["the endpoint 127.0.0.1"]
    assert len({run.data.metrics[MS] for run in runs}) == 1


@pytest.fixture
def configured(tmp_path, monkeypatch, cache):
    """The configuration that asks a model with these overrides."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-12345678")
    monkeypatch.setenv(SWEEP_ID, str(tmp_path))
    register_resolvers()

    def configured(*overrides):
        usual = ["language_model=openai", "language_model.model=m", f"store.path={cache}", "encoder=wordllama"]
        with initialize_config_dir(str(PROJECT / "conf"), version_base="1.3"):
            return compose("config", [*usual, *overrides])

    return configured


def test_a_missing_key_is_named_before_any_work(monkeypatch, configured, application):
    monkeypatch.setenv("OPENAI_API_KEY", "")
    dense = ["retriever=dense", "encoder=openai", "encoder.model=m"]
    groups = [("language_model", ["task=answers", "answerer=llm"]), ("encoder", dense)]
    for group, overrides in groups:
        experiment = Experiment.of(configured(*overrides))
        with pytest.raises(ModelError, match=rf"^{group}\.api_key_env: OPENAI_API_KEY is not set"):
            experiment.check_keys()
    model = ["language_model=openai", "language_model.model=m"]
    process = application.script_here("run", "query=hyde", *model, OPENAI_API_KEY="")
    assert process.returncode
    assert process.stderr.count("OPENAI_API_KEY is not set") == 1
    assert application.runs() == []


def test_an_endpoint_of_azure_is_reached_by_settings(monkeypatch, configured):
    """What changes no response counts in no digest."""
    monkeypatch.setenv("AZURE_KEY", "0123456789abcdef")
    azure = ["query.api-version=2024-10-21", "headers_env.api-key=AZURE_KEY", "headers.X-Title=mine"]
    azure += ["extra_body.reasoning_effort=low", "headers.X-Tier=flex"]
    overrides = ["task=answers", "answerer=llm", "language_model.api_key_env=null"]
    overrides += [f"+language_model.{setting}" for setting in azure]
    with EndpointServer() as server:
        walk = Walk(configured(f"language_model.base_url={server.url}", *overrides))
        answerer = walk.build("answerer")
        settings = walk.settings_of("answerer")
        answerer.answer(questions(1))
    assert server.path == "/v1/chat/completions?api-version=2024-10-21"
    assert (server.headers["api-key"], server.headers["Authorization"]) == ("0123456789abcdef", None)
    assert server.requests[0]["reasoning_effort"] == "low"
    given = {"query.api-version", "extra_body.reasoning_effort", "headers.X-Tier"}
    assert {f"language_model.{name}" for name in given} <= settings.keys()
    assert not [name for name in settings if "headers_env" in name]


def test_rankings_of_queries_that_a_model_rewrites_are_measured_again(configured, tmp_path):
    """Each repeat has a hypothetical passage of its own: at first one about fever, then the same for each question.

    What the model thinks is not searched for.
    """
    thought, passage = "<think>\nSomething about worms? No.\n</think>\n\n", "A refrigerator keeps vaccines cold."
    settings = [*arguments(tmp_path / "data"), "retriever=sparse", "evaluation.resamples=100", "store.enabled=true"]
    settings += ["query=hyde", "language_model.temperature=1", "repeats=3"]
    means = []
    for before in ("", thought):
        with EndpointServer(
            lambda prompt, times, before=before: completion(before + (f"{passage} fever" if times == 1 else "iron"))
        ) as server:
            measured = Experiment.of(configured(*settings, f"language_model.base_url={server.url}")).measure()
        means.append(measured.facts["repeated"]["ndcg"]["means"])
        assert len(server.requests) == 3 * len(QUERIES)
    assert means[0] == means[1]
    assert means[0][0] != means[0][1] == means[0][2]
    assert measured.values["ndcg"] == pytest.approx(np.mean(means[0]))
    assert measured.sections["Repeats"]
