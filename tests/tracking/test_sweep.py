"""What a sweep leaves behind, also when something goes wrong in it."""

import json
import os
import re
import signal
import time
from contextlib import suppress
from pathlib import Path
from textwrap import indent
from types import SimpleNamespace

import arguments
import pandas as pd
import pytest
from application import PROJECT, Application, error_lines, succeeded
from held import ENVIRONMENT, held_by
from warm import CHARTS

import ragsweep
from ragsweep.report.markup import markdown

OWN = """
import time
from dataclasses import dataclass

from ragsweep.retrieval import SparseRetriever


@dataclass(frozen=True)
class Own(SparseRetriever):
    def rank(self, search, depth):
{}
        return super().rank(search, depth)
"""
FAILS = """
if self.b > 0.5:
    raise MemoryError("no room for the index")
"""
SWALLOWS = """
try:
    print("at work", flush=True)
    time.sleep(60)
except BaseException:
    {}
"""


def own_retriever(folder, first):
    """The environment and the overrides for BM25 that does this first."""
    (folder / "own.py").write_text(OWN.format(indent(first, 8 * " ")))
    return {"PYTHONPATH": str(folder)}, ["retriever=sparse", "retriever._target_=own.Own"]


def recorded(application, parent):
    """The decision of a sweep, as programs read it."""
    return json.loads((application.artifacts(parent) / "decision.json").read_text())


def made_by_make():
    """The arguments of `make sweep`, the first command of the README."""
    [given] = re.findall(r"^sweep:.*\n\t\S+/python run\.py (.*)$", (PROJECT / "Makefile").read_text(), re.MULTILINE)
    return given.split()


def cells(line):
    return re.split(r"\s\s+", line)


@pytest.mark.release
def test_the_readme_shows_what_the_sweep_prints(application):
    """At the largest k: the choice, what is tied with it, and the means, but for the latency in the last column."""
    alphas = next(argument for argument in made_by_make() if "alpha" in argument)
    printed = [line for line in application.run("-m", alphas, "k=5,10").stdout.splitlines() if line.startswith("10 ")]
    shown = [line for line in (PROJECT / "README.md").read_text().splitlines() if line.startswith("10 ")]
    assert [cells(line)[:-1] for line in printed] == [cells(line)[:-1] for line in shown]
    assert cells(shown[0])[:4] == ["10", "alpha 0.5", "alpha 0.5 or 0.7", "0.694"]
    metrics = {run.info.run_name: run.data.metrics for run in application.children()}["alpha=0.5 k=10"]
    assert [round(metrics[name], 3) for name in ("ndcg", "ci/ndcg_low", "ci/ndcg_high")] == [0.694, 0.639, 0.749]


@pytest.fixture(scope="module")
def swept(shared_application):
    """What `make sweep` runs, but with a small model: what it has printed, its runs by name, its folder."""
    process = succeeded(shared_application.run(*made_by_make(), "encoder=wordllama", **CHARTS))
    assert error_lines(process.stderr) == []
    [parent] = shared_application.parents()
    runs = {run.info.run_name: run for run in shared_application.children()}
    folder = shared_application.artifacts(parent)
    return SimpleNamespace(
        stdout=process.stdout,
        parent=parent,
        runs=runs,
        at_5=[run for run in runs.values() if run.data.params["k"] == "5"],  # the middle cutoff
        folder=folder,
        page=(folder / "report.html").read_text(),
        table=pd.read_csv(folder / "results/summary_statistics.csv"),
        decision=recorded(shared_application, parent),
    )


def test_a_sweep_is_one_parent_and_one_finished_child_a_configuration_that_sort_by_what_was_swept(
    swept, shared_application
):
    client, condition = shared_application.client(), f"tags.`mlflow.parentRunId` = '{swept.parent.info.run_id}'"
    order = ["metrics.`swept/k` ASC", "metrics.`swept/retriever.alpha` DESC"]
    ordered = client.search_runs([swept.parent.info.experiment_id], condition, order_by=order)
    assert [run.info.run_name for run in ordered] == [
        f"alpha={alpha} k={k}" for k in (3, 5, 10) for alpha in ("1", "0.7", "0.5", "0.3", "0")
    ]
    assert len(swept.runs) == len(swept.decision["rows"]) == 15
    assert {run.info.status for run in [swept.parent, *swept.runs.values()]} == {"FINISHED"}
    assert swept.parent.data.params == {"retriever.alpha": "0,0.3,0.5,0.7,1", "k": "3,5,10"}
    assert not any("swept/" in name for name in swept.parent.data.metrics)


