"""Functions and objects of a user: how they are asked, measured, swept, raced, replayed without them, and trusted."""

import asyncio
import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar

import pandas as pd
import pytest
import small
import yaml
from application import succeeded
from composed_here import composed
from omegaconf import OmegaConf

from ragsweep.config.annotations import target_of
from ragsweep.config.configuration_walk import as_recorded
from ragsweep.core.errors import ConfigError, RetrieverError
from ragsweep.core.project import conf_folders, portable
from ragsweep.production.loading import refuse_if_not_alone
from ragsweep.replay.trusted_record import trusted
from ragsweep.testing import SystemContract
from ragsweep_engines import callable_retriever
from ragsweep_engines.callable_retriever import CallableRetriever

SLOW_S = 0.4
MODULE = """
import asyncio
import functools
import sys
import time

def plain(query, k): return ("plain", query, k)
def named(*, question, top_k=3): return ("named", question, top_k)
def single(anything): return ("single", anything)
def batched(queries): return ("batched", queries)
async def waits(query, k=2):
    await asyncio.sleep(0)
    return ("waits", query, k)
async def one_by_one(query, k=2):
    for part in ("streamed", query, k):
        await asyncio.sleep(0)
        yield part
async def loop_of(query): return asyncio.get_running_loop()
partial = functools.partial(plain, k=7)
class Retriever:
    def __init__(self, size=1): self.size = size
    def invoke(self, input): return ("invoke", self.size, input)
class Store:
    def similarity_search_with_score(self, query, k=4): return ("store", query, k)
    def search(self, query, search_type): raise AssertionError
class Engine:
    def retrieve(self, str_or_query_bundle): return ("retrieve", str_or_query_bundle)
    def query(self, str_or_query_bundle): raise AssertionError
class Own:
    def retrieve(self, query, top_k): return ("own", query, top_k)
class Component:
    def run(self, query: str, filters=None, top_k=None): return ("run", query, top_k)
class Called:
    def __call__(self, query): return ("called", query)
class Nothing: ...
def search(query, k):
    return [{"source": "a.pdf", "page": at, "text": f"{query} {at}", "score": 1 / at} for at in range(1, k + 1)]
class Slow:
    def __init__(self, log, seconds):
        time.sleep(seconds)
        with open(log, "a") as file:
            file.write("made\\n")
    def invoke(self, input): return [{"id": "a", "text": input}]
class Broken:
    def __init__(self): raise ValueError("no index\\nat all")
class Ending:
    def __init__(self): sys.exit(0)
def build(size=1, colour="red"): return Retriever(size)
def of_text(text, query="bm25", size=2): return Retriever((text, query, size))
def find(what, text="plain"): return ("find", what, text)
def always(query="none"): return [query]
def deep(query, *, corpus, top_k, language): raise AssertionError
def with_settings(query, k, colour="red"): return ("settings", query, k, colour)
retriever = Retriever(5)
store, engine, component, called, nothing = Store(), Engine(), Component(), Called(), Nothing()
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "system_of_tests.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)


def ask(name, **settings):
    call = f"system_of_tests:{name}"
    CallableRetriever(call, settings=settings).check()
    return callable_retriever.query_function(callable_retriever.make_target(call, settings), call, 9)("why?")


CALLS = [  # a name, its settings, and what it is asked
    ("plain", {}, ("plain", "why?", 9)),
    ("named", {}, ("named", "why?", 9)),
    ("single", {}, ("single", "why?")),
    ("waits", {}, ("waits", "why?", 9)),
    ("one_by_one", {}, ["streamed", "why?", 9]),
    ("partial", {}, ("plain", "why?", 9)),
    ("with_settings", {"colour": "blue"}, ("settings", "why?", 9, "blue")),
    ("retriever", {}, ("invoke", 5, "why?")),
    ("Retriever", {}, ("invoke", 1, "why?")),
    ("build", {}, ("invoke", 1, "why?")),
    ("build", {"size": 8}, ("invoke", 8, "why?")),
    ("of_text", {"text": "x", "query": "y"}, ("invoke", ("x", "y", 2), "why?")),
    ("find", {"text": "x"}, ("find", "why?", "x")),
    ("store", {}, ("store", "why?", 9)),
    ("engine", {}, ("retrieve", "why?")),
    ("Own", {}, ("own", "why?", 9)),
    ("component", {}, ("run", "why?", None)),
    ("called", {}, ("called", "why?")),
]
REFUSED = [
    ("nosuch", {}, "cannot be imported .*nosuch"),
    ("nothing", {}, "is, or makes, a Nothing, expected a function that needs a query, or an object with one of"),
    ("always", {}, "is, or makes, a list, expected a function that needs a query"),
    ("deep", {}, "deep needs corpus, language; expected a function of a query"),
    ("deep", {"corpus": "x"}, "deep needs language; expected"),
    ("batched", {}, "batched needs queries; expected a function of a query"),
    ("retriever", {"size": 3}, r"retriever\.settings: .* is an object, expected a function or a class"),
    ("build", {"sice": 3}, r"retriever\.settings\.sice: .*build takes size, colour"),
    ("retriever", {"api_key": "x"}, r"retriever\.settings\.api_key: may be a key"),
    ("retriever", {"where": "sk-" + 40 * "aB3"}, r"retriever\.settings\.where: may be a key"),
]


@pytest.mark.usefixtures("module")
def test_functions_and_objects_are_asked_by_their_own_names_and_others_refused():
    calls = [(name, settings, ask(name, **settings)) for name, settings, _ in CALLS]
    assert [call for call, expected in zip(calls, CALLS, strict=True) if call != expected] == []
    for name, settings, message in REFUSED:
        with pytest.raises(ConfigError, match=message):
            ask(name, **settings)
    for name, message in (("Broken", "ValueError: no index"), ("Ending", "SystemExit")):
        with pytest.raises(RetrieverError, match=rf"cannot be made \({message}[^\n]*$"):
            CallableRetriever(f"system_of_tests:{name}").answers(["a"], 10)


@pytest.mark.usefixtures("module")
def test_answers_are_awaited_in_one_loop_also_where_another_one_runs():
    """A client that keeps its connections works in the loop of its first request only."""
    call = "system_of_tests:loop_of"
    retriever = callable_retriever.query_function(callable_retriever.target_of(call), "loop_of", 9)
    kept = retriever("why?")

    async def within() -> object:
        return retriever("why?")

    with ThreadPoolExecutor() as own:  # a browser of other tests has a loop in this thread
        assert own.submit(asyncio.run, within()).result() is kept


@pytest.mark.usefixtures("module")
def test_making_a_system_is_not_timed_has_no_time_limit_and_happens_only_if_a_query_is_asked(tmp_path, store):
    log = tmp_path / "log.txt"
    settings = {"log": str(log), "seconds": SLOW_S}
    retriever = CallableRetriever("system_of_tests:Slow", settings=settings, timeout_s=SLOW_S / 2, store=store)
    first = retriever.answers(["a", "b"], 10)
    assert first.latency_ms.max() < 1000 * SLOW_S / 2
    assert (first.kept, log.read_text()) == (0, "made\n")
    again = retriever.answers(["b", "a"], 10)
    assert (again.kept, again.results) == (2, first.results[::-1])
    assert log.read_text() == "made\n"


class TestCallable(SystemContract):
    component = CallableRetriever
    settings: ClassVar = {"call": "system_of_tests:search", "depth": 2}

    @pytest.fixture(autouse=True)
    def _importable(self, module):
        pass


SYSTEM = '''
import os
from pathlib import Path

PAGES = {pages!r}
LOG = Path({log!r})
if "GONE" in os.environ:
    raise ConnectionError("the database of the system is gone")


class Words:
    """Ranks pages by the words that they share with a query."""

    def __init__(self, letters=3, first_page=1):
        self.letters, self.first_page = letters, first_page

    def search(self, query, k):
        with LOG.open("a") as log:
            log.write(query + "\\n")
        wanted = {{word[: self.letters] for word in query.lower().split()}}
        hits = []
        for source, texts in PAGES.items():
            for at, text in enumerate(texts):
                shared = len(wanted & {{word[: self.letters] for word in text.lower().split()}})
                hits.append({{"text": text, "source": source, "page": at + self.first_page, "score": shared}})
        return sorted(hits, key=lambda hit: -hit["score"])[:k]
'''


@pytest.fixture(scope="module")
def system(tmp_path_factory):
    """A folder with a module of a user's, and the file in which it notes what it is asked."""
    folder = tmp_path_factory.mktemp("system")
    (folder / "mine.py").write_text(SYSTEM.format(pages=small.PAGES, log=str(folder / "asked.txt")))
    (folder / "asked.txt").write_text("")
    return folder


