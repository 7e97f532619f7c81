"""What a sweep leaves behind, also when something goes wrong in it."""

import json
import re
import signal
from pathlib import Path

import pandas as pd
import pytest
from application import PROJECT, Application, error_lines, succeeded
from warm import CHARTS

from ragsweep import runs
from ragsweep.report.markup import markdown

FAILING = """
from dataclasses import dataclass

from ragsweep.retrieval import SparseRetriever


@dataclass(frozen=True)
class Failing(SparseRetriever):
    fails: bool = False

    def rank(self, search, depth):
        if self.fails:
            raise MemoryError("no room for the index")
        return super().rank(search, depth)
"""

SWALLOWING = """
import time
from dataclasses import dataclass

from ragsweep.retrieval import SparseRetriever


@dataclass(frozen=True)
class Swallowing(SparseRetriever):
    def rank(self, search, depth):
        try:
            print("at work", flush=True)
            time.sleep(60)
        except BaseException:
            {then}
        return super().rank(search, depth)
"""


def recorded(application, parent):
    """The decision of a sweep, as programs read it."""
    return json.loads((application.artifacts(parent) / "decision.json").read_text())


@pytest.fixture(scope="module")
def swept(shared_application):
    """What `make sweep` runs, the first command of the README."""
    [given] = re.findall(r"^sweep:.*\n\t\S+/python run\.py (.*)$", (PROJECT / "Makefile").read_text(), re.MULTILINE)
    process = succeeded(shared_application.run(*given.split(), **CHARTS))
    [parent] = shared_application.parents()
    return process, parent, shared_application.children()


def test_a_sweep_is_one_parent_and_one_finished_child_a_configuration_named_by_what_was_swept(swept):
    _, parent, children = swept
    assert len(children) == 15
    assert {run.info.status for run in [parent, *children]} == {"FINISHED"}
    assert {run.data.tags["mlflow.parentRunId"] for run in children} == {parent.info.run_id}
    _, _, children = swept
    expected = {f"alpha={alpha} k={k}" for alpha in ("0", "0.3", "0.5", "0.7", "1") for k in (3, 5, 10)}
    assert {run.info.run_name for run in children} == expected


def test_swept_numbers_sort_as_numbers_in_mlflow(swept, shared_application):
    _, parent, _ = swept
    client, condition = shared_application.client(), f"tags.`mlflow.parentRunId` = '{parent.info.run_id}'"
    order = ["metrics.`swept/k` ASC", "metrics.`swept/retriever.alpha` DESC"]
    ordered = client.search_runs([parent.info.experiment_id], condition, order_by=order)
    assert [run.info.run_name for run in ordered] == [
        f"alpha={alpha} k={k}" for k in (3, 5, 10) for alpha in ("1", "0.7", "0.5", "0.3", "0")
    ]
    assert not any("swept/" in name for name in parent.data.metrics)


def test_the_parent_has_the_numbers_of_the_decision(swept, shared_application):
    _, parent, children = swept
    at_5 = [run for run in children if run.data.params["k"] == "5"]  # the middle cutoff
    best = max(at_5, key=lambda run: run.data.metrics["ndcg"])
    assert parent.data.tags["best.configuration"] == best.info.run_name
    assert float(parent.data.tags["best.ndcg"]) == pytest.approx(best.data.metrics["ndcg"], abs=1e-6)
    assert parent.data.tags["best.k"] == "5"
    assert parent.info.run_name == "alpha x k: alpha 0.5"
    _, parent, children = swept
    [best] = [run for run in children if run.info.run_name == parent.data.tags["best.configuration"]]
    metrics = parent.data.metrics
    measured = {name: value for name, value in best.data.metrics.items() if f"best/{name}" in metrics}
    assert {name: metrics[f"best/{name}"] for name in measured} == pytest.approx(measured)
    assert {"ndcg", "recall", "context/tokens", "latency/mean_ms", "index/bytes"} <= measured.keys()
    assert metrics["configurations"] == 5  # k is no configuration
    assert metrics["expected/ndcg"] < metrics["best/ndcg"]
    assert parent.data.params == {"retriever.alpha": "0,0.3,0.5,0.7,1", "k": "3,5,10"}
    _, parent, _ = swept
    tags = parent.data.tags
    table = pd.read_csv(shared_application.artifacts(parent) / "results/summary_statistics.csv")
    assert float(tags["best.expected"]) < float(tags["best.ndcg"])
    assert float(tags["best.ndcg_low"]) < float(tags["best.ndcg"]) < float(tags["best.ndcg_high"])
    assert int(tags["best.tied"]) == table[table["k"] == 5]["tied_with_best"].sum() - 1


