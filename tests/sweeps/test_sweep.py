"""The runs of a sweep in one table, what they are called, and which charts a sweep gets."""

import re
from dataclasses import replace
from itertools import product

import pandas as pd
import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from outcomes import SETTINGS, alpha_k, decided, grid, of_scores, outcome

from ragsweep.app.job import name_and_settings
from ragsweep.core.style import shown_apart
from ragsweep.report import Origin, write_sweep
from ragsweep.report.decision_record import as_record
from ragsweep.report.decision_rows import summary_of
from ragsweep.report.report_charts import report_charts
from ragsweep.report.sweep_charts import reference_charts
from ragsweep.sweeps import DecisionSettings, Sweep, decide, side_by_side, with_own_columns
from ragsweep.sweeps.configuration_names import short_values
from ragsweep.tracking.decision_tags import answer_of

pytestmark = pytest.mark.usefixtures("drawing")
BOTH = "4_comprehensive_comparison.png best_against_baseline.svg by_cutoff.svg"  # of sweeps at one k
CHUNKER = {"method": {"chosen_by": ["chunker"]}}


def charts(sweep):
    decision = decide(sweep)
    return " ".join(sorted(name for name, _ in (*report_charts(decision), *reference_charts(decision))))


def test_a_grid_has_its_order_its_ties_its_methods_from_sparse_to_dense_and_its_baseline():
    best = ["alpha=1 k=3", "alpha=1 k=5"]
    names = [best[0], "alpha=0.5 k=3", "alpha=0 k=3", best[1], "alpha=0.5 k=5", "alpha=0 k=5"]
    assert list(grid().table["name"]) == names  # of each cutoff the best first
    decision = decide(grid())
    table = summary_of(decision).set_index("name")
    assert [*table.index[table["tied_with_best"]]] == best  # constant differences are significant
    assert table.loc[best, "win_frequency"].tolist() == [1, 1]
    assert table.loc["alpha=0 k=5", "f1_minus_best"] == pytest.approx(-0.1)  # the best at the same k
    assert list(decision.methods["method"]) == ["pure sparse, alpha 0", "hybrid, alpha 0.5", "pure dense, alpha 1"]
    level = decision.choices[3].allowed
    assert level.outcomes[level.standings.baseline.reference].name == "alpha=0 k=3"


def test_a_swept_setting_that_has_the_name_of_a_column_is_beside_it():
    for name in ("f1", "f1_50%", "f1_minus_best", "name", "query", "win_frequency"):
        plain = [outcome(f"run {value}", value, {"b": value}) for value in (0.3, 0.5)]
        swept = [outcome(f"run {value}", value, {name: value, f"params.{name}": 1}) for value in (0.3, 0.5)]
        decisions = [decide(Sweep(with_own_columns(runs), {}, SETTINGS)) for runs in (plain, swept)]
        own = f"params.params.{name}"
        tables = [(summary_of(decision), decision.sweep.per_query) for decision in decisions]
        for expected, table in zip(*tables, strict=True):
            assert table[own].tolist() == expected["b"].tolist()
            assert set(table[f"params.{name}"]) == {1}
            pd.testing.assert_frame_equal(table.drop(columns=[own, f"params.{name}"]), expected.drop(columns="b"))


NAMED = {"Sparse": "0", "Balanced": "0.5", "Dense": "1"}
AXES = [  # what was swept, the values of alpha, and the axes
    ([{"configuration": name} for name in NAMED], [*NAMED.values()], {"retriever.alpha": [0, 0.5, 1]}),
    (
        [{"configuration": name, "k": k} for name in ("Sparse", "Dense") for k in (3, 5)],
        ["0", "0", "1", "1"],
        {"retriever.alpha": [0, 1], "k": [3, 5]},
    ),
    ([{"chunker.size": size} for size in (800, 300, 500)], ["0.5"] * 3, {"chunker.size": [300, 500, 800]}),
    ([{"retriever.candidates": c} for c in (100, None, 20)], ["1"] * 3, {"retriever.candidates": [100, "null", 20]}),
]


def test_an_axis_is_what_differs_and_means_that_differ_by_rounding_are_equal():
    for swept, alphas, axes in AXES:
        points = zip(swept, alphas, strict=True)
        runs = [outcome(f"{values}", 0.3, values, **{"retriever.alpha": alpha}) for values, alpha in points]
        assert Sweep(runs, {}).axes == axes
    one, other = alpha_k(0.5, 3, 0.4), alpha_k(0.7, 3, 0.4)
    other = replace(other, per_query=other.per_query.assign(f1=other.per_query["f1"] + 1e-16))
    sweep = Sweep([one, other], {})
    assert sweep.table["outcome"].iloc[0] == sweep.standings.best == sweep.best == 0  # the first, by the metric of runs