@pytest.fixture
def importable(system, monkeypatch):
    """Let this process import the module anew, as a process that starts there does."""
    monkeypatch.syspath_prepend(str(system))
    monkeypatch.delitem(sys.modules, "mine", raising=False)


def asked(system):
    return (system / "asked.txt").read_text().splitlines()


@pytest.fixture(scope="module")
def swept(shared_application, dataset, system, tmp_path_factory):
    """The arguments of a sweep over a setting of the system, on a store of its own."""
    store = f"store.path={tmp_path_factory.mktemp('store')}"
    settings = ["retriever=callable", "retriever.call=mine:Words", "+retriever.settings.letters=1,9", "k=2", store]
    given = [*dataset, *settings]
    succeeded(shared_application.run("-m", *given, PYTHONPATH=str(system)))
    return given


def test_a_sweep_over_a_setting_asks_each_query_once_a_value_and_a_second_one_nothing(
    swept, shared_application, system, importable
):
    runs = {run.data.params["retriever.settings.letters"]: run for run in shared_application.children()}
    before = len(asked(system))
    assert before == 2 * len(small.QUERIES)
    metrics = runs["9"].data.metrics
    assert metrics["ndcg"] != runs["1"].data.metrics["ndcg"]
    assert metrics["latency/mean_ms"] > 0
    assert "coverage/units" not in metrics

    gone = {"PYTHONPATH": str(system), "GONE": "1"}
    succeeded(shared_application.run("-m", *swept, "tracking.experiment=again", **gone))
    assert len(asked(system)) == before
    again = [run for run in shared_application.children() if run.data.params["retriever.settings.letters"] == "9"]
    assert [run.data.metrics for run in again] == [metrics] * 2  # latency included
    for other in ("retriever.depth=3", "retriever.recheck=1"):
        needed = shared_application.script_here("run", "-m", *shared_application.arguments(*swept, other), GONE="1")
        assert (needed.returncode, needed.stdout) == (2, "")
        assert "the database of the system is gone" in needed.stderr

    parent, *_ = shared_application.parents()  # an export is refused before it may be called
    refused = shared_application.script_here("export", parent.info.run_id, "--out", str(system / "out"))
    assert refused.returncode == 2
    assert "CallableRetriever cannot be exported" in refused.stderr
    assert "--allow" not in refused.stderr


