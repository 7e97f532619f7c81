"""The saved view that a sweep leaves in MLflow, as the store has it; tests/browser shows what the UI makes of it."""

import base64
import json
import uuid
import zlib
from urllib.parse import parse_qsl, urlsplit

import pytest
from application import METRICS, succeeded
from mlflow.entities import Metric, Run, RunData, RunInfo, RunTag

from ragsweep.tracking import print_latest_sweep, push, view
from ragsweep.tracking.stored_run import StoredRun
from ragsweep.tracking.view import save_view, sweep_address
from tracking.stored import change_journal, execute

SWEEP = ["-m", "retriever=sparse", "retriever.b=0.3,0.5", "k=1,2"]
BEST_FIRST = ["ndcg", *(name for name in METRICS if name != "ndcg")]  # the one that decides
TAG = "mlflow.sharedViewState."


@pytest.fixture(scope="module")
def swept(shared_application, dataset):
    """The last lines that two sweeps in one experiment print; the second is of runs of the first."""
    sweeps = ([*SWEEP, *dataset], [*SWEEP[:-1], *dataset, "k=2", "tracking.resume=true"])
    return [succeeded(shared_application.run(*sweep)).stdout.splitlines()[-1] for sweep in sweeps]


def views(application):
    """The views of each experiment, oldest first: key, name and state."""
    saved = {}
    for experiment in application.client().search_experiments():
        tags = {key.removeprefix(TAG): json.loads(value) for key, value in experiment.tags.items() if TAG in key}
        saved[experiment.name] = [
            (key, view["name"], json.loads(zlib.decompress(base64.b64decode(view["state"].removeprefix("deflate;")))))
            for key, view in sorted(tags.items(), key=lambda item: item[1]["createdAt"])
        ]
    return saved


def found_by(application, state):
    """The names of the runs that a view shows, in its order."""
    client = application.client()
    experiment = client.get_experiment_by_name("small").experiment_id
    order = f"{state['orderByKey']} {'ASC' if state['orderByAsc'] else 'DESC'}"
    runs = client.search_runs([experiment], state["searchFilter"], order_by=[order])
    values = [run.data.metrics["ndcg"] for run in runs]
    assert values == sorted(values, reverse=True)
    return sorted(run.info.run_name for run in runs)


def test_a_sweep_leaves_a_view_of_its_runs_and_those_that_it_joined(swept, shared_application):
    (key, name, state), (_, _, later) = views(shared_application)["small"]
    parent, _ = shared_application.parents()
    assert key == f"sweep-{parent.info.run_id}"
    assert name.startswith(f"{parent.info.run_name}, ")
    assert found_by(shared_application, state) == ["b=0.3 k=1", "b=0.5 k=1"]  # at the headline's k
    assert found_by(shared_application, later) == ["b=0.3 k=2", "b=0.5 k=2"]
    for line, (key, _, _) in zip(swept, views(shared_application)["small"], strict=True):
        address = line.partition(" ")[0]
        assert address.startswith("http://127.0.0.1:5000/#/experiments/")
        # a filter or an order in it would keep MLflow from loading the view
        assert address.endswith(f"/runs?workflowType=machine_learning&compareRunsMode=CHART&viewStateShareKey={key}")


def test_columns_and_charts_are_of_the_decision_and_the_metrics(swept, shared_application):
    (_, _, state), _ = views(shared_application)["small"]
    metrics = [f"metrics.`{name}`" for name in [*BEST_FIRST, "context/tokens", "latency/mean_ms"]]
    assert state["selectedColumns"] == ["tags.`decision`", "params.`retriever.b`", *metrics]
    [parallel] = [chart for chart in state["compareRunCharts"] if chart["type"] == "PARALLEL"]
    assert (parallel["selectedParams"], parallel["selectedMetrics"]) == (["retriever.b"], ["ndcg"])
    curves = [chart["metricKey"] for chart in state["compareRunCharts"] if chart["type"] == "LINE"]
    assert curves == [f"at_k/{name}" for name in [*BEST_FIRST, "context/tokens"]]
    first, second, *_ = state["compareRunSections"]
    assert (first["name"], second["name"]) == ("Metrics at the run's k", "Settings and NDCG")
    logged = {name for run in shared_application.children() for name in run.data.metrics}
    charts = {chart["metricKey"]: chart for chart in state["compareRunCharts"]}
    assert logged <= set(charts)
    hidden = {name for name in logged if name.startswith(("ci/", "swept/", "coverage/"))}
    assert {name for name, chart in charts.items() if chart.get("deleted")} == hidden
    shut = {section["name"] for section in state["compareRunSections"] if not section["display"]}
    folded = [name for name in logged if name.startswith(("by_type/", "latency/", "context/", "index/"))]
    assert {charts[name]["metricSectionId"] for name in folded} == shut


