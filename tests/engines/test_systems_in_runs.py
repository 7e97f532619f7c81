"""A retriever that runs elsewhere, measured, swept, replayed without it, and never called by a record."""

import json
import sys

import pytest
import small
from application import succeeded
from search_server import PAGES, SearchServer, json_of

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
    """A sweep over a setting of the system, on a store of its own."""
    store = f"store.path={tmp_path_factory.mktemp('store')}"
    settings = ["retriever=callable", "retriever.call=mine:Words", "+retriever.settings.letters=1,9", "k=2", store]
    process = shared_application.run("-m", *dataset, *settings, PYTHONPATH=str(system))
    assert process.returncode == 0, process.stderr
    return process, [*dataset, *settings]


def test_a_sweep_over_a_setting_of_a_system_asks_each_query_once_a_value(swept, shared_application, system):
    runs = {run.data.params["retriever.settings.letters"]: run for run in shared_application.children()}
    assert len(asked(system)) == 2 * len(small.QUERIES)
    assert runs["9"].data.metrics["ndcg"] != runs["1"].data.metrics["ndcg"]
    assert runs["9"].data.metrics["latency/mean_ms"] > 0
    assert "coverage/units" not in runs["9"].data.metrics


def test_a_second_sweep_needs_no_system(swept, shared_application, system, importable):
    before = len(asked(system))
    gone = {"PYTHONPATH": str(system), "GONE": "1"}
    succeeded(shared_application.run("-m", *swept[1], "tracking.experiment=again", **gone))
    assert len(asked(system)) == before
    measured = [run for run in shared_application.children() if run.data.params["retriever.settings.letters"] == "9"]
    assert len({json.dumps(run.data.metrics, sort_keys=True) for run in measured}) == 1  # latency included
    for other in ("retriever.depth=3", "retriever.recheck=1"):
        needed = shared_application.script_here("run", "-m", *shared_application.arguments(*swept[1], other), GONE="1")
        assert (needed.returncode, needed.stdout) == (2, "")
        assert "the database of the system is gone" in needed.stderr


def test_a_run_is_compared_without_its_system(swept, shared_application, dataset, system, importable):
    before = len(asked(system))
    [run, *_] = shared_application.children()
    again = ["reproduce", run.info.run_id, *dataset[2:]]
    gone = succeeded(shared_application.script_here(*again))
    assert "by what the system had returned" in gone.stdout
    assert "identical: " in gone.stdout
    assert len(asked(system)) == before
    with_system = succeeded(shared_application.script_here(*again, "--allow", "mine"))
    assert "by what" not in with_system.stdout
    assert len(asked(system)) == before + len(small.QUERIES)
    explained = shared_application.script_here("explain", run.info.run_id, small.QUERIES[0][0], *dataset[2:])
    succeeded(explained)
    assert "by what the system had returned" in explained.stdout


def test_the_export_of_a_system_is_refused_before_it_may_be_called(swept, shared_application, tmp_path):
    parent, *_ = shared_application.parents()
    refused = shared_application.script_here("export", parent.info.run_id, "--out", str(tmp_path / "out"))
    assert refused.returncode == 2
    assert "CallableRetriever cannot be exported" in refused.stderr
    assert "--allow" not in refused.stderr


@pytest.fixture
def harmful(swept, shared_application, tmp_path, importable):
    """Let the record of a run call something else, with an argument that would leave a file."""
    [run, *_] = shared_application.children()
    config = shared_application.artifacts(run) / "config" / "config.yaml"
    returned = shared_application.artifacts(run) / "results" / "returned.jsonl"
    text, hidden = config.read_text(), returned.rename(tmp_path / "returned.jsonl")

    def to(call):
        argument = f"letters: 'touch {tmp_path}/called_by_a_record'"
        config.write_text(text.replace("mine:Words", call).replace("letters: 1", argument))
        return run.info.run_id

    yield to
    config.write_text(text)
    hidden.rename(returned)


def test_no_record_chooses_what_is_called(harmful, shared_application, dataset, tmp_path):
    for call in ("os:system", "mine:os.system", "mine:os", "subprocess:run"):
        process = shared_application.script_here("reproduce", harmful(call), *dataset[2:], "--allow", "mine")
        assert process.returncode == 2
        assert "retriever.call: " in process.stderr
    assert not any(tmp_path.rglob("called_by_a_record"))


@pytest.mark.usefixtures("importable")
def test_questions_and_judged_ids_are_enough(application, tmp_path):
    rows = ["id,query,relevant_docs"]
    rows += [f'{at},"{query}","{"; ".join(pages)}"' for at, (query, pages, _) in enumerate(small.QUERIES)]
    (tmp_path / "questions.csv").write_text("\n".join(rows))
    questions = ["corpus=none", "questions=table", f"questions.path={tmp_path}/questions.csv", "dataset.name=bare"]
    settings = ["retriever=callable", "retriever.call=mine:Words", "k=2"]
    succeeded(application.script_here("run", *application.arguments(*questions, *settings)))
    [run] = application.runs()
    assert run.data.metrics["recall"] > 0.5
    assert run.data.metrics["context/tokens"] > 0  # of the texts that came back
    refused = application.script_here("run", *application.arguments(*questions, "retriever=sparse"))
    assert refused.returncode == 2
    assert "or name a corpus: only a retriever that runs elsewhere needs none" in refused.stderr


def test_questions_without_an_answer_are_asked_and_a_record_without_them_does_not_tell(
    application, system, importable, tmp_path
):
    """A function and a service that always answer have a rate of 1; results of before without it have none."""
    queries = [*((query, pages, True) for query, pages, _ in small.QUERIES), ("Pizza?", [], False)]
    fields = ("id", "query", "relevant_docs", "answerable")
    rows = [dict(zip(fields, (str(row), *query), strict=True)) for row, query in enumerate(queries)]
    (tmp_path / "questions.jsonl").write_text("\n".join(map(json.dumps, rows)))
    questions = ["corpus=none", "questions=table", f"questions.path={tmp_path}/questions.jsonl", "dataset.name=bare"]

    def run(*settings):
        return application.script_here("run", *application.arguments(*questions, *settings))

    before = len(asked(system))
    succeeded(run("retriever=callable", "retriever.call=mine:Words", f"store.path={tmp_path}/store"))
    assert len(asked(system)) == before + len(queries)
    source, page, text = PAGES[0]
    always = json_of({"results": [{"source": source, "page": page + 1, "text": text}]})
    with SearchServer(lambda query, time: always) as server:
        succeeded(run("retriever=http", f"retriever.url={server.url}"))
        assert sorted(request.body["query"] for request in server.asked) == sorted(query for query, *_ in queries)
    metrics = [run.data.metrics for run in application.runs()]
    assert [(values["false_find_rate"], values["hit_or_refuse"]) for values in metrics] == [(1, 0), (1, 0)]
    hit = [{"source": source, "page": "2"}]
    recorded = [{"query": query, "results": hit if answerable else None} for query, _, answerable in queries]
    (tmp_path / "before.jsonl").write_text("\n".join(map(json.dumps, recorded)))
    returned = ["retriever=returned", f"retriever.path={tmp_path}/before.jsonl"]
    refused = run(*returned, "decision.require={false_find_rate: 1}")
    assert refused.returncode == 2
    assert "decision.require: false_find_rate is not measured" in refused.stderr
