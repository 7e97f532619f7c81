"""Runs that index what a language model has written: killed, resumed, explained, exported."""

import re
import signal
import threading

import pytest
from application import succeeded
from endpoint_server import EndpointServer, completion
from question_server import KEY

import ragsweep

CONCURRENCY = 2
PASSAGES = 6


class Server(EndpointServer):
    """Writes one question, and waits before the fourth response until it may hurry."""

    def __init__(self):
        super().__init__(self.question)
        self.in_the_middle, self.hurry = threading.Event(), threading.Event()

    def question(self, prompt, times):
        if len(self.requests) > PASSAGES // 2:
            self.in_the_middle.set()
            self.hurry.wait(20)
        return completion(f"Quokka or {prompt.split()[-1]}?")


@pytest.fixture
def server():
    with Server() as server:
        yield server


@pytest.mark.extra("openai")
def test_a_killed_run_pays_for_nothing_twice_and_leaves_with_what_was_written(application, dataset, server, tmp_path):
    places = [f"store.path={tmp_path / 'store'}"]
    asked = ["ingest=questions", "language_model=openai", "language_model.model=model", "ingest.lines=1"]
    asked += [f"language_model.base_url={server.url}", f"language_model.concurrency={CONCURRENCY}"]
    command = [*dataset, *places, *asked, "retriever=sparse", "k=1"]

    process = application.start(*command, OPENAI_API_KEY=KEY)
    assert server.in_the_middle.wait(120), process.communicate()
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    server.hurry.set()
    before = server.asked.copy()
    assert set(before.values()) == {1}
    done = succeeded(application.run(*command, OPENAI_API_KEY=KEY))
    assert re.search(r"model: [2-5] requests to .*tokens in and \d+ out", done.stderr)  # not for all six
    twice = [prompt for prompt, times in server.asked.items() if times > 1]
    assert len(server.asked) == PASSAGES
    assert len(twice) <= CONCURRENCY
    assert {server.asked[prompt] for prompt in twice} <= {2}

    number = len(server.requests)
    [run] = [run for run in application.runs() if run.info.status == "FINISHED"]
    assert run.data.params["ingest"] == "WrittenIngest"
    assert run.data.params["ingest.lines"] == "1"
    assert run.data.params["language_model.model"] == "model"
    assert run.data.metrics["index/tokens"] > 0
    allowed = ["language_model.model=model", f"language_model.base_url={server.url}"]
    places += [*dataset[2:], *allowed]
    explained = application.script("explain", run.info.run_id, "malaria", *places, OPENAI_API_KEY=KEY)
    assert re.search(r"indexed as: … Quokka or \S+\?", explained.stdout), explained.stdout + explained.stderr

    out = tmp_path / "out"
    refused = application.script("export", run.info.run_id, "--out", str(out), *places, OPENAI_API_KEY=KEY)
    assert refused.returncode == 2
    assert "--with-index" in refused.stderr
    given = [run.info.run_id, "--out", str(out), "--with-index", *places]
    succeeded(application.script("export", *given, OPENAI_API_KEY=KEY))
    overrides = {f"ingest.{name}": value for name, value in (setting.split("=", 1) for setting in allowed)}
    loaded = ragsweep.load(out, corpus=dataset[2].partition("=")[2], overrides=overrides)
    [hit] = loaded.search("quokka", k=1)  # a word of the questions alone
    assert "Quokka" not in hit.text
    assert len(server.requests) == number


def test_heading_paths_are_a_param_and_leave_with_the_retriever(application, dataset, tmp_path):
    succeeded(application.run("-m", *dataset, "retriever=sparse", "k=1", "ingest=plain,contextual"))
    runs = {run.info.run_name: run for run in application.children()}
    assert "ingest" not in runs["ingest=plain"].data.params
    params = {name: value for name, value in runs["ingest=contextual"].data.params.items() if name.startswith("ingest")}
    assert params == {"ingest": "ContextualIngest", "ingest.title": "None"}
    out = tmp_path / "out"
    run_id, corpus = runs["ingest=contextual"].info.run_id, dataset[2].partition("=")[2]
    succeeded(application.script_here("export", run_id, "--out", str(out), *dataset[2:]))
    loaded = ragsweep.load(out, corpus=corpus)
    bare = ragsweep.load(out, corpus=corpus, overrides={"ingest.title": False})
    [[hit], [other]] = [retriever.search("dengue", k=1) for retriever in (loaded, bare)]
    assert hit.text == other.text
    assert hit.score != other.score  # every passage is longer by the name of its file