def over(**settings):
    """Runs of every combination of these values, better from one to the next."""
    points = [dict(zip(settings, values, strict=True)) for values in product(*settings.values())]
    names = {"k": "k", "size": "chunker.size", "encoder": "encoder.model", "retriever": "retriever"}
    return [
        outcome(f"{point}", rank / 20, {names[name]: value for name, value in point.items()}, k=str(point.get("k", 5)))
        for rank, point in enumerate(points, 1)
    ]


@pytest.mark.usefixtures("long_work")
def test_a_sweep_has_the_charts_of_what_was_swept_and_no_others():
    alphas = [alpha_k(alpha, 5, 0.4) for alpha in (0, 0.5, 1)]
    theirs = [
        outcome(f"alpha={word}", 0.3, {"retriever.alpha": word}, retriever="Theirs", **{"retriever.alpha": word})
        for word in ("auto", "none")
    ]
    with_alpha = [alpha_k(alpha, k, 0.4) for alpha in (0.5, 0.7) for k in (3, 5)]
    single = [replace(run, per_query=run.per_query.head(1)) for run in (alpha_k(0, 3, 0.2), alpha_k(1, 3, 0.4))]
    equal = [replace(run, per_query=run.per_query.assign(recall=0.2)) for run in alphas]  # 0.2 is no double
    without_intervals = [replace(run, facts=replace(run.facts, at_k_ci={})) for run in grid().outcomes]
    cases = [
        ("best_against_baseline.svg", single),
        ("best_against_baseline.svg", [alpha_k(0, 3, 0.5), alpha_k(1, 3, 0.4)]),  # sparse is best: with the runner-up
        ("heat_map.svg", over(size=(300, 500), encoder=("mini", "e5"), k=(3, 5))),  # of the two besides k
        ("2_alpha_sensitivity.png", [*over(retriever=("sparse",), k=(3, 5)), *with_alpha]),
        ("2_alpha_sensitivity.png", theirs),
        ("1_retrieval_methods_comparison.png", equal),
        ("by_cutoff.svg", without_intervals),
    ]
    assert [name for name, runs in cases if name not in charts(Sweep(runs, {}, SETTINGS)).split()] == []
    four = "1_retrieval_methods_comparison.png 2_alpha_sensitivity.png 3_topk_analysis.png 5_radar_chart.png"
    exactly = [
        (f"{four} {BOTH} cost_fronts.svg one_setting.svg", grid().outcomes),
        ("3_topk_analysis.png by_cutoff.svg", [alpha_k(0.7, k, 0.3) for k in (3, 5, 7)]),
        (f"{BOTH} one_setting.svg", [outcome(f"{size}", 0.3, {"chunker.size": size}) for size in (800, 300, 500)]),
        ("by_cutoff.svg", [alpha_k(0.7, 5, 0.3)]),
    ]
    expected = [" ".join(sorted(names.split())) for names, _ in exactly]
    assert [charts(Sweep(runs, {}, SETTINGS)) for _, runs in exactly] == expected
    drawing = dict(report_charts(decide(Sweep(over(size=(300, 500)), {}, SETTINGS))))["by_cutoff.svg"]
    assert [text.get_text() for text in drawing.axes[0].get_legend().get_texts()] == ["size 300", "size 500"]


@pytest.mark.parametrize("best", ["dense", "mine", "hybrid"])
def test_an_arm_without_a_swept_setting_has_no_value_of_it(tmp_path, best):
    """Also dense, which stands for alpha 1, and where such an arm is the best: the others have their charts."""
    method = {"stands_for": {"retriever.alpha": 1.0} if best == "dense" else {}, "chosen_by": ["retriever"]}
    arm, place = {"retriever": "dense" if best == "dense" else "mine"}, 0.3 if best == "hybrid" else 0.8
    runs = []
    for k in (3, 5):
        of_arm = {"retriever": "Mine", "k": str(k), "facts": {"method": method}}
        runs.append(outcome(f"arm k={k}", place, {**arm, "k": k}, **of_arm))
        for alpha in (0, 0.5, 1):
            swept = {"retriever": "hybrid", "retriever.alpha": alpha, "k": k}
            runs.append(outcome(f"hybrid {alpha} {k}", 0.4 + alpha / 10, swept, k=str(k)))
    sweep = side_by_side(runs, settings=SETTINGS, baseline=None, damaged={}, as_swept=True)
    decision = decide(sweep)
    table = summary_of(decision).set_index("name")["retriever.alpha"]
    assert table[["arm k=3", "arm k=5"]].isna().all()
    assert sorted(table.dropna()) == [0, 0, 0.5, 0.5, 1, 1]
    assert decision.sweep.label(sweep.outcomes[0]) == f"retriever {arm['retriever']}"
    drawn = {"1_retrieval_methods_comparison.png", "2_alpha_sensitivity.png", "3_topk_analysis.png", "heat_map.svg"}
    assert drawn <= {*charts(sweep).split()}
    assert ("best.retriever.alpha" in answer_of(decision).tags) == (best == "hybrid")
    write_sweep(tmp_path, decision, Origin("ragsweep", "", "", "20250101_000000", {}))
    for file in tmp_path.rglob("*.*"):
        if file.suffix in (".csv", ".md", ".html", ".json", ".svg"):
            assert not re.search(r"\b(nan|None)\b", file.read_text()), file


