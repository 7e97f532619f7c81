"""Runs side by side: which is best, and which charts a sweep has the data for."""

import numpy as np
import pandas as pd
import pytest

from ragsweep.report import Outcome, Sweep, terminal_table
from ragsweep.report.sweep_charts import draw
from ragsweep.report.text import markdown

MEASURED = {"dataset.name": "manual", "evaluation.resamples": "1000", "seed": "0"}
GRID = "1_retrieval_methods_comparison 2_alpha_sensitivity 3_topk_analysis 4_comprehensive_comparison 5_radar_chart"


def outcome(name, f1, swept, **settings):
    """A run whose 20 queries have F1 values around `f1`."""
    values = np.clip(f1 + np.linspace(-0.1, 0.1, 20), 0, 1)
    table = pd.DataFrame({"query_id": range(20), "query": "?", "query_type": "x", "f1": values, "recall": values})
    return Outcome(name, swept, {"k": "5", "retriever": "HybridRetriever", **MEASURED, **settings}, table)


def alpha_k(alpha, k, f1):
    settings = {"retriever.alpha": str(alpha), "k": str(k)}
    return outcome(f"alpha={alpha} k={k}", f1, {"retriever.alpha": alpha, "k": k}, **settings)


def grid():
    return Sweep([alpha_k(alpha, k, 0.3 + alpha / 10 - k / 100) for alpha in (0, 0.5, 1) for k in (3, 5)], {})


def charts(sweep):
    return " ".join(name.removesuffix(".png") for name, _ in draw(sweep))


def test_the_best_has_the_highest_mean_f1():
    assert grid().best["configuration"] == "alpha=1 k=3"


def test_of_equals_the_first_is_best():
    assert Sweep([alpha_k(0.5, 3, 0.4), alpha_k(0.7, 3, 0.4)], {}).best["configuration"] == "alpha=0.5 k=3"


def test_the_spread_is_that_of_scipy_and_pandas():
    sweep = grid()
    described = sweep.outcomes[0].per_query["f1"].describe()
    row = sweep.table.set_index("configuration").loc["alpha=0 k=3"]
    for word in ("std", "min", "25%", "50%", "75%", "max"):
        assert row[f"f1_{word}"] == pytest.approx(described[word])


def test_methods_are_ordered_from_sparse_to_dense():
    assert list(grid().methods["method"]) == ["pure sparse, alpha 0", "hybrid, alpha 0.5", "pure dense, alpha 1"]


def test_a_grid_of_alpha_and_k_has_every_chart():
    assert charts(grid()) == GRID


def test_a_sweep_over_k_alone_has_no_chart_of_alpha():
    sweep = Sweep([alpha_k(0.7, k, 0.3) for k in (3, 5, 7)], {})
    assert charts(sweep) == "3_topk_analysis 4_comprehensive_comparison"


def test_a_single_run_has_no_comparison():
    assert charts(Sweep([alpha_k(0.7, 5, 0.3)], {})) == ""


def test_other_swept_settings_are_held_at_the_best():
    sizes = [outcome(f"size={size}", f1, {"chunker.size": size}) for size, f1 in ((300, 0.2), (500, 0.4), (800, 0.3))]
    assert list(Sweep(sizes, {}).like_best("k")["configuration"]) == ["size=500"]


def test_the_terminal_table_has_a_line_a_configuration():
    assert len(terminal_table(grid()).splitlines()) == 1 + 6


def test_the_report_names_what_did_not_finish():
    report = markdown(Sweep([alpha_k(0, 3, 0.1)], {"alpha=1 k=3": "FAILED"}), "python run.py", [])
    assert "Did not finish: alpha=1 k=3 (FAILED)" in report


def test_numbers_of_different_datasets_are_not_compared():
    runs = [outcome(name, f1, {}, **{"dataset.path": name}) for name, f1 in (("x", 0.2), ("y", 0.8), ("x", 0.3))]
    assert [[run.name for run in part.outcomes] for part in Sweep(runs, {}).by_dataset] == [["x", "x"], ["y"]]


def test_the_intervals_are_those_of_the_runs_own_seed_and_resamples():
    few = Sweep([outcome("a", 0.3, {}, **{"evaluation.resamples": "2"})], {}).best
    many = Sweep([outcome("a", 0.3, {})], {}).best
    assert few["f1_low"] != many["f1_low"]