def test_a_run_is_compared_without_its_system(swept, shared_application, dataset, system, importable):
    before = len(asked(system))
    [run, *_] = shared_application.children()
    given = ["reproduce", run.info.run_id, *dataset[2:]]
    gone = succeeded(shared_application.script_here(*given))
    assert "by what the system had returned" in gone.stdout
    assert "identical: " in gone.stdout
    explained = shared_application.script_here("explain", run.info.run_id, small.QUERIES[0][0], *dataset[2:])
    assert "by what the system had returned" in succeeded(explained).stdout
    assert len(asked(system)) == before
    with_system = succeeded(shared_application.script_here(*given, "--allow", "mine"))
    assert "by what" not in with_system.stdout
    assert len(asked(system)) == before + len(small.QUERIES)


def test_no_record_chooses_what_is_called(swept, shared_application, dataset, tmp_path, importable):
    """The record of a run calls something else, with an argument that would leave a file."""
    [run, *_] = shared_application.children()
    config = shared_application.artifacts(run) / "config" / "config.yaml"
    returned = shared_application.artifacts(run) / "results" / "returned.jsonl"
    text, hidden = config.read_text(), returned.rename(tmp_path / "returned.jsonl")
    argument = f"letters: 'touch {tmp_path}/called_by_a_record'"
    for call in ("os:system", "mine:os.system", "mine:os", "subprocess:run"):
        config.write_text(text.replace("mine:Words", call).replace("letters: 1", argument))
        process = shared_application.script_here("reproduce", run.info.run_id, *dataset[2:], "--allow", "mine")
        assert process.returncode == 2
        assert "retriever.call: " in process.stderr
    assert not any(tmp_path.rglob("called_by_a_record"))
    config.write_text(text)
    hidden.rename(returned)