def test_the_best_may_lack_a_setting_that_others_have_and_no_run_is_excluded_for_that():
    """Cut by pages, there is no size: the other cuts are shown all the same, at their best size."""
    runs = []
    for k in (3, 5):
        runs.append(outcome(f"page {k}", 0.8, {"chunker": "page", "k": k}, k=str(k), facts=CHUNKER))
        for size in (300, 600):
            swept = {"chunker": "recursive", "chunker.size": size, "k": k}
            runs.append(outcome(f"{size} {k}", size / 1000, swept, k=str(k), facts=CHUNKER))
    decision = decided(*runs)
    assert list(decision.methods["name"]) == ["page 3", "600 3"]
    assert decision.fixed_settings("k") == "; at chunker=page"
    assert "heat_map.svg" in charts(decision.sweep)
    sparse = outcome("sparse", 0.2, {"retriever": "sparse"}, retriever="SparseRetriever")
    hybrid = [
        outcome(f"{model}", f1, {"retriever": "hybrid", "encoder.model": model}, **{"retriever.alpha": "0.5"})
        for model, f1 in (("mini", 0.3), ("e5", 0.4))
    ]
    sweep = Sweep([sparse, *hybrid], {})
    assert sweep.outcomes[sweep.standings.baseline.reference].name == "sparse"
    assert list(decide(sweep).methods["method"]) == ["sparse", "hybrid, alpha 0.5"]
    assert "1_retrieval_methods_comparison" in charts(sweep)


SHOWN = [  # values, and what is shown of them
    (["/data/runs/bm25.trec", "/data/runs/splade.trec"], ["bm25.trec", "splade.trec"]),
    (["out/gpt/answers.jsonl", "out/llama/answers.jsonl"], ["gpt/answers.jsonl", "llama/answers.jsonl"]),
    (["/a/gpt/v1/x.csv", "/a/llama/v1/x.csv", "/a/y.csv"], ["gpt/v1/x.csv", "llama/v1/x.csv", "y.csv"]),
    (["a.jsonl", "old/a.jsonl"], ["a.jsonl", "old/a.jsonl"]),
    (["/trec8/input.acsys", "/trec8/CL99SD"], ["input.acsys", "CL99SD"]),  # many runs of TREC have no ending
    (["BAAI/bge-small-en", "intfloat/e5-small"], ["BAAI/bge-small-en", "intfloat/e5-small"]),
    (["BAAI/bge-small-en-v1.5", "intfloat/e5-small"], ["BAAI/bge-small-en-v1.5", "intfloat/e5-small"]),
    (["/models/e5/", "/models/bge/"], ["e5", "bge"]),
    (["/a/e5/", "/b/e5/", "//", "/"], ["a/e5", "b/e5", "//", "/"]),
    (["http://host/m.gguf", "{a: b/c.txt}", 0.5, None], ["http://host/m.gguf", "{a: b/c.txt}", "0.5", "null"]),
]


def test_names_are_shortened_as_far_as_they_differ():
    files = [f"search_service_v{n}_with_reranking_and_expansion.trec" for n in (1, 2, 12)]
    assert shown_apart(files, 20) == ["...v1...", "...v2...", "...v12..."]
    assert shown_apart(["dense", "sparse"], 20) == ["dense", "sparse"]
    backends = {"encoder.backend": "torch", "retriever.sparse.backend": "bm25s"}
    runs = [outcome("a", 0.3, backends), outcome("b", 0.4, dict.fromkeys(backends, "other"))]
    sweep = Sweep(runs, {})
    assert [sweep.short(name) for name in sweep.axes] == ["encoder.backend", "retriever.sparse.backend"]
    shown = [[*short_values([*values, *values]).values()] for values, _ in SHOWN]
    assert shown == [expected for _, expected in SHOWN]