def test_the_parent_has_the_numbers_of_the_decision(swept):
    best = max(swept.at_5, key=lambda run: run.data.metrics["ndcg"])
    tags, metrics = swept.parent.data.tags, swept.parent.data.metrics
    assert (tags["best.configuration"], tags["best.k"]) == (best.info.run_name, "5")
    assert swept.parent.info.run_name == "alpha x k: alpha 0.7"
    measured = {name: value for name, value in best.data.metrics.items() if f"best/{name}" in metrics}
    assert {name: metrics[f"best/{name}"] for name in measured} == pytest.approx(measured)
    assert {"ndcg", "recall", "context/tokens", "latency/mean_ms", "index/bytes"} <= measured.keys()
    assert metrics["configurations"] == swept.decision["configurations"] == 5  # k is no configuration
    expected, low, value, high = (float(tags[f"best.{name}"]) for name in ("expected", "ndcg_low", "ndcg", "ndcg_high"))
    assert value == pytest.approx(best.data.metrics["ndcg"], abs=1e-6)
    assert expected < value
    assert low < value < high
    assert metrics["expected/ndcg"] == pytest.approx(expected, abs=1e-6)
    assert int(tags["best.tied"]) == swept.table[swept.table["k"] == 5]["tied_with_best"].sum() - 1


def test_each_child_says_what_was_decided_of_it(swept):
    """In the words that a filter finds, for each k: what is chosen, tied with the best, or worse."""
    verdicts = {name: run.data.tags["decision"] for name, run in swept.runs.items()}
    assert verdicts == {row["name"]: row["verdict"] for row in swept.decision["rows"]}
    expected = {f"alpha={alpha} k={k}": "worse" for alpha in ("0", "0.3", "1") for k in (3, 5, 10)}
    expected |= dict.fromkeys(("alpha=0.3 k=5", *(f"alpha=0.5 k={k}" for k in (3, 5, 10))), "tied")
    expected |= {"alpha=0.7 k=3": "chosen at k 3", "alpha=0.7 k=5": "chosen", "alpha=0.7 k=10": "chosen at k 10"}
    assert verdicts == expected
    by_value = sorted(swept.at_5, key=lambda run: -run.data.metrics["ndcg"])
    assert [run.data.tags["decision.rank"] for run in by_value] == ["1", "2", "3", "4", "5"]


def test_the_tables_are_those_of_the_runs_to_the_last_bit(swept, shared_application):
    table, ndcg = swept.table, {name: run.data.metrics["ndcg"] for name, run in swept.runs.items()}
    assert dict(zip(table["name"], table["ndcg"], strict=True)) == pytest.approx(ndcg)
    assert table["k"].is_monotonic_increasing
    assert all(rows["ndcg"].is_monotonic_decreasing for _, rows in table.groupby("k"))
    [path] = (swept.folder / "results").glob("evaluation_results_*.csv")
    name, run = next(iter(swept.runs.items()))
    own = shared_application.artifacts(run) / "results/per_query.csv"
    lines = [line.split(",", 1)[1] for line in path.read_text().splitlines() if line.startswith(f'"{name}",')]
    # behind the name stand the swept settings, then the run's own line
    assert [line.split(",", 2)[2] for line in lines] == own.read_text().splitlines()[1:]