def test_questions_and_judged_ids_are_enough_and_those_without_an_answer_are_asked(
    application, system, importable, tmp_path
):
    """A function that always answers has a rate of 1; results of before without these questions have none."""
    queries = [*((query, pages, True) for query, pages, _ in small.QUERIES), ("Pizza?", [], False)]
    fields = ("id", "query", "relevant_docs", "answerable")
    rows = [dict(zip(fields, (str(row), *query), strict=True)) for row, query in enumerate(queries)]
    (tmp_path / "questions.jsonl").write_text("\n".join(map(json.dumps, rows)))
    hit = [{"source": "fever.pdf", "page": "2"}]
    recorded = [{"query": query, "results": hit if answerable else None} for query, _, answerable in queries]
    (tmp_path / "before.jsonl").write_text("\n".join(map(json.dumps, recorded)))
    questions = ["corpus=none", "questions=table", f"questions.path={tmp_path}/questions.jsonl", "dataset.name=bare"]

    def run(*settings):
        return application.script_here("run", *application.arguments(*questions, "k=2", *settings))

    before = len(asked(system))
    succeeded(run("retriever=callable", "retriever.call=mine:Words", f"store.path={tmp_path}/store"))
    assert len(asked(system)) == before + len(queries)
    [metrics] = [run.data.metrics for run in application.runs()]
    assert (metrics["false_find_rate"], metrics["hit_or_refuse"]) == (1, 0)
    assert metrics["recall"] > 0.5
    assert metrics["context/tokens"] > 0  # of the texts that came back
    returned = ["retriever=returned", f"retriever.path={tmp_path}/before.jsonl"]
    for settings, problem in (
        ([*returned, "decision.require={false_find_rate: 1}"], "decision.require: false_find_rate is not measured"),
        (["retriever=sparse"], "or name a corpus: only a retriever that runs elsewhere needs none"),
    ):
        refused = run(*settings)
        assert refused.returncode == 2
        assert problem in refused.stderr


def recorded(config, **changed):
    """The record of a run, with other settings of its retriever."""
    record = portable(as_recorded(config))
    record["retriever"] |= changed
    return yaml.safe_dump(record)


URL = "http://127.0.0.1:9/s"


@pytest.mark.usefixtures("long_work")
def test_a_record_names_no_table_no_store_of_traces_no_service_and_no_key():
    today = composed()
    for choice, name in {"postgres": "retriever.table", "qdrant": "retriever.collection"}.items():
        text = recorded(composed(f"retriever={choice}", f"{name}=customers"))
        with pytest.raises(ConfigError, match=rf"{name}: found 'customers'; a record names nothing of yours"):
            trusted(text, today, {}, ())
        assert OmegaConf.select(trusted(text, today, {name: "customers"}, ()), name) == "customers"
    text = recorded(composed("retriever=traces", "retriever.experiment=theirs"), uri="sqlite:///elsewhere/mlflow.db")
    with pytest.raises(ConfigError, match=r"retriever.uri: .*names no server"):
        trusted(text, today, {}, ())
    today = composed("retriever=http", f"retriever.url={URL}")
    assert trusted(recorded(today), today, {"retriever.url": URL}, ()).retriever.api_key_env is None
    with pytest.raises(ConfigError, match=r"^retriever\.url: .*a record names no server"):
        trusted(recorded(today), today, {}, ())
    for name in ("OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY"):
        with pytest.raises(ConfigError, match=rf"^retriever\.api_key_env: found '{name}'"):
            trusted(recorded(today, api_key_env=name), today, {"retriever.url": URL}, ())


def test_the_export_refuses_it_by_its_class_alone_before_anything_is_asked():
    for option in ("callable", "http", "traces", "postgres", "qdrant"):
        files = [conf / "retriever" / f"{option}.yaml" for conf in conf_folders()]
        [target] = [yaml.safe_load(file.read_text())["_target_"] for file in files if file.exists()]
        with pytest.raises(ConfigError, match="Retriever cannot be exported: what it searches runs or lies elsewhere"):
            refuse_if_not_alone([target_of(target)], "run")


QUESTIONS = 80
RACER = '''
"""Finds the document of a question the more often the better it is, and notes what it is asked."""
from pathlib import Path
import time

import numpy as np


def build(quality):
    def search(query):
        time.sleep(0.01)
        with Path("asked.txt").open("a") as file:
            file.write(f"{quality} {query}\\n")
        number = int(query.split()[1])
        luck = np.random.default_rng(number).random()
        return [{"id": f"d{number if luck < quality else (number + 1) % 80}"}]

    return search
'''


