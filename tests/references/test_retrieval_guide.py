"""The guide to evaluating retrieval: alpha x K, six metrics, and the files, tables and charts that come of it.

One real sweep, by the line that the project is presented with, from another folder; what it wrote is read as a user
reads it. Numbers are computed anew by slow loops over the texts and over the files.
"""

import json
import math
import re
from itertools import product

import numpy as np
import pandas as pd
import pytest
import small
from application import PROJECT, succeeded
from rank_bm25 import BM25Okapi
from warm import CHARTS

ALPHAS, CUTOFFS = [0, 0.3, 0.5, 0.7, 1], [3, 5, 10]
LINE = ["-m", "retriever.alpha=0,0.3,0.5,0.7,1", "k=3,5,10"]
METRICS = ["precision", "recall", "f1", "mrr", "hit_rate", "ndcg", "map"]
PAGES = [(f"{name}#{number}", text) for name, texts in small.PAGES.items() for number, text in enumerate(texts, 1)]
QUERIES = [
    *small.QUERIES,
    ("My boy is burning up, what do I give?", ["fever.pdf#1"], "procedural"),
    ("Who bleeds and has belly pain?", ["fever.pdf#4", "fever.pdf#1"], "diagnostic"),
    ("What is taken with lemon water?", ["anaemia.pdf#2"], "factual"),
    ("Why are children pale?", ["anaemia.pdf#3", "anaemia.pdf#1"], "conceptual"),
    ("Which illness needs a whole course of tablets?", ["fever.pdf#2"], "factual"),
    ("How is a low haemoglobin treated?", ["anaemia.pdf#1", "anaemia.pdf#2"], "procedural"),
    ("Is a mosquito to blame?", ["fever.pdf#4", "fever.pdf#2"], "conceptual"),
]
SPREAD = ["mean", "std", "min", "25%", "50%", "75%", "max"]
COSTS = ["context/tokens", "latency/mean_ms", "latency/p95_ms", "index/bytes"]


@pytest.fixture(scope="module")
def questions(tmp_path_factory):
    """The overrides that select the small documents with twelve questions of four types."""
    folder = tmp_path_factory.mktemp("guide")
    arguments = small.arguments(folder)
    small.write_queries(folder / "questions.json", QUERIES)
    return arguments


@pytest.fixture(scope="module")
def sweep(shared_application, questions):
    """The sweep of the card's line, with another folder as the current one and an encoder that loads quickly."""
    given = shared_application.arguments(*LINE, *questions, "encoder=wordllama")
    succeeded(shared_application.script_here("run", *given, **CHARTS))
    return shared_application


@pytest.fixture(scope="module")
def summary(sweep):
    """The folder of the sweep's own files."""
    [parent] = sweep.parents()
    return sweep.artifacts(parent)


@pytest.fixture(scope="module")
def runs(sweep):
    """The files of each run, by alpha and k."""
    return {
        (float(run.data.params["retriever.alpha"]), int(run.data.params["k"])): sweep.artifacts(run)
        for run in sweep.children()
    }


def rows_of(path):
    return pd.read_csv(path, keep_default_na=False)


def measured_by_hand(retrieved, relevant, k):
    """The metrics of one query by the guide's definitions; a page that is retrieved twice earns credit once."""
    hits = [page in relevant and page not in retrieved[:at] for at, page in enumerate(retrieved[:k])]
    precision, recall = sum(hits) / k, sum(hits) / len(relevant)
    ranks = [rank for rank, hit in enumerate(hits, 1) if hit]
    ideal = sum(1 / math.log2(rank + 1) for rank in range(1, min(len(relevant), k) + 1))
    return {
        "precision": precision,
        "recall": recall,
        "f1": 2 * precision * recall / (precision + recall) if ranks else 0,
        "mrr": 1 / ranks[0] if ranks else 0,
        "hit_rate": float(bool(ranks)),
        "ndcg": sum(1 / math.log2(rank + 1) for rank in ranks) / ideal,
        "map": sum(sum(hits[:rank]) / rank for rank in ranks) / len(relevant),
    }


def test_the_line_of_the_card_makes_a_run_of_each_alpha_and_k_and_a_row_of_each_with_each_query(runs, summary):
    assert f"python run.py {' '.join(LINE)}" in (PROJECT / "README.md").read_text()
    assert sorted(runs) == sorted(product(ALPHAS, CUTOFFS))
    [path] = (summary / "results").glob("evaluation_results_*.csv")
    assert re.fullmatch(r"evaluation_results_\d{8}_\d{6}\.csv", path.name)
    rows = rows_of(path)
    assert len(rows) == len(ALPHAS) * len(CUTOFFS) * len(QUERIES)
    assert {"name", "query", "query_type", "retrieved", "relevant", *METRICS} <= {*rows.columns}
    assert {*zip(rows["retriever.alpha"], rows["k"], strict=True)} == {*product(ALPHAS, CUTOFFS)}


