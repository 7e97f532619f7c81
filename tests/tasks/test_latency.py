"""Real runs whose latency is measured, kept and measured again."""

import json
import os
import subprocess
import sys
import time

import pytest
from small import QUERIES

from ragsweep.core.hardware import load_of_others

MS = "latency/mean_ms"
QUICK = ["retriever=sparse", "decision.tokenizer=words"]


def facts_of(application, run) -> dict:
    return json.loads((application.artifacts(run) / "results/evaluation.json").read_text())


def taken_in(application, run) -> dict:
    return facts_of(application, run)["measures"][MS]["taken"]


def without_times(application, run) -> tuple[dict, bytes, bytes]:
    facts = facts_of(application, run)
    facts["measures"] = {name: each for name, each in facts["measures"].items() if not name.startswith("latency/")}
    results = application.artifacts(run) / "results"
    return facts, (results / "ranking.trec").read_bytes(), (results / "per_query.csv").read_bytes()


@pytest.fixture
def own_store(application) -> list[str]:
    """A store of this test alone."""
    return [f"store.path={application.home / 'store'}"]


def test_latency_is_measured_again_once_a_sweep_and_nothing_else_changes(application, dataset, own_store):
    assert application.run(*dataset, *own_store, *QUICK, "k=3").returncode == 0
    time.sleep(1)  # when a program started is known to the second
    swept = application.run("-m", *dataset, *own_store, *QUICK, "k=1,3", "evaluation.latency=again")
    assert swept.returncode == 0, swept.stderr
    assert application.run(*dataset, *own_store, *QUICK, "k=3").returncode == 0
    first, *jobs, after = [run for run in application.runs() if MS in run.data.metrics]
    taken = [taken_in(application, run) for run in (first, *jobs, after)]
    assert taken[0] != taken[1] == taken[2] == taken[3]  # both jobs have one ranking, and the last run takes theirs
    assert taken[0]["last"] < taken[1]["first"]
    assert {each["queries"] for each in taken} == {5}
    [again] = [run for run in jobs if run.data.params["k"] == "3"]
    assert len({run.data.metrics[MS] for run in (again, after)}) == 1
    assert len({run.data.tags["config.digest"] for run in (first, again, after)}) == 1
    assert first.data.params == again.data.params
    for run in (again, after):
        assert without_times(application, run) == without_times(application, first)
    [parent] = [run for run in application.parents() if MS not in run.data.metrics]
    [sentence] = [
        line
        for line in (application.artifacts(parent) / "report.md").read_text().splitlines()
        if "one at a time" in line
    ]
    assert taken[1]["machines"][0] in sentence


def test_a_run_beside_busy_processes_is_marked_as_under_load(application, dataset, own_store):
    if load_of_others() is None:
        pytest.skip("only Linux tells how many threads run")
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count())]
    try:
        swept = application.run("-m", *dataset, *own_store, *QUICK, "k=3", f"decision.require={{{MS}: 1000}}")
    finally:
        for each in busy:
            each.kill()
            each.wait()
    assert swept.returncode == 0, swept.stderr
    assert all(taken_in(application, run)["load"] > 0.75 for run in application.children())
    assert "decision.require.latency/mean_ms" in swept.stdout
    assert "under load" in swept.stdout


RECORDED = {
    "run_file": "1 Q0 fever.pdf#1 1 1.0 theirs\n",
    "returned": "\n".join(
        json.dumps({"query": query, "results": [{"source": "fever.pdf", "page": "1"}], "ms": 3.0})
        for query, *_ in QUERIES
    ),
}


@pytest.mark.parametrize("retriever", RECORDED)
def test_what_was_recorded_is_not_timed_again_and_says_so(application, dataset, tmp_path, retriever):
    record = tmp_path / "record"
    record.write_text(RECORDED[retriever])
    settings = [f"retriever={retriever}", f"retriever.path={record}", "k=1", "evaluation.latency=again"]
    done = application.run(*dataset, *settings)
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stderr.splitlines() if "evaluation.latency=again" in line]
    [run] = application.runs()
    assert "taken" not in facts_of(application, run)["measures"].get(MS, {})
