"""Answers that vary are asked for several times: over HTTP, from a server whose answers depend on the seed."""

import hashlib
import json
import signal
import threading
from collections import Counter

import pandas as pd
import pytest
from application import Application, succeeded
from endpoint_server import EndpointServer, answer
from small import CASES, case_arguments

pytestmark = pytest.mark.extra("openai")
REPEATS = 3
VARIED = ["language_model.temperature=0.7", f"repeats={REPEATS}"]
MS, KEY = "latency/mean_ms", "sk-test"


class Server(EndpointServer):
    """Answers as the prompt and the seed decide.

    Attributes:
        slow_after: From how many requests on it is slow.
        in_the_middle: Set when it has been asked so many.
    """

    def __init__(self):
        super().__init__()
        self.slow_after, self.in_the_middle, self.hurry = 10**6, threading.Event(), threading.Event()

    def opened(self, request, key):
        super().opened(request, key)
        if len(self.requests) >= self.slow_after:
            self.in_the_middle.set()
            self.hurry.wait(0.5)
        asked = f"{request['messages'][-1]['content']} {request.get('seed')} {request['temperature']}"
        return answer("ABC"[hashlib.sha256(asked.encode()).digest()[0] % 3])

    def counts(self):
        return Counter(json.dumps(request, sort_keys=True) for request in self.requests)


@pytest.fixture
def server():
    with Server() as server:
        yield server


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    return case_arguments(tmp_path_factory.mktemp("cases"))


class Asking:
    """Runs that ask a server, and keep its answers in a store of their own."""

    def __init__(self, application, cases, server):
        asked = ["answerer=llm", "language_model=openai", "language_model.model=model", "evaluation.controls=[]"]
        self.application = application
        self.settings = [*cases, *asked, f"language_model.base_url={server.url}", "retriever=sparse"]

    def start(self, *settings):
        return self.application.start(*self.settings, *settings, OPENAI_API_KEY=KEY)

    def __call__(self, *settings):
        return succeeded(self.application.script_here("run", *self.settings, *settings, OPENAI_API_KEY=KEY))


@pytest.fixture
def ask(application, cases, server, tmp_path):
    return Asking(Application(application.home, tmp_path / "store"), cases, server)


def results(application, run):
    folder = application.artifacts(run) / "results"
    return folder, json.loads((folder / "evaluation.json").read_text())


def test_each_repeat_asks_with_a_seed_of_its_own_and_all_are_recorded_and_reproduced(ask, server, cases):
    process = ask(*VARIED)
    assert Counter(request["seed"] for request in server.requests) == dict.fromkeys(range(REPEATS), len(CASES))
    assert f"model: {REPEATS * len(CASES)} requests to {server.url}, " in process.stderr.splitlines()[-1]
    [run] = ask.application.runs()
    folder, facts = results(ask.application, run)
    by_repeat, per_query = pd.read_csv(folder / "by_repeat.csv"), pd.read_csv(folder / "per_query.csv")
    assert by_repeat["accuracy"].tolist() == facts["repeated"]["accuracy"]["means"]
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
    places = ["language_model.model=model", f"language_model.base_url={server.url}", *cases[2:]]
    again = ask.application.script_here("reproduce", run.info.run_id, "--stored", *places, OPENAI_API_KEY=KEY)
    assert "identical" in again.stdout, again.stdout + again.stderr
    assert len(server.requests) == REPEATS * len(CASES)


def test_the_first_repeat_is_what_is_asked_without_repeats_and_nothing_is_asked_twice(ask, server):
    assert "repeats=5" in ask("language_model.temperature=0.7").stdout
    alone = server.counts()
    ask(*VARIED)
    assert alone.items() <= server.counts().items()
    assert len(server.requests) == len(server.counts()) == REPEATS * len(CASES)
    once, several = (results(ask.application, run)[1] for run in ask.application.runs())
    assert several["repeated"]["accuracy"]["means"][0] == once["metrics"]["accuracy"]["mean"]
    assert (once["varies"], several["varies"], several["repeats"]) == (True, True, REPEATS)


def test_what_does_not_vary_is_measured_once_and_keeps_its_time_and_the_endpoint_as_its_machine(ask, server):
    assert "repeats=5" in ask("repeats=5").stderr
    ask("tracking.experiment=again")
    assert len(server.requests) == len(CASES)
    runs = ask.application.runs()
    for run in runs:
        facts = results(ask.application, run)[1]
        assert "repeats" not in run.data.params
        assert not facts["varies"]
        assert facts["measures"][MS]["machines"] == ["the endpoint 127.0.0.1"]
    assert len({run.data.metrics[MS] for run in runs}) == 1


def test_an_endpoint_without_a_seed_is_asked_again_for_each_repeat(ask, server):
    ask(*VARIED, "language_model.seed=null")
    assert {*server.counts().values()} == {REPEATS}


def test_a_killed_run_asks_for_nothing_that_was_kept_when_it_starts_again(ask, server):
    server.slow_after = 2 * len(CASES)  # in the last repeat
    process = ask.start(*VARIED, "language_model.concurrency=2")
    assert server.in_the_middle.wait(60)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    server.hurry.set()
    ask(*VARIED, "language_model.concurrency=2")
    assert len(server.counts()) == REPEATS * len(CASES)
    assert sum(server.counts().values()) <= REPEATS * len(CASES) + 2  # what was on its way is asked again


def test_a_sweep_says_where_the_variance_lies_and_what_was_asked_once(ask):
    ask("-m", *VARIED[:1], "repeats=1,4", "reasoning=direct,cot")
    [parent] = ask.application.parents()
    record = json.loads((ask.application.artifacts(parent) / "decision.json").read_text())
    [once] = [claim["numbers"]["names"] for claim in record["claims"] if claim["name"] == "asked_once"]
    assert len(once) == len(record["repeats"]) == 2
    assert not {*once} & record["repeats"].keys()