def test_the_report_is_one_page_with_every_chart_and_the_description_of_the_parent_leads_to_it(swept):
    of_reference = {"1_retrieval_methods_comparison", "2_alpha_sensitivity", "3_topk_analysis"}
    of_reference |= {"4_comprehensive_comparison", "5_radar_chart"}
    of_report = {"best_against_baseline", "by_cutoff", "cost_fronts", "one_setting"}
    assert {path.stem for path in (swept.folder / "charts").iterdir()} == of_reference | of_report
    assert swept.page.count("data:image/svg+xml;base64,") == len(of_report)
    parent_id, run_id = swept.parent.info.run_id, swept.runs["alpha=0 k=3"].info.run_id
    assert swept.page.count(f'<a href="http://127.0.0.1:5000/#/experiments/1/runs/{run_id}?') == 1
    assert f"ragsweep reproduce {parent_id}" in swept.page
    assert any(f"ragsweep explain {run.info.run_id} " in swept.page for run in swept.runs.values())
    note = swept.parent.data.tags["mlflow.note.content"]
    _, _, links, *_, last = note.splitlines()
    assert links.startswith(f"[report.html](#/experiments/1/runs/{parent_id}/artifacts/report.html), ")
    assert f"viewStateShareKey=sweep-{parent_id})" in links
    cells = [cell.split("&")[0].strip() for cell in last.split("|")]
    assert cells[1:4] == ["10", "alpha 0.7", "0.667 \\[0.608, 0.725\\]"]
    assert {line.count("|") for line in note.splitlines() if line.startswith("|")} == {6}  # five columns


def test_one_source_says_what_to_ship(swept):
    """Terminal, report, descriptions and tags say the same as decision.json, and it is what was measured."""
    record, tags = swept.decision, swept.parent.data.tags
    for text in (swept.stdout, swept.page, tags["best.headline"]):
        assert all(sentence in text for sentence in record["headline"])
    assert tags["mlflow.note.content"].startswith(f"**{record['headline'][0]}**")
    assert record["not_shipped"] is None
    claims = {claim["name"]: claim["numbers"] for claim in record["claims"]}
    assert claims["choice"]["label"] == "alpha 0.7"
    assert claims["choice"]["value"] == pytest.approx(swept.runs["alpha=0.7 k=5"].data.metrics["ndcg"])
    for cutoff, recall, tokens in claims["bought"]["points"]:
        metrics = swept.runs[f"alpha=0.7 {cutoff.replace(' ', '=')}"].data.metrics
        assert [recall, tokens] == pytest.approx([metrics["recall"], metrics["context/tokens"]])
    assert len(claims["bought"]["points"]) == 3


def test_the_terminal_shows_progress_table_best_and_address(swept):
    lines = swept.stdout.splitlines()
    assert lines[0].startswith("1/15 alpha=0 k=3 ndcg=0.")
    assert lines[14].startswith("15/15 alpha=1 k=10 ndcg=0.")
    assert re.fullmatch(r"the sweep took (\d+ min )?\d+ s", lines[15])
    [head] = [place for place, line in enumerate(lines) if line.split()[:2] == ["k", "choice"]]
    assert [line.split()[0] for line in lines[head + 1 : head + 4]] == ["3", "5", "10"]
    [path] = re.fullmatch(rf"report: (\S+) \(sweep {swept.parent.info.run_id}\)", lines[-3]).groups()
    assert Path(path).read_text().startswith("<!doctype html>")
    assert lines[-1].startswith("http://127.0.0.1:5000/#/experiments/1/runs?workflowType=machine_learning")
    assert swept.parent.info.run_id in lines[-1]


def test_where_nothing_is_shipped_every_run_has_a_verdict_and_nothing_names_one_to_ship(application, dataset):
    """Five questions can show nothing of these chunks."""
    swept = ["chunker=recursive", "chunker.size=60,99", "retriever=sparse", "k=1,2"]
    process = succeeded(application.run("-m", *dataset, *swept))
    [parent] = application.parents()
    record, note = recorded(application, parent), parent.data.tags["mlflow.note.content"]
    verdicts = [run.data.tags["decision"] for run in application.children()]
    held_back = [verdict for verdict in verdicts if verdict.startswith("not shipped")]
    assert held_back == [f"not shipped: {record['not_shipped']}"] * 2  # one at each k
    assert parent.info.run_name == f"size x k: nothing to ship, {record['not_shipped']}"
    assert note.startswith(f"**{markdown(record['headline'][0])}**")
    for text in (note, process.stdout, *verdicts, *parent.data.tags.values()):
        assert not re.search(r"\bShip\b|chosen|\| choice", text)
    assert "measured best" in note
    assert (len(verdicts), parent.data.metrics["configurations"], record["configurations"]) == (4, 2, 2)


