"""What a single run leaves behind."""

import json
import re
from functools import partial

import pandas as pd
import pytest
import yaml
from application import METRICS, error_lines, succeeded
from warm import CHARTS

import ragsweep

RESULTS = ("audit.json", "by_query_type.csv", "evaluation.json", "per_query.csv", "qrels.trec", "ranking.trec")
MODEL = "encoder=wordllama"  # the bundled manual is embedded at once


@pytest.fixture(scope="module")
def finished(shared_application):
    """One run with two settings changed, on the bundled manual: the run, and the folder of its artifacts."""
    process = succeeded(shared_application.run("retriever.alpha=0.5", "k=25", MODEL, **CHARTS))
    assert error_lines(process.stderr) == []
    [run] = shared_application.runs()
    return run, shared_application.artifacts(run)


def test_a_run_has_its_name_params_dataset_and_tags(finished):
    run, artifacts = finished
    assert (run.info.status, run.info.run_name) == ("FINISHED", "alpha=0.5 k=25 encoder=wordllama")
    params = {"retriever.alpha": "0.5", "k": "25", "dataset.name": "cho_manual", "retriever.sparse.k1": "1.5"}
    params |= {"encoder": "WordLlamaEncoder", "index": "ExactIndex"}
    assert params.items() <= run.data.params.items()
    [logged] = run.inputs.dataset_inputs
    whole = json.loads((artifacts / "results/evaluation.json").read_text())["dataset"]["digest"]
    assert logged.dataset.name == "cho_manual"
    assert whole.startswith(logged.dataset.digest)
    assert " ragsweep run retriever.alpha=0.5 k=25 encoder=wordllama" in run.data.tags["reproduce"]
    assert {"git.dirty", "sweep.id", "config.digest"} <= set(run.data.tags)


def test_curves_and_intervals_hold_the_metric_at_k(finished, shared_application):
    run, _ = finished
    history = partial(shared_application.client().get_metric_history, run.info.run_id)
    recall, ndcg = ({point.step: point.value for point in history(f"at_k/{name}")} for name in ("recall", "ndcg"))
    assert sorted(recall) == list(range(1, 26))
    metrics = run.data.metrics
    assert ndcg[25] == metrics["ndcg"]
    for name in METRICS:
        assert metrics[f"ci/{name}_low"] < metrics[name] < metrics[f"ci/{name}_high"]


def test_the_files_are_complete_and_agree_with_the_metrics(finished):
    run, artifacts = finished
    assert {path.name for path in (artifacts / "results").iterdir()} == {*RESULTS, "summary_statistics.csv"}
    charts = {path.name for path in (artifacts / "charts").iterdir()}
    assert charts == {"metrics_by_cutoff.png", "ndcg_by_query_type.png"}
    per_query = pd.read_csv(artifacts / "results/per_query.csv")
    assert len(per_query) == 133
    for name in METRICS:
        assert per_query[name].mean() == pytest.approx(run.data.metrics[name], abs=1e-12)
    summary = pd.read_csv(artifacts / "results/summary_statistics.csv", index_col="metric")
    described = per_query[[*METRICS]].describe().T.drop(columns="count")
    pd.testing.assert_frame_equal(summary.loc[[*METRICS], described.columns], described, check_names=False)
    costs = ["context/tokens", "context/tokens_p95", "latency/mean_ms", "latency/p95_ms", "index/bytes"]
    assert summary.loc[costs, "mean"].to_dict() == pytest.approx({name: run.data.metrics[name] for name in costs})
    assert summary.loc["latency/mean_ms", ["std", "min", "50%", "max"]].notna().all()


def test_the_trec_files_give_the_metrics_and_their_interval(finished):
    run, artifacts = finished
    again = ragsweep.evaluate(artifacts / "results/ranking.trec", artifacts / "results/qrels.trec", k=25)
    assert again.means == {name: run.data.metrics[name] for name in again.means}
    table = pd.read_csv(artifacts / "results/summary_statistics.csv", index_col="metric")
    for name in METRICS:
        logged = [run.data.metrics[f"ci/{name}_{bound}"] for bound in ("low", "high")]
        assert again.summary.loc[name, ["ci_low", "ci_high"]].tolist() == logged
        assert table.loc[name, ["ci_low", "ci_high"]].tolist() == pytest.approx(logged, abs=1e-15)


def test_the_logged_configuration_is_resolved_and_names_no_path_of_this_machine(finished):
    _, artifacts = finished
    text = (artifacts / "config/config.yaml").read_text()
    config = yaml.safe_load(text)
    assert config["retriever"]["alpha"] == 0.5
    assert config["dataset"]["documents"] == "data/cho_manual/documents"
    assert {*re.findall(r"\$\{.*?\}", text)} <= {f"${{{name}}}" for name in config}  # groups of its own


def test_the_same_run_without_the_store_gives_the_same_numbers(application, dataset):
    for without in ([], ["store.enabled=false"]):
        succeeded(application.run(*dataset, "retriever.alpha=0.5", MODEL, "k=3", *without))
    run, again = application.runs()
    timeless = {name for name in run.data.metrics if not name.startswith("latency/")}
    assert {name: again.data.metrics[name] for name in timeless} == {name: run.data.metrics[name] for name in timeless}
    assert again.data.tags["config.digest"] == run.data.tags["config.digest"]
    results = [application.artifacts(measured) / "results" for measured in (run, again)]
    facts = [json.loads((folder / "evaluation.json").read_text()) for folder in results]
    for record in facts:
        record["measures"] = {name: value for name, value in record["measures"].items() if "latency/" not in name}
    assert facts[0] == facts[1]
    tables = [pd.read_csv(folder / "per_query.csv", dtype=str).drop(columns="time_ms") for folder in results]
    assert tables[0].equals(tables[1])
    assert len({(folder / "ranking.trec").read_bytes() for folder in results}) == 1


def test_a_run_logs_how_much_of_the_exact_ranking_its_index_found(shared_application, finished):
    exact, _ = finished
    index = ["index=ivf_pq", 'index.factory="IVF64,PQ32"', "index.search.nprobe=1"]
    succeeded(shared_application.run("retriever=dense", MODEL, *index))
    run = shared_application.runs()[-1]
    assert 0 < run.data.metrics["index/recall"] < 0.9
    assert run.data.params["index"] == "FaissIndex"
    assert "index/recall" not in exact.data.metrics