def test_each_child_says_what_was_decided_of_it(swept):
    """In the words that a filter finds, for each k: what is chosen, tied with the best, or worse."""
    _, parent, children = swept
    decided = {run.info.run_name: run.data.tags for run in children}
    chosen = [name for name, tags in decided.items() if tags["decision"] == "chosen"]
    assert chosen == [parent.data.tags["best.configuration"]] == ["alpha=0.5 k=5"]
    assert decided["alpha=0.5 k=10"]["decision"] == "chosen at k 10"
    assert {decided[f"alpha=0.7 k={k}"]["decision"] for k in (3, 5, 10)} == {"tied"}
    assert {decided[f"alpha=0 k={k}"]["decision"] for k in (3, 5, 10)} == {"worse"}
    at_5 = sorted((run for run in children if run.data.params["k"] == "5"), key=lambda run: -run.data.metrics["ndcg"])
    assert [run.data.tags["decision.rank"] for run in at_5] == ["1", "2", "3", "4", "5"]


def test_the_tables_are_those_of_the_runs_to_the_last_bit(swept, shared_application):
    _, parent, children = swept
    table = pd.read_csv(shared_application.artifacts(parent) / "results/summary_statistics.csv")
    ndcg = {run.info.run_name: run.data.metrics["ndcg"] for run in children}
    assert dict(zip(table["name"], table["ndcg"], strict=True)) == pytest.approx(ndcg)
    assert table["k"].is_monotonic_increasing
    assert all(rows["ndcg"].is_monotonic_decreasing for _, rows in table.groupby("k"))
    _, parent, children = swept
    [path] = (shared_application.artifacts(parent) / "results").glob("evaluation_results_*.csv")
    own = shared_application.artifacts(children[0]) / "results/per_query.csv"
    name = children[0].info.run_name
    raw = [line.split(",", 1)[1] for line in path.read_text().splitlines() if line.startswith(f'"{name}",')]
    # behind the name stand the swept settings, then the run's own line
    assert [line.split(",", 2)[2] for line in raw] == own.read_text().splitlines()[1:]


def test_a_full_grid_gives_every_chart(swept, shared_application):
    _, parent, _ = swept
    names = {path.stem for path in (shared_application.artifacts(parent) / "charts").iterdir()}
    assert names == {
        "1_retrieval_methods_comparison",
        "2_alpha_sensitivity",
        "3_topk_analysis",
        "4_comprehensive_comparison",
        "5_radar_chart",
        "best_against_baseline",
        "by_cutoff",
        "cost_fronts",
        "one_setting",
    }


def test_the_report_is_one_page_and_the_description_of_the_parent_leads_to_it(swept, shared_application):
    _, parent, children = swept
    page = (shared_application.artifacts(parent) / "report.html").read_text()
    assert page.count("data:image/svg+xml;base64,") == 4
    assert page.count(f'<a href="http://127.0.0.1:5000/#/experiments/1/runs/{children[0].info.run_id}?') == 1
    assert f"ragsweep reproduce {parent.info.run_id}" in page
    assert any(f"ragsweep explain {run.info.run_id} " in page for run in children)
    _, _, links, *_, last = (note := parent.data.tags["mlflow.note.content"]).splitlines()
    assert links.startswith(f"[report.html](#/experiments/1/runs/{parent.info.run_id}/artifacts/report.html), ")
    assert f"viewStateShareKey=sweep-{parent.info.run_id})" in links
    assert [cell.split("&")[0].strip() for cell in last.split("|")[1:4]] == [
        "10",
        "alpha 0.5",
        "0.694 \\[0.639, 0.749\\]",
    ]
    assert {line.count("|") for line in note.splitlines() if line.startswith("|")} == {6}  # five columns


