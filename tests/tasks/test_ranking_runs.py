"""Real runs: latency is measured once, and kept with its stages; the strategies that are shipped are all different."""

import json

import pytest
import small
from application import PROJECT, succeeded

from ragsweep.core.hardware import machine

MS = "latency/mean_ms"
QUICK = ["retriever=sparse", "decision.tokenizer=words"]


def latency_in(application, run) -> dict:
    return json.loads((application.artifacts(run) / "results/evaluation.json").read_text())["measures"].get(MS, {})


def test_a_latency_that_is_kept_is_that_of_the_first_run_with_its_machine(application, dataset):
    own_store = [f"store.path={application.home / 'store'}"]
    succeeded(application.run("-m", *dataset, *own_store, *QUICK, "k=1,3"))
    runs = application.children()
    assert len({run.data.metrics[MS] for run in runs}) == 1
    assert [latency_in(application, run)["machines"] for run in runs] == 2 * [[machine()]]
    [slowed_by] = {latency_in(application, run)["slowed_by"] for run in runs}
    assert slowed_by >= 1
    [parent] = application.parents()
    assert machine() in (application.artifacts(parent) / "report.md").read_text()


# Strategies

OPTIONS = {path.stem for path in (PROJECT / "conf" / "strategy").glob("*.yaml")}
SWEEP = ["-m", f"strategy={','.join(sorted(OPTIONS))}", "k=3"]


def swept(application, dataset):
    """The runs of all strategies, by their names."""
    succeeded(application.run(*dataset, *SWEEP))
    return {run.info.run_name: run for run in application.children()}


@pytest.fixture(scope="module")
def strategies(shared_application, dataset):
    return swept(shared_application, dataset)


def test_every_strategy_is_another_configuration(strategies):
    assert len(strategies) == len(OPTIONS) == 6
    assert len({run.data.tags["config.digest"] for run in strategies.values()}) == len(OPTIONS)


@pytest.mark.soak
def test_no_strategy_knows_how_its_queries_are_judged(strategies, shared_application, application, tmp_path):
    """The relevant pages of each query go to the next query: no ranking changes."""
    next_queries = [small.QUERIES[(row + 1) % len(small.QUERIES)] for row in range(len(small.QUERIES))]
    moved = [(query, pages, kind) for (query, _, kind), (_, pages, _) in zip(small.QUERIES, next_queries, strict=True)]
    arguments = small.arguments(tmp_path / "moved")
    small.write_queries(tmp_path / "moved" / "questions.json", moved)
    again = swept(application, arguments)
    for name, run in strategies.items():
        before, after = (
            (where.artifacts(one) / "results" / "ranking.trec").read_text()
            for where, one in ((shared_application, run), (application, again[name]))
        )
        assert before == after, name
        assert run.data.metrics != again[name].data.metrics, name