def test_every_metric_of_every_query_is_that_of_the_guides_definitions(runs):
    asked = [(text, query_type, {*pages}) for text, pages, query_type in QUERIES]
    for (_, k), folder in runs.items():
        rows = rows_of(folder / "results/per_query.csv")
        relevant = rows["relevant"].str.split("; ").map(set)
        assert [*zip(rows["query"], rows["query_type"], relevant, strict=True)] == asked
        for row in rows.to_dict("records"):
            expected = measured_by_hand(row["retrieved"].split("; "), row["relevant"].split("; "), k)
            assert {name: row[name] for name in METRICS} == pytest.approx(expected, abs=1e-12)
        assert (rows["time_ms"] > 0).all()
        assert rows["mean_score"].between(0, 100).all()


def scores_of(folder):
    """The scores of a run by query and page."""
    rows = [line.split() for line in (folder / "results/ranking.trec").read_text().splitlines()]
    return {(query, page): float(score) for query, _, page, _, score, _ in rows}


def test_alpha_0_is_bm25_and_a_score_between_weighs_the_dense_and_the_sparse_one_each_from_0_to_1(runs):
    words = [re.findall(r"\w+", text.lower()) for _, text in PAGES if text]
    bm25 = BM25Okapi(words, k1=1.5, b=0.75)
    names = [page for page, text in PAGES if text]
    expected = {}
    for number, (query, _, _) in enumerate(QUERIES, 1):
        scores = bm25.get_scores(re.findall(r"\w+", query.lower()))
        expected |= {(str(number), page): score for page, score in zip(names, scores, strict=True) if score > 0}
    assert scores_of(runs[0, 3]) == pytest.approx(expected, rel=1e-6)
    dense, sparse, hybrid = (scores_of(runs[alpha, 3]) for alpha in (1, 0, 0.7))
    for number in map(str, range(1, len(QUERIES) + 1)):
        parts = [{page: score for (query, page), score in part.items() if query == number} for part in (dense, sparse)]
        of_dense, of_sparse = (scaled(part) if part else {} for part in parts)
        expected = {
            (number, page): 0.7 * of_dense.get(page, 0) + 0.3 * of_sparse.get(page, 0)
            for page in {*of_dense, *of_sparse}
        }
        fused = {key: score for key, score in hybrid.items() if key[0] == number}
        assert fused == pytest.approx(expected, abs=1e-6)


def scaled(scores):
    low, high = min(scores.values()), max(scores.values())
    return {page: (score - low) / (high - low) if high > low else 1.0 for page, score in scores.items()}


def test_statistics_of_a_run_and_of_the_sweep_are_those_of_the_queries(runs, summary):
    for folder in runs.values():
        statistics = pd.read_csv(folder / "results/summary_statistics.csv", index_col="metric")
        expected = pd.read_csv(folder / "results/per_query.csv")[METRICS].describe().loc[SPREAD].T
        of_metrics = statistics.loc[METRICS, SPREAD]
        pd.testing.assert_frame_equal(of_metrics, expected, check_names=False, rtol=1e-9, atol=1e-12)
        assert {*COSTS} <= {*statistics.index}
    [path] = (summary / "results").glob("evaluation_results_*.csv")
    by_configuration = pd.read_csv(path).groupby("name")
    statistics = pd.read_csv(summary / "results/summary_statistics.csv", index_col="name")
    assert len(statistics) == len(ALPHAS) * len(CUTOFFS)
    for metric in METRICS:
        expected = by_configuration[metric].describe().loc[statistics.index]
        names = [metric, *(f"{metric}_{name}" for name in SPREAD if name != "mean")]
        of_metric = statistics[names].set_axis(SPREAD, axis=1)
        pd.testing.assert_frame_equal(of_metric, expected[SPREAD], check_names=False, rtol=1e-9, atol=1e-12)
    assert (statistics[COSTS] > 0).all(axis=None)