def test_one_source_says_what_to_ship(swept, shared_application):
    """Terminal, report, descriptions, tags, name and decision.json say the same, and it is what was measured."""
    process, parent, children = swept
    record, page = recorded(shared_application, parent), shared_application.artifacts(parent) / "report.html"
    first, *_ = record["headline"]
    for text in (process.stdout, page.read_text()):
        assert all(sentence in text for sentence in record["headline"])
    assert parent.data.tags["mlflow.note.content"].startswith(f"**{first}**")
    assert parent.data.tags["best.headline"] == " ".join(record["headline"])
    verdicts = {run.info.run_id: run.data.tags["decision"] for run in children}
    assert {row["run_id"]: row["verdict"] for row in record["rows"]} == verdicts
    assert (record["not_shipped"], record["configurations"]) == (None, 5)
    claims = {claim["name"]: claim["numbers"] for claim in record["claims"]}
    runs = {run.info.run_name: run.data.metrics for run in children}
    assert claims["choice"]["label"] == "alpha 0.5"
    assert claims["choice"]["value"] == pytest.approx(runs["alpha=0.5 k=5"]["ndcg"])
    bought = {
        f"alpha=0.5 {at.replace(' ', '=')}": [recall, tokens] for at, recall, tokens in claims["bought"]["points"]
    }
    expected = {f"alpha=0.5 k={k}": runs[f"alpha=0.5 k={k}"] for k in (3, 5, 10)}
    assert bought == {name: pytest.approx([one["recall"], one["context/tokens"]]) for name, one in expected.items()}


def test_where_nothing_is_shipped_every_run_has_a_verdict_and_nothing_names_one_to_ship(application, dataset):
    """Five questions can show nothing of these chunks."""
    swept = ["chunker=recursive", "chunker.size=60,99", "retriever=sparse", "retriever.b=0,1", "k=1,2,3"]
    process = succeeded(application.run("-m", *dataset, *swept))
    [parent] = application.parents()
    record, note = recorded(application, parent), parent.data.tags["mlflow.note.content"]
    verdicts = [run.data.tags["decision"] for run in application.children()]
    assert len(verdicts) == 12
    held_back = [verdict for verdict in verdicts if verdict.startswith("not shipped")]
    assert held_back == [f"not shipped: {record['not_shipped']}"] * 3  # one at each k
    assert parent.info.run_name == f"size x b x k: nothing to ship, {record['not_shipped']}"
    assert note.startswith(f"**{markdown(record['headline'][0])}**")
    for text in (note, process.stdout, *verdicts, *parent.data.tags.values()):
        assert not re.search(r"\bShip\b|chosen|\| choice", text)
    assert "measured best" in note
    assert parent.data.metrics["configurations"] == record["configurations"] == 4


def test_the_terminal_shows_progress_table_best_and_address(swept):
    process, parent, _ = swept
    lines = process.stdout.splitlines()
    assert lines[0].startswith("1/15 alpha=0 k=3 ndcg=0.")
    assert lines[14].startswith("15/15 alpha=1 k=10 ndcg=0.")
    assert re.fullmatch(r"the sweep took (\d+ min )?\d+ s", lines[15])
    assert parent.data.tags["best.headline"].startswith(lines[17])
    [head] = [place for place, line in enumerate(lines) if line.split()[:2] == ["k", "choice"]]
    assert [line.split()[0] for line in lines[head + 1 : head + 4]] == ["3", "5", "10"]
    path, sweep = re.fullmatch(r"report: (\S+) \(sweep (\w+)\)", lines[-3]).groups()
    assert Path(path).read_text().startswith("<!doctype html>")
    assert sweep == parent.info.run_id
    assert lines[-2].startswith("to see it in MLflow: cd /")
    assert lines[-1].startswith("http://127.0.0.1:5000/#/experiments/1/runs?workflowType=machine_learning")
    assert parent.info.run_id in lines[-1]
    assert error_lines(process.stderr) == []


