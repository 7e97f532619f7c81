"""Real runs whose latency is measured once, and kept with the stages that it was measured of."""

import json

import pytest
from small import QUERIES

from ragsweep.core.hardware import machine

MS = "latency/mean_ms"
QUICK = ["retriever=sparse", "decision.tokenizer=words"]


def latency_in(application, run) -> dict:
    return json.loads((application.artifacts(run) / "results/evaluation.json").read_text())["measures"].get(MS, {})


def test_a_latency_that_is_kept_is_that_of_the_first_run_with_its_machine(application, dataset):
    own_store = [f"store.path={application.home / 'store'}"]
    assert application.run(*dataset, *own_store, *QUICK, "k=3").returncode == 0
    swept = application.run("-m", *dataset, *own_store, *QUICK, "k=1,3")
    assert swept.returncode == 0, swept.stderr
    runs = [run for run in application.runs() if MS in run.data.metrics]
    assert len(runs) == 3
    assert len({run.data.metrics[MS] for run in runs}) == 1
    assert [latency_in(application, run)["machines"] for run in runs] == 3 * [[machine()]]
    [slowed_by] = {latency_in(application, run)["slowed_by"] for run in runs}
    assert slowed_by >= 1
    [parent] = [run for run in application.parents() if MS not in run.data.metrics]
    assert machine() in (application.artifacts(parent) / "report.md").read_text()


RECORDED = {
    "run_file": "1 Q0 fever.pdf#1 1 1.0 theirs\n",
    "returned": "\n".join(
        json.dumps({"query": query, "results": [{"source": "fever.pdf", "page": "1"}], "ms": 3.0})
        for query, *_ in QUERIES
    ),
}


@pytest.mark.parametrize("retriever", RECORDED)
def test_no_machine_is_named_for_times_of_elsewhere(application, dataset, tmp_path, retriever):
    record = tmp_path / "record"
    record.write_text(RECORDED[retriever])
    done = application.run(*dataset, f"retriever={retriever}", f"retriever.path={record}", "k=1")
    assert done.returncode == 0, done.stderr
    [run] = application.runs()
    assert "machines" not in latency_in(application, run)