@pytest.fixture
def race(application):
    """A project with a system of its own, and a dataset for it; the arguments of a race between its settings."""
    home = application.home
    (home / "system.py").write_text(RACER)
    (home / "beir/qrels").mkdir(parents=True)
    for name, letter, text in (("corpus", "d", "text"), ("queries", "q", "question")):
        rows = [{"_id": f"{letter}{n}", "title": "", "text": f"{text} {n}"} for n in range(QUESTIONS)]
        (home / f"beir/{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    lines = [f"q{number}\td{number}\t1" for number in range(QUESTIONS)]
    (home / "beir/qrels/test.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *lines]))
    asked = ["retriever=callable", "retriever.call=system:build", "decision.metric=mrr", f"store.path={home}/store"]
    swept = "+retriever.settings.quality=0.1,0.2,0.8,0.9"
    return ["-m", "hydra/sweeper=race", "dataset=beir", f"dataset.path={home}/beir", *asked, swept, "k=1,3"]


def questions_of(application):
    """How many different questions each quality was asked; no more than the one that was interrupted twice."""
    lines = (application.home / "asked.txt").read_text().splitlines()
    assert len(lines) - len({*lines}) <= 1
    return pd.Series([line.split()[0] for line in {*lines}]).value_counts().to_dict()


@pytest.mark.usefixtures("processes")
def test_losers_are_asked_few_questions_and_the_others_each_question_once_also_after_a_kill(application, race):
    project = {"RAGSWEEP_PROJECT": str(application.home)}
    process = application.begin("run", *race, **project)
    log = application.home / "asked.txt"
    while not log.exists() or len(log.read_text().splitlines()) < 70:  # in the second round
        time.sleep(0.02)
    process.kill()
    process.communicate()
    assert 60 < sum(questions_of(application).values()) < 4 * QUESTIONS
    resumed = succeeded(application.script("run", *race, "tracking.resume=true", **project))
    assert "race: after 16" in resumed.stderr

    asked = questions_of(application)
    assert asked["0.9"] == QUESTIONS
    assert asked["0.1"] == asked["0.2"] < QUESTIONS / 2
    [parent] = application.parents()
    file = application.artifacts(parent) / "decision.json"
    record = json.loads(file.read_text())
    assert parent.info.status == "FINISHED"
    assert (record["race"]["of"], record["race"]["evaluations"]) == (8 * QUESTIONS, 2 * sum(asked.values()))
    assert record["choice"]["label"] == "quality 0.9"  # also where it is the only one left
    dropped = {run.info.run_name: run for run in application.children() if "race" in run.data.tags}
    assert dropped.keys() == {run["name"] for run in record["race"]["dropped"]}
    assert not {row["name"] for row in record["rows"]} & dropped.keys()
    assert len(record["rows"]) + len(dropped) == len(application.children()) == 8
    for run in dropped.values():
        number = asked[run.data.params["retriever.settings.quality"]]
        assert run.info.status == "FINISHED"
        assert run.data.tags["race"] == f"dropped after {number} of {QUESTIONS} questions"
        assert {*run.data.metrics} == {"race/mrr", "race/questions"}
        assert len(pd.read_csv(application.artifacts(run) / "results/race.csv")) == number

    options = [parent.info.run_id, "--stored", "--allow=system", f"store.path={application.home}/store"]
    assert "race: identical: " in succeeded(application.script("reproduce", *options, **project)).stdout
    assert questions_of(application) == asked
    left_out = f"{parent.info.run_id}: not compared: {len(dropped)} configurations that dropped out of its race"
    for metric, raced in (("mrr", True), ("recall", False)):  # no race was held by the other one
        compared = application.script_here("compare", parent.info.run_id, f"decision.metric={metric}", **project)
        assert (left_out in succeeded(compared).stderr) is raced  # it is said once
        assert (" of the 640 measurements of a grid" in compared.stdout) is raced
    for run in dropped.values():
        refused = application.script_here("reproduce", run.info.run_id, **project)
        assert refused.returncode == 2
        assert f"this run was {run.data.tags['race']}, and has no results over all" in refused.stderr
    for crafted in (3, record["race"] | {"dropped": 3}, record["race"] | {"block": 0}):  # anybody may have written it
        file.write_text(json.dumps(record | {"race": crafted}))
        refused = application.script_here("reproduce", *options, **project)
        assert refused.returncode == 2
        assert f"{parent.info.run_id}: its decision.json cannot be read (" in refused.stderr.splitlines()[-1]