def test_a_failed_job_is_failed_and_the_others_go_on(application, dataset, tmp_path):
    (tmp_path / "failing.py").write_text(FAILING)
    process = application.run(
        "-m",
        *dataset,
        "retriever=sparse",
        "retriever._target_=failing.Failing",
        "+retriever.fails=false,true",
        PYTHONPATH=str(tmp_path),
    )
    [parent] = application.parents()
    statuses = {run.info.run_name: run.info.status for run in application.children()}
    assert process.returncode == 1
    assert statuses == {"fails=False": "FINISHED", "fails=True": "FAILED"}
    assert "2/2 fails=True FAILED: MemoryError: no room for the index" in process.stderr
    assert "Error executing job" not in process.stderr  # as Hydra would say
    assert parent.info.status == "FAILED"
    assert "fails=True (FAILED)" in (application.artifacts(parent) / "report.md").read_text()
    for run in application.children():
        if run.info.status == "FAILED":
            assert run.data.tags["error"] == "MemoryError: no room for the index"
            traceback = (application.artifacts(run) / "error/traceback.txt").read_text()
            assert traceback.startswith("Traceback (most recent call last):")
            assert 'raise MemoryError("no room for the index")' in traceback


def test_of_jobs_of_one_name_none_hides_anothers_failure(application, dataset, tmp_path):
    (tmp_path / "failing.py").write_text(FAILING.replace("self.fails", "self.b > 0.5"))
    failing = ["retriever=sparse", "retriever._target_=failing.Failing", "retriever.b=0.50000000000001,0.5"]
    sweep = ["-m", *dataset, *failing]
    process = application.run(*sweep, PYTHONPATH=str(tmp_path))
    [parent] = application.parents()
    assert process.returncode == 1
    assert [run.info.run_name for run in application.children()] == ["b=0.5"] * 2
    lost = "b=0.5 (job 1) (FAILED)"
    assert [line for line in process.stderr.splitlines() if "did not" in line] == [f"did not finish: {lost}"]
    assert parent.info.status == "FAILED"
    assert lost in (application.artifacts(parent) / "report.md").read_text()
    table = pd.read_csv(application.artifacts(parent) / "results/summary_statistics.csv")
    assert table["name"].tolist() == ["b=0.5 (job 2)"]
    (tmp_path / "failing.py").write_text(FAILING)
    mended = succeeded(application.run(*sweep, "tracking.resume=true", PYTHONPATH=str(tmp_path)))
    assert "finished before" not in mended.stdout  # the retriever is another one now
    found = runs(sweep=application.parents()[-1].info.run_id, uri=application.uri)
    assert list(found["name"]) == ["b=0.5 (job 1)", "b=0.5 (job 2)"]


def test_an_interrupted_sweep_leaves_no_running_run(application, dataset):
    process = application.start("-m", *dataset, "retriever=sparse", "k=range(1,21)")
    assert process.stdout.readline().startswith("1/20")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert {run.info.status for run in application.runs()} == {"FINISHED", "KILLED"}
    assert [run.info.status for run in application.parents()] == ["KILLED"]


@pytest.mark.parametrize(("sent", "then"), [(signal.SIGINT, "pass"), (signal.SIGTERM, "raise ImportError")])
def test_an_interruption_that_a_library_catches_ends_the_sweep_before_the_next_job(
    application, dataset, tmp_path, sent, then
):
    (tmp_path / "swallowing.py").write_text(SWALLOWING.format(then=then))
    of_ours = ("retriever=sparse", "retriever._target_=swallowing.Swallowing", f"store.path={tmp_path}/store")
    process = application.start("-m", *dataset, *of_ours, "k=1,2", PYTHONPATH=str(tmp_path))
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
    places = [f"hydra.sweep.dir={tmp_path / name}" for name in ("one", "two")]
    both = [application.start("-m", *dataset, "retriever=sparse", "k=1", place) for place in places]
    results = [process.communicate(timeout=120) for process in both]
    assert [process.returncode for process in both] == [0, 0], results
    assert [run.info.status for run in application.runs()] == ["FINISHED"] * 4


