"""What a single run leaves behind."""

import json
import re

import pandas as pd
import pytest
import yaml
from application import METRICS, error_lines, succeeded
from warm import CHARTS

import ragsweep

RESULTS = {
    "audit.json",
    "by_query_type.csv",
    "evaluation.json",
    "per_query.csv",
    "qrels.trec",
    "ranking.trec",
    "summary_statistics.csv",
}


@pytest.fixture(scope="module")
def finished(shared_application):
    """One run with two settings changed, on the bundled manual."""
    process = succeeded(shared_application.run("retriever.alpha=0.5", "k=25", **CHARTS))
    [run] = shared_application.runs()
    return process, run, shared_application.artifacts(run)


def test_a_run_has_its_name_params_dataset_and_tags(finished):
    _, run, _ = finished
    assert (run.info.status, run.info.run_name) == ("FINISHED", "alpha=0.5 k=25")
    process, _, _ = finished
    assert error_lines(process.stderr) == []
    _, run, _ = finished
    assert run.data.params["retriever.alpha"] == "0.5"
    assert run.data.params["k"] == "25"
    assert run.data.params["dataset.name"] == "cho_manual"
    assert run.data.params["encoder.model"] == "sentence-transformers/all-MiniLM-L6-v2"
    assert run.data.params["retriever.sparse.k1"] == "1.5"
    _, run, artifacts = finished
    [logged] = run.inputs.dataset_inputs
    whole = json.loads((artifacts / "results/evaluation.json").read_text())["dataset"]["digest"]
    assert logged.dataset.name == "cho_manual"
    assert whole.startswith(logged.dataset.digest)
    _, run, _ = finished
    assert " ragsweep run retriever.alpha=0.5 k=25" in run.data.tags["reproduce"]
    assert {"git.dirty", "sweep.id", "config.digest"} <= set(run.data.tags)


def test_curves_and_intervals_hold_the_metric_at_k(finished, shared_application):
    _, run, _ = finished
    points = shared_application.client().get_metric_history(run.info.run_id, "at_k/recall")
    assert sorted(point.step for point in points) == list(range(1, 26))
    _, run, _ = finished
    points = shared_application.client().get_metric_history(run.info.run_id, "at_k/ndcg")
    assert {point.step: point.value for point in points}[25] == run.data.metrics["ndcg"]
    _, run, _ = finished
    metrics = run.data.metrics
    for name in METRICS:
        assert metrics[f"ci/{name}_low"] < metrics[name] < metrics[f"ci/{name}_high"]


def test_the_files_are_complete_and_agree_with_the_metrics(finished):
    _, _, artifacts = finished
    assert {path.name for path in (artifacts / "results").iterdir()} == RESULTS
    charts = {path.name for path in (artifacts / "charts").iterdir()}
    assert charts == {"metrics_by_cutoff.png", "ndcg_by_query_type.png"}
    _, run, artifacts = finished
    table = pd.read_csv(artifacts / "results/per_query.csv")
    assert len(table) == 133
    for name in METRICS:
        assert table[name].mean() == pytest.approx(run.data.metrics[name], abs=1e-12)
    _, run, artifacts = finished
    table = pd.read_csv(artifacts / "results/summary_statistics.csv", index_col="metric")
    described = pd.read_csv(artifacts / "results/per_query.csv")[[*METRICS]].describe().T.drop(columns="count")
    pd.testing.assert_frame_equal(table.loc[[*METRICS], described.columns], described, check_names=False)
    costs = ["context/tokens", "context/tokens_p95", "latency/mean_ms", "latency/p95_ms", "index/bytes"]
    assert table.loc[costs, "mean"].to_dict() == pytest.approx({name: run.data.metrics[name] for name in costs})
    assert table.loc["latency/mean_ms", ["std", "min", "50%", "max"]].notna().all()


def test_the_trec_files_give_the_metrics_and_their_interval(finished):
    _, run, artifacts = finished
    again = ragsweep.evaluate(artifacts / "results/ranking.trec", artifacts / "results/qrels.trec", k=25)
    assert again.means == {name: run.data.metrics[name] for name in again.means}
    table = pd.read_csv(artifacts / "results/summary_statistics.csv", index_col="metric")
    for name in METRICS:
        logged = [run.data.metrics[f"ci/{name}_{bound}"] for bound in ("low", "high")]
        assert again.summary.loc[name, ["ci_low", "ci_high"]].tolist() == logged
        assert table.loc[name, ["ci_low", "ci_high"]].tolist() == pytest.approx(logged, abs=1e-15)


def test_the_logged_configuration_is_resolved_and_names_no_path_of_this_machine(finished):
    _, _, artifacts = finished
    text = (artifacts / "config/config.yaml").read_text()
    config = yaml.safe_load(text)
    assert config["retriever"]["alpha"] == 0.5
    assert config["dataset"]["documents"] == "data/cho_manual/documents"
    assert {*re.findall(r"\$\{.*?\}", text)} <= {f"${{{name}}}" for name in config}  # groups of its own


def without_timings(facts):
    kept = {name: about for name, about in facts["measures"].items() if not name.startswith("latency/")}
    return {**facts, "measures": kept}


def test_the_same_run_without_the_store_gives_the_same_numbers(application, dataset):
    for without in ([], ["store.enabled=false"]):
        given = [*dataset, "retriever.alpha=0.5", "encoder=wordllama", "k=3", *without]
        assert application.run(*given).returncode == 0
    run, again = application.runs()
    timeless = {name for name in run.data.metrics if not name.startswith("latency/")}
    assert {name: again.data.metrics[name] for name in timeless} == {name: run.data.metrics[name] for name in timeless}
    assert again.data.tags["config.digest"] == run.data.tags["config.digest"]
    facts = [json.loads((application.artifacts(each) / "results/evaluation.json").read_text()) for each in (run, again)]
    assert without_timings(facts[0]) == without_timings(facts[1])
    results = [application.artifacts(each) / "results" for each in (run, again)]
    tables = [pd.read_csv(folder / "per_query.csv", dtype=str).drop(columns="time_ms") for folder in results]
    assert tables[0].equals(tables[1])
    assert len({(folder / "ranking.trec").read_bytes() for folder in results}) == 1


def test_a_run_logs_how_much_of_the_exact_ranking_its_index_found(application):
    assert application.run("retriever=dense", "index=ivf_pq", "index.search.nprobe=1").returncode == 0
    assert application.run("retriever=dense").returncode == 0
    codes, exact = application.runs()
    assert 0 < codes.data.metrics["index/recall"] < 0.9
    assert "index/recall" not in exact.data.metrics
    assert (codes.data.params["index"], exact.data.params["index"]) == ("FaissIndex", "ExactIndex")
