"""Real runs: latency is measured once, and kept with its stages; the strategies that are shipped are all different."""

import json

import pytest
import small
from application import PROJECT, succeeded
from composed_here import composed

from ragsweep.core.hardware import machine
from ragsweep.experiment import Experiment

MS = "latency/mean_ms"
QUICK = ["retriever=sparse", "decision.tokenizer=words"]


def latency_in(application, run) -> dict:
    return json.loads((application.artifacts(run) / "results/evaluation.json").read_text())["measures"].get(MS, {})


def test_a_latency_that_is_kept_is_that_of_the_first_run_with_its_machine(application, dataset):
    own_store = [f"store.path={application.home / 'store'}"]
    succeeded(application.script_here("run", "-m", *dataset, *own_store, *QUICK, "k=1,3"))
    runs = application.children()
    assert len({run.data.metrics[MS] for run in runs}) == 1
    assert [latency_in(application, run)["machines"] for run in runs] == 2 * [[machine()]]
    [slowed_by] = {latency_in(application, run)["slowed_by"] for run in runs}
    assert slowed_by >= 1
    [parent] = application.parents()
    assert machine() in (application.artifacts(parent) / "report.md").read_text()


# Strategies

OPTIONS = sorted(path.stem for path in (PROJECT / "conf" / "strategy").glob("*.yaml"))


@pytest.mark.usefixtures("models")
def test_every_strategy_is_measured_and_is_another_configuration(dataset, cache):
    given = [*dataset, "k=3", f"store.path={cache}", "evaluation.resamples=100"]
    experiments = [Experiment.of(composed(*given, f"strategy={name}")) for name in OPTIONS]
    assert len({experiment.digest for experiment in experiments}) == len(OPTIONS) == 6
    for experiment in experiments:
        assert experiment.measure().values["recall"] > 0, experiment.settings


@pytest.mark.soak
def test_no_strategy_knows_how_its_queries_are_judged(dataset, shared_application, application, tmp_path):
    """The relevant pages of each query go to the next query: no ranking changes."""
    next_queries = [*small.QUERIES[1:], small.QUERIES[0]]
    moved = [(query, pages, kind) for (query, _, kind), (_, pages, _) in zip(small.QUERIES, next_queries, strict=True)]
    arguments = small.arguments(tmp_path / "moved")
    small.write_queries(tmp_path / "moved" / "questions.json", moved)
    runs = []
    for where, asked in ((shared_application, dataset), (application, arguments)):
        succeeded(where.run(*asked, "-m", f"strategy={','.join(OPTIONS)}", "k=3"))
        runs.append({run.info.run_name: (where.artifacts(run), run.data.metrics) for run in where.children()})
    before, after = runs
    assert len(before) == len(OPTIONS)
    for name, (folder, metrics) in before.items():
        texts = [(path / "results/ranking.trec").read_text() for path in (folder, after[name][0])]
        assert texts[0] == texts[1], name
        assert metrics != after[name][1], name