def test_a_report_that_cannot_be_written_loses_nothing_else(application, dataset):
    (application.home / "outputs/summary/report.html").mkdir(parents=True)  # in its place
    process = application.run("-m", *dataset, "retriever=sparse", "k=1,2")
    [parent] = application.parents()
    assert process.returncode == 1
    assert "ragsweep: The report could not be written: [Errno 21] Is a directory" in process.stderr
    assert process.stdout.splitlines()[4] == "One configuration at 2 cutoffs: only k is to be chosen."
    assert "report: " not in process.stdout
    assert parent.info.status == "FAILED"
    assert parent.data.tags["best.k"] == "1"
    assert (application.artifacts(parent) / "results/summary_statistics.csv").exists()
    assert [run.info.status for run in application.children()] == ["FINISHED"] * 2


def test_fail_fast_starts_no_job_after_a_failed_one_also_where_both_have_one_name(application, dataset, tmp_path):
    (tmp_path / "failing.py").write_text(FAILING.replace("self.fails", "self.b > 0.5"))
    failing = ["retriever=sparse", "retriever._target_=failing.Failing", "retriever.b=0.4,0.50000000000001,0.5"]
    sweep = ["-m", *dataset, *failing, "tracking.fail_fast=true"]
    process = application.run(*sweep, PYTHONPATH=str(tmp_path))
    assert process.returncode == 1
    assert [run.info.status for run in application.children()] == ["FINISHED", "FAILED"]
    assert "did not finish: b=0.5 (job 2) (FAILED)" in process.stderr
    assert "did not finish: b=0.5 (job 3) (NOT STARTED)" in process.stderr


def write_beir(folder, questions):
    """Three documents in BEIR's layout, and a question for each of some of them."""
    (folder / "qrels").mkdir(parents=True)
    texts = {"d1": "fever in a child", "d2": "iron against anaemia, a child", "d3": "tablets that clear worms"}
    documents = [json.dumps({"_id": name, "title": "", "text": text}) for name, text in texts.items()]
    (folder / "corpus.jsonl").write_text("\n".join(documents))
    queries = [json.dumps({"_id": f"q-{name}", "text": text}) for name, text in questions.items()]
    (folder / "queries.jsonl").write_text("\n".join(queries))
    judged = [f"q-{name}\t{name}\t1" for name in questions]
    (folder / "qrels" / "test.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *judged]))


def test_several_datasets_end_in_one_decision(application, tmp_path):
    write_beir(tmp_path / "first", {"d1": "a child with fever", "d2": "what helps against anaemia"})
    write_beir(tmp_path / "second", {"d3": "what clears worms", "d1": "fever", "d2": "iron"})
    paths = f"dataset.path={tmp_path / 'first'},{tmp_path / 'second'}"
    process = succeeded(application.run("-m", "dataset=beir", paths, "retriever=sparse", "retriever.b=0,1", "k=1"))
    [parent] = application.parents()
    folder, client = application.artifacts(parent), application.client()
    experiments = {run.info.experiment_id: client.get_experiment(run.info.experiment_id) for run in application.runs()}
    assert experiments[parent.info.experiment_id].name == "first + second"
    record = recorded(application, parent)
    assert list(record["datasets"]) == ["first", "second"]
    assert record["datasets"]["second"]["dataset"]["queries"] == 3
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
    views = {each.name for each in experiments.values() if any("sharedViewState" in name for name in each.tags)}
    assert views == {"first", "second"}
    again = application.run(
        "-m", "dataset=beir", paths, "retriever=sparse", "retriever.b=0,1", "k=1", "tracking.resume=true"
    )
    assert again.returncode == 0, again.stderr
    assert len(application.parents()) == 1