def test_of_jobs_of_one_name_none_hides_anothers_failure(application, dataset, tmp_path):
    environment, retriever = own_retriever(tmp_path, FAILS)
    sweep = ["-m", *dataset, *retriever, "retriever.b=0.50000000000001,0.5"]
    process = application.run(*sweep, **environment)
    [parent] = application.parents()
    folder = application.artifacts(parent)
    runs = {run.info.status: run for run in application.children()}
    assert (process.returncode, parent.info.status, {*runs}) == (1, "FAILED", {"FINISHED", "FAILED"})
    assert {run.info.run_name for run in runs.values()} == {"b=0.5"}
    assert "1/2 b=0.5 FAILED: MemoryError: no room for the index" in process.stderr
    assert "Error executing job" not in process.stderr  # as Hydra would say
    assert runs["FAILED"].data.tags["error"] == "MemoryError: no room for the index"
    traceback = (application.artifacts(runs["FAILED"]) / "error/traceback.txt").read_text()
    assert traceback.startswith("Traceback (most recent call last):")
    assert 'raise MemoryError("no room for the index")' in traceback
    lost = "b=0.5 (job 1) (FAILED)"
    assert [line for line in process.stderr.splitlines() if "did not" in line] == [f"did not finish: {lost}"]
    assert lost in (folder / "report.md").read_text()
    table = pd.read_csv(folder / "results/summary_statistics.csv")
    assert table["name"].tolist() == ["b=0.5 (job 2)"]
    own_retriever(tmp_path, "")
    mended = succeeded(application.run(*sweep, "tracking.resume=true", **environment))
    assert "finished before" not in mended.stdout  # the retriever is another one now
    measured = ragsweep.runs(sweep=application.parents()[-1].info.run_id, uri=application.uri)
    assert list(measured["name"]) == ["b=0.5 (job 1)", "b=0.5 (job 2)"]


def test_fail_fast_starts_no_job_after_a_failed_one_also_where_both_have_one_name(application, dataset, tmp_path):
    environment, retriever = own_retriever(tmp_path, FAILS)
    sweep = ["-m", *dataset, *retriever, "retriever.b=0.4,0.50000000000001,0.5", "tracking.fail_fast=true"]
    process = application.run(*sweep, **environment)
    assert process.returncode == 1
    assert [run.info.status for run in application.children()] == ["FINISHED", "FAILED"]
    assert "did not finish: b=0.5 (job 2) (FAILED)" in process.stderr
    assert "did not finish: b=0.5 (job 3) (NOT STARTED)" in process.stderr


def test_an_impatient_ctrl_c_leaves_one_line_and_no_running_run(application, dataset):
    file = application.home / "wait"
    file.touch()
    held = held_by(f"{application.home}/absent,{file}")  # the second of two jobs
    process = application.start("-m", *dataset, *held, **ENVIRONMENT)
    assert process.stdout.readline().startswith("1/2")
    while not any(run.info.status == "RUNNING" for run in application.children()):
        time.sleep(0.1)
    for _ in range(5):
        with suppress(ProcessLookupError):  # it has ended by now
            os.kill(process.pid, signal.SIGINT)
        time.sleep(0.02)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in out + err
    assert "interrupted" in err
    assert [run.info.status for run in application.children()] == ["FINISHED", "KILLED"]
    assert [run.info.status for run in application.parents()] == ["KILLED"]


@pytest.mark.parametrize(("sent", "then"), [(signal.SIGINT, "pass"), (signal.SIGTERM, "raise ImportError")])
def test_an_interruption_that_a_library_catches_ends_the_sweep_before_the_next_job(
    application, dataset, tmp_path, sent, then
):
    environment, retriever = own_retriever(tmp_path, SWALLOWS.format(then))
    process = application.start("-m", *dataset, *retriever, f"store.path={tmp_path}/store", "k=1,2", **environment)
    assert process.stdout.readline() == "at work\n"
    process.send_signal(sent)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 128 + sent
    assert "at work" not in out
    assert [run.info.status for run in application.parents()] == ["KILLED"]
    assert [(run.info.run_name, run.info.status) for run in application.children()] == [("k=1", "KILLED")]