def test_runs_on_other_data_or_evaluations_are_not_compared():
    about = {name: {"name": "manual", "digest": name, "unit": "page"} for name in "xy"}
    runs = [outcome(name, 0.2, {}, facts={"dataset": about[name]}.items()) for name in "xyx"]
    assert [[run.name for run in part.outcomes] for part in Sweep(runs, {}).by_dataset] == [["x", "x"], ["y"]]
    whole, gain = outcome("whole", 0.2, {}), outcome("gain", 0.2, {}, **{"evaluation.gain": "exponential"})
    half = replace(whole, per_query=whole.per_query.head(10))
    assert len(Sweep([whole, half, gain], {}).by_dataset) == 3
    few, many = outcome("whole", 0.2, {}, **{"evaluation.resamples": "2"}), whole
    assert Sweep([few], {}).table["f1_low"].iloc[0] != Sweep([many], {}).table["f1_low"].iloc[0]


def test_runs_side_by_side_are_named_by_fingerprints_only_if_nothing_else_tells_them_apart():
    def compared(runs, **more):
        return side_by_side(runs, settings=SETTINGS, baseline=None, damaged={}, **more)

    def names(sweep):
        return [run.name for run in sweep.outcomes]

    runs = [of_scores(name, [0.1, 0.2], {}, **{"encoder.fingerprint": name * 64}) for name in "ab"]
    named = [replace(run, settings={**run.settings, "encoder.model": f"model {run.name}"}) for run in runs]
    assert names(compared(named)) == ["model=model a", "model=model b"]
    assert names(compared(runs)) == [f"fingerprint={letter * 64}" for letter in "ab"]
    runs = [of_scores(f"strategy={name}", [0.1, 0.2], {"strategy": name}, retriever=name.title()) for name in "ab"]
    kept = compared(runs, as_swept=True)  # those of one sweep keep what it calls them
    assert (names(kept), kept.axes) == (["strategy=a", "strategy=b"], {"strategy": ["a", "b"]})
    assert compared(runs).axes == {"retriever": ["A", "B"]}


TYPED = {  # an override, and what a name shows of it
    "retriever.call=my_app:search": "call=my_app:search",
    "retriever.call='a:b, c'": "call='a:b, c'",
    "retriever.settings.where=a b": "where=a b",
    "retriever.url=http://127.0.0.1:8000/search": "url=http://127.0.0.1:8000/search",
}


def test_the_name_of_a_job_has_the_file_or_what_was_typed_and_its_record_the_value():
    parse = OverridesParser.create().parse_overrides
    parsed = parse(["retriever=run_file", "retriever.path=/d/long/way/two/bm25.trec", "k=5"])
    path = {"retriever.path": "/d/long/way/two/bm25.trec", "k": 5}
    assert name_and_settings(parsed, ["retriever.path", "k"]) == ("path=bm25.trec k=5", path)
    for typed, shown in TYPED.items():
        settings = {typed.partition("=")[0]: shown.partition("=")[2]}
        assert name_and_settings(parse([typed]), []) == (shown, settings)


def test_tables_and_records_keep_whole_values_whatever_of_them_is_shown():
    """The override's name is not that of a used setting: a group takes the value to its own place."""
    values = ["/runs/one/a.trec", "/runs/two/a.trec", "BAAI/bge-small-en-v1.5"]
    runs = [of_scores(f"run {at}", [0.1 * at] * 20, {"mine": value}) for at, value in enumerate(values)]
    twice = with_own_columns(with_own_columns(runs))  # runs of one sweep, then side by side
    decision = decide(Sweep(twice, {}, DecisionSettings("f1")))
    shown = ["mine one/a.trec", "mine two/a.trec", f"mine {values[2]}"]
    assert [decision.sweep.label(run) for run in twice] == shown
    assert {*summary_of(decision)["mine"]} == {*decision.sweep.per_query["mine"]} == {*values}
    choices = [as_record(decide(Sweep([run], {}, DecisionSettings("f1"))), "")["choice"] for run in twice]
    assert [choice["settings"]["mine"] for choice in choices] == values
    paths = ["/home/me/a/very/long/way/to/gpt/answers.jsonl", "/home/me/a/very/long/way/to/llama/answers.jsonl"]
    method = {"name": "answers.jsonl", "is_baseline": False, "vary": "", "stands_for": {}, "chosen_by": ["retriever"]}
    runs = []
    for mean, path in zip((0.3, 0.6), paths, strict=True):
        swept, settings = {"retriever.path": path}, {"retriever": "RunFileRetriever", "retriever.path": path}
        runs.append(of_scores("run", [mean, mean + 0.1] * 10, swept, facts={"method": method}, **settings))
    decision = decide(side_by_side(runs, settings=DecisionSettings("f1"), baseline=None, damaged={}))
    assert [outcome.name for outcome in decision.sweep.outcomes] == [
        "path=gpt/answers.jsonl",
        "path=llama/answers.jsonl",
    ]
    assert decision.sweep.label(decision.named) == "path llama/answers.jsonl"
    assert {*decision.sweep.table["method"]} == {"gpt/answers.jsonl", "llama/answers.jsonl"}
    assert as_record(decision, "")["choice"]["settings"] == {"retriever.path": paths[1]}