def test_times_types_of_queries_and_curves_of_a_run_are_in_its_files_and_in_mlflow(sweep):
    for run in sweep.children():
        folder = sweep.artifacts(run)
        sample = json.loads((folder / "results/evaluation.json").read_text())["measures"]["latency/mean_ms"]["sample"]
        row = pd.read_csv(folder / "results/summary_statistics.csv", index_col="metric").loc["latency/mean_ms"]
        assert (row["mean"], row["std"]) == pytest.approx((np.mean(sample), np.std(sample, ddof=1)))
        assert run.data.metrics["latency/mean_ms"] == pytest.approx(np.mean(sample))
        assert run.data.metrics["latency/p95_ms"] == pytest.approx(np.percentile(sample, 95))
        by_type = pd.read_csv(folder / "results/by_query_type.csv", index_col="query_type")
        queries = pd.read_csv(folder / "results/per_query.csv").groupby("query_type")
        pd.testing.assert_frame_equal(by_type[METRICS], queries[METRICS].mean(), check_names=False)
        assert by_type["queries"].to_dict() == queries.size().to_dict()
        logged = {name: value for name, value in run.data.metrics.items() if name.startswith("by_type/")}
        expected = by_type[["ndcg", "f1"]].stack()
        assert logged == pytest.approx({f"by_type/{kind}/{name}": value for (kind, name), value in expected.items()})
    for name in METRICS:
        curve = sweep.client().get_metric_history(run.info.run_id, f"at_k/{name}")
        assert sorted(point.step for point in curve) == [*range(1, 21)]


CHART_NAMES = "1_retrieval_methods_comparison 2_alpha_sensitivity 3_topk_analysis 4_comprehensive_comparison"


def test_the_five_charts_have_their_names_and_a_ranking_of_all_configurations_names_the_best(sweep, summary):
    for name in [*CHART_NAMES.split(), "5_radar_chart"]:
        assert (summary / "charts" / f"{name}.png").read_bytes().startswith(b"\x89PNG\r\n")
    decision = json.loads((summary / "decision.json").read_text())
    assert isinstance(decision["headline"], list)
    assert [choice["choice"]["settings"]["k"] for choice in decision["choices"]] == CUTOFFS
    assert "not_shipped" in decision
    ranks = sorted(int(run.data.tags["decision.rank"]) for run in sweep.children() if "decision.rank" in run.data.tags)
    assert ranks[0] == 1


def test_a_routed_query_says_which_type_was_predicted_how_surely_and_what_ranked_it(sweep, questions):
    routed = ["retriever=routed", "retriever.folds=2", "retriever.least=1", "encoder=wordllama"]
    succeeded(sweep.script_here("run", *routed, *questions, "tracking.experiment=routed"))
    [*_, run] = sweep.runs()
    rows = pd.read_csv(sweep.artifacts(run) / "results/per_query.csv")
    assert {*rows["type_predicted"]} <= {query_type for _, _, query_type in QUERIES}
    assert rows["type_confidence"].between(0, 1).all()
    assert {*rows["route"]} <= {"dense", "sparse", "hybrid"}


def refused_but_with(application, given, named, setting):
    """The run of these settings, which are refused by a name without another setting."""
    refused = application.script_here("run", *given, "retriever=sparse")
    assert refused.returncode == 2
    assert named in refused.stderr
    assert application.runs() == []
    succeeded(application.script_here("run", *given, "retriever=sparse", setting))
    [run] = application.runs()
    return run


def test_a_page_that_no_document_has_is_refused_by_name_or_counts_as_missed(application, tmp_path):
    arguments = small.arguments(tmp_path)
    queries = [("What else clears worms?", ["anaemia.pdf#3", "anaemia.pdf#9"]), ("Which test?", ["fever.pdf#7"])]
    small.write_queries(tmp_path / "questions.json", [*small.QUERIES, *((*query, "factual") for query in queries)])
    run = refused_but_with(application, arguments, "fever.pdf#7", "dataset.on_error=keep")
    rows = pd.read_csv(application.artifacts(run) / "results/per_query.csv", index_col="query")
    assert len(rows) == len(small.QUERIES) + 2
    assert rows.loc["What else clears worms?", "recall"] == 0.5
    assert rows.loc["Which test?", "recall"] == 0
    coverage = {name: run.data.metrics[f"coverage/{name}"] for name in ("expected", "present", "missing")}
    assert coverage == {"expected": 7, "present": 5, "missing": 2}


def test_a_bare_page_number_may_mean_that_page_of_any_document(application, tmp_path):
    arguments = small.arguments(tmp_path)
    small.write_queries(tmp_path / "questions.json", [("What clears worms?", ["3"], "factual")])
    setting = "dataset.match=page_number"
    assert refused_but_with(application, [*arguments, "k=1"], setting, setting).data.metrics["hit_rate"] == 1