def test_there_is_no_view_where_the_store_does_not_take_it_or_the_page_is_not_known(copied_sweep, monkeypatch):
    [parent], [child, _] = copied_sweep.parents(), copied_sweep.children()
    run = StoredRun.of(copied_sweep.client(), child)
    with monkeypatch.context() as patch:  # as if another MLflow were installed, whose page may read a view differently
        patch.setattr(view, "KNOWN_MLFLOW", "9.")
        assert not save_view(copied_sweep.uri, [run], parent.info.run_id)
    assert save_view(copied_sweep.uri, [run], parent.info.run_id)
    no_more = "CREATE TRIGGER no BEFORE UPDATE ON experiment_tags BEGIN SELECT raise(ABORT, 'no more views'); END"
    execute(copied_sweep.home / "mlflow.db", no_more)
    assert not save_view(copied_sweep.uri, [run], parent.info.run_id)


def test_a_sweep_that_is_uploaded_later_gets_its_view(copied_sweep):
    [(key, _, state)] = views(copied_sweep)["small"]
    experiment = copied_sweep.client().get_experiment_by_name("small")
    copied_sweep.client().delete_experiment_tag(experiment.experiment_id, f"{TAG}{key}")
    change_journal(copied_sweep.home / "outputs/summary", uri=copied_sweep.uri, uploaded=False)
    push(copied_sweep.home / "outputs/summary", copied_sweep.uri, None)
    assert [(again, shown) for again, _, shown in views(copied_sweep)["small"]] == [(key, state)]


def test_more_joined_runs_than_a_tag_can_hold_leave_the_view_of_its_own(copied_sweep):
    [parent] = copied_sweep.parents()
    data = RunData([Metric("f1", 0.5, 0, 0)], [], [RunTag("mlflow.parentRunId", "of another sweep")])
    infos = [RunInfo(uuid.uuid4().hex, "0", "me", "FINISHED", 0, 1, "active") for _ in range(1000)]
    runs = [StoredRun.of(copied_sweep.client(), Run(info, data)) for info in infos]
    [(_, _, before)] = views(copied_sweep)["small"]
    assert save_view(copied_sweep.uri, runs, parent.info.run_id)
    [(_, _, after)] = views(copied_sweep)["small"]
    assert after["searchFilter"] == before["searchFilter"]


def test_the_latest_sweep_of_a_store_is_named(swept, shared_application, capsys, tmp_path):
    shown = "http://127.0.0.1:5123"
    print_latest_sweep(shared_application.uri, shown)
    assert capsys.readouterr().out == f"the latest sweep: {swept[-1].replace('http://127.0.0.1:5000', shown)}\n"
    (tmp_path / "mlflow.db").write_text("no database" * 100)
    print_latest_sweep(f"sqlite:///{tmp_path}/mlflow.db", shown)
    assert capsys.readouterr() == ("", "the latest sweep is not known (file is not a database)\n")


def test_a_store_without_a_sweep_names_none(application, tmp_path, capsys):
    application.client().create_run("0")
    for uri in (f"sqlite:///{tmp_path}/nowhere.db", application.uri):
        print_latest_sweep(uri, "http://127.0.0.1:5000")
    assert capsys.readouterr() == ("", "")


def test_an_address_without_a_view_sorts_by_the_metric_that_was_measured():
    for decided_by, order in (("ndcg", {"orderByKey": "metrics.`ndcg`", "orderByAsc": "false"}), ("", {})):
        page = urlsplit(urlsplit(sweep_address("1", "a", decided_by, saved=False)).fragment)
        view = {"workflowType": "machine_learning", "compareRunsMode": "CHART"}
        assert dict(parse_qsl(page.query)) == {**view, "searchFilter": "tags.`mlflow.parentRunId` = 'a'", **order}