@pytest.mark.usefixtures("processes")
def test_two_sweeps_may_open_a_fresh_store_together(tmp_path, cache, dataset):
    application = Application(tmp_path, cache)
    beside = [tmp_path / name for name in ("mlflow.lock", "mlflow.new")]  # files of somebody else's
    for file in beside:
        file.write_text("mine")
    places = [f"hydra.sweep.dir={tmp_path / name}" for name in ("one", "two")]
    both = [application.start("-m", *dataset, "retriever=sparse", "k=1", place) for place in places]
    results = [process.communicate(timeout=120) for process in both]
    assert [process.returncode for process in both] == [0, 0], results
    assert [run.info.status for run in application.runs()] == ["FINISHED"] * 4
    assert [file.read_text() for file in beside] == ["mine", "mine"]


def test_a_report_that_cannot_be_written_loses_nothing_else(copied_sweep, dataset):
    page = copied_sweep.home / "outputs/summary/report.html"
    page.unlink()
    page.mkdir()
    process = copied_sweep.run("-m", *dataset, "retriever=sparse", "k=1,2", "tracking.resume=true")
    [parent] = copied_sweep.parents()
    assert process.returncode == 1
    assert "ragsweep: The report could not be written: [Errno 21] Is a directory" in process.stderr
    assert "report: " not in process.stdout
    assert (parent.info.status, parent.data.tags["best.k"]) == ("FAILED", "1")
    assert parent.data.tags["best.headline"] in process.stdout
    assert (copied_sweep.artifacts(parent) / "results/summary_statistics.csv").exists()
    assert [run.info.status for run in copied_sweep.children()] == ["FINISHED"] * 2


TEXTS = {"d1": "fever in a child", "d2": "iron against anaemia, a child", "d3": "tablets that clear worms"}
QUESTIONS = {  # by dataset; the name of a question is that of the text that answers it
    "first": {"d1": "a child with fever", "d2": "what helps against anaemia"},
    "second": {"d3": "what clears worms", "d1": "fever", "d2": "iron"},
}


def test_several_datasets_end_in_one_decision(application, tmp_path):
    for name, questions in QUESTIONS.items():
        rows = [{"_id": document, "text": question} for document, question in questions.items()]
        arguments.written(tmp_path, TEXTS, rows, {document: document for document in questions}).rename(tmp_path / name)
    sweep = ["-m", "dataset=beir", f"dataset.path={tmp_path}/first,{tmp_path}/second", "retriever=sparse"]
    sweep += ["retriever.b=0,1", "k=1"]
    process = succeeded(application.run(*sweep))
    [parent] = application.parents()
    folder, client = application.artifacts(parent), application.client()
    experiments = {run.info.experiment_id: client.get_experiment(run.info.experiment_id) for run in application.runs()}
    assert experiments[parent.info.experiment_id].name == "first + second"
    record = recorded(application, parent)
    assert {name: about["dataset"]["queries"] for name, about in record["datasets"].items()} == {
        name: len(questions) for name, questions in QUESTIONS.items()
    }
    assert record["headline"][0] in parent.data.tags["mlflow.note.content"]
    for text in (process.stdout, (folder / "report.html").read_text()):
        assert record["headline"][0] in text
        assert "If first were the only dataset (2 queries):" in text
    assert (folder / "datasets/second/report.html").exists()
    chosen = record["across_datasets"]["choice"]
    marked = [run for run in application.children() if run.info.run_id in chosen["run_ids"].values()]
    assert {run.data.tags["decision"] for run in marked} == {"tied"}  # by so few questions
    assert {experiments[run.info.experiment_id].name for run in marked} == {"first", "second"}
    assert parent.data.tags["best.configuration"] == chosen["label"]
    assert "first: http" in process.stdout
    shown = [group.name for group in experiments.values() if any("sharedViewState" in name for name in group.tags)]
    assert sorted(shown) == ["first", "second"]
    succeeded(application.run(*sweep, "tracking.resume=true"))
    assert len(application.parents()) == 1
