"""The command line: what bad input gets, and that every shipped experiment runs."""

import errno
import json
import os
import re
import shlex
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from application import PROJECT, assert_refused, succeeded
from small import arguments, span_arguments, write_queries
from tracking.stored import run_here

from ragsweep.app.error_messages import in_one_line
from ragsweep.store.stage_store import Store

NAMES_OF_THE_REFERENCE = {
    "Pure_Dense_FAISS": "1.0",
    "Dense_Heavy_Hybrid": "0.7",
    "Balanced_Hybrid": "0.5",
    "Sparse_Heavy_Hybrid": "0.3",
    "Pure_Sparse_BM25": "0.0",
}
LARGE = {"alpha_sensitivity": 11, "chunking": 36}  # and how many jobs they have
EXPERIMENTS = sorted(path.stem for path in (PROJECT / "conf/experiment").glob("*.yaml"))

NO_ADDRESS = "tracking.uri: no value; set it with tracking.uri="
REFUSED = {  # each of them takes another way through the program
    "retriever.alhpa=0.5": "retriever.alhpa: no such setting (did you mean retriever.alpha?)",
    "query.lines=3": "query.lines: ",
    "hydra.sweeper.shuffle=true": "hydra.sweeper.shuffle: no such setting",
    "retreiver=dense": "retreiver: no such setting (did you mean retriever?)",
    "retriever=hybird": "routed, run_file, sparse, three_way",
    f"questions={__file__}": f"questions={__file__}: expected one of beir, spans, table",
    "retriever.model=d": "(retriever has alpha, candidates, fusion, score_threshold; did you mean encoder.model?)",
    "dataset=pdf": "no value; set it with dataset.",
    "+retriever.gamma=1": "retriever.gamma: no such setting (retriever has dense, sparse, alpha, candidates, fusion",
    "k": "k: cannot be read as name=value",
    "k=3,5": "k=3,5: several values are a sweep, ragsweep run -m",
    "retriever=null": "retriever=null: ",
    "reranker=1.5": "reranker=1.5: ",
    "dataset.name=${nosuch}": "nosuch: no value; set it with +nosuch=VALUE",
    f"k={'9' * 5000}": "4300 digits",
    "hydra.run.dir=/proc/outputs": "/proc/outputs: No such file or directory",
    "dataset.documents=/tmp/dokumenté": "quote special characters",
    "-m retriever=dense,sprase": "retriever=sprase: expected one of ",  # in a later job
    "-m chunker.size=500,40 k=1,2": "chunker.overlap: found 50",
    "-m hydra.sweep.dir=/dev/null/folder": "hydra.sweep.dir: /dev/null/folder cannot be made",
    # An unknown setting is named also where another one has no value.
    **{
        f"{mode}task=answers answerer=recorded store.pth=x": "store.pth: no such setting (did you mean store.path?)"
        for mode in ("", "-m k=1,2 ")
    },
    # A server has no default address.
    **{f"{mode}tracking=server tracking.uri=???": NO_ADDRESS for mode in ("", "-m k=1,2 ")},
}


def test_a_bad_setting_gets_one_line_and_nothing_is_recorded(application):
    for given, expected in REFUSED.items():
        assert_refused(run_here(application, *given.split(" ")), application, expected)


def test_overrides_may_stand_before_and_after_an_option(application, tmp_path):
    (tmp_path / "a=b").mkdir()
    process = application.run("retriever=sparse", "--config-dir", str(tmp_path / "a=b"), "-m", "k=3,0")
    assert_refused(process, application, "k: found 0")


def test_an_option_that_hides_behind_ours_is_refused(application):
    file = application.home / "conf/retriever/dense.yaml"
    file.parent.mkdir(parents=True)
    file.write_text("k1: 1\n")
    process = application.script("run", "retriever=sparse", RAGSWEEP_PROJECT=str(application.home))
    assert_refused(process, application, "conf/retriever/dense.yaml is an option of this name; rename the file; ")


def test_bad_data_gets_one_line(application, tmp_path):
    dataset, data = arguments(tmp_path / "data"), tmp_path / "data"
    write_queries(data / "questions.json", [("Where?", ["2"], "factual")])
    sweep = ["-m", "k=1,2", *dataset, "retriever=sparse"]
    expected = "page '2' is in 2 documents ('anaemia.pdf#2', 'fever.pdf#2')"
    assert_refused(run_here(application, *sweep), application, expected)
    (data / "pdfs/notes.pdf").write_text("no PDF")
    assert_refused(run_here(application, *sweep), application, "notes.pdf: cannot be read as a PDF")


def test_v_shows_where_an_error_came_from(application):
    process = application.run("-v", "k=0")
    assert process.returncode == 2
    assert "Traceback" in process.stderr


def test_a_page_without_text_is_reported_once(application, dataset):
    process = succeeded(application.run("-m", *dataset, "retriever=sparse", "k=1,2"))
    [columns, page] = process.stderr.splitlines()
    assert "read as: query=query, relevant=relevant_docs, type=query_type" in columns
    assert page == "pages without text, never retrieved: 1 (fever.pdf#3)"


def test_what_is_given_replaces_what_an_experiment_sweeps(application, dataset):
    given = [*dataset, "encoder=wordllama", "k=3", "returns=passage,window,parent,page", "+dry_run=true"]
    process = succeeded(run_here(application, "-m", "experiment=topk_analysis", *given))
    assert "k=3 replaces k=3,5,7,10,15 of" in process.stderr
    jobs = [f"returns={unit}: would run" for unit in ("passage", "window", "parent", "page")]
    assert process.stdout.splitlines()[:-1] == jobs


def test_an_experiment_that_sweeps_is_not_one_run(application, dataset, tmp_path):
    file = tmp_path / "project/conf/experiment/mine.yaml"
    file.parent.mkdir(parents=True)
    file.write_text("# @package _global_\nhydra:\n  sweeper:\n    params:\n      k: 1,3\n")
    given, own = [*dataset, "retriever=sparse", "experiment=mine"], {"RAGSWEEP_PROJECT": str(tmp_path / "project")}
    refused = application.script("run", *given, **own)
    assert (refused.returncode, application.runs()) == (2, [])
    assert "hydra.sweeper.params: add -m to sweep k," in refused.stderr
    assert application.script("run", *given, "hydra.mode=RUN", **own).returncode == 0


def test_the_changed_configuration_of_a_run_is_never_measured_as_the_defaults(application, dataset, tmp_path):
    assert application.run(*dataset, "retriever=sparse", "k=3").returncode == 0
    [run] = application.runs()
    logged = (application.artifacts(run) / "config/config.yaml").read_text()
    (tmp_path / "logged").mkdir()
    (tmp_path / "logged/config.yaml").write_text(re.sub("(?m)^k: 3$", "k: 1", logged))
    refused = application.run("--config-dir", str(tmp_path / "logged"))
    assert (refused.returncode, refused.stdout, len(application.runs())) == (2, "", 1)
    assert f"{tmp_path}/logged/config.yaml: " in refused.stderr
    command = refused.stderr.partition(" ragsweep run ")[2]
    assert application.run(*shlex.split(command), *dataset[2:]).returncode == 0
    params = application.runs()[-1].data.params
    assert (params["k"], params["retriever.k1"], "retriever.alpha" in params) == ("1", "1.5", False)


def test_a_large_experiment_plans_its_jobs(application, tmp_path):
    given = [*span_arguments(tmp_path / "spans"), "chunker.size=200,800", "budget=500", "+dry_run=true"]
    process = succeeded(run_here(application, "-m", "experiment=chunking", *given))
    assert process.stdout.count(": would run\n") == 12


@pytest.mark.release
@pytest.mark.parametrize(
    "experiment", [pytest.param(name, marks=[pytest.mark.soak] if name in LARGE else []) for name in EXPERIMENTS]
)
def test_every_shipped_experiment_runs(application, dataset, experiment, tmp_path):
    data = span_arguments(tmp_path / "spans") if experiment == "chunking" else dataset
    succeeded(application.run("-m", f"experiment={experiment}", "encoder=wordllama", *data))
    if experiment in ("retrieval_methods", "topk_analysis"):
        assert len(application.children()) == 5
    if experiment == "retrieval_methods":
        alphas = {run.info.run_name: run.data.params["retriever.alpha"] for run in application.children()}
        assert alphas == NAMES_OF_THE_REFERENCE


def test_help_is_written_for_a_person(application):
    text = run_here(application, "--help").stdout
    assert "EXAMPLES" in text
    [options] = re.findall(r"^retriever: (.*)$", text, re.MULTILINE)
    of_kernel = "dense fused hybrid pipeline returned routed run_file sparse three_way"
    assert {*of_kernel.split()} <= {*options.split(", ")}


def test_every_configuration_file_opens_with_what_it_is_and_a_command():
    for path in (PROJECT / "conf").rglob("*.yaml"):
        opening = [line for line in path.read_text().splitlines()[:4] if not line.startswith("# @package")]
        assert opening[0].startswith("# "), path
        assert re.search(r"ragsweep (run|generate)\b", opening[1]), path


@pytest.mark.release
@pytest.mark.real_data
def test_eight_company_filings_run_end_to_end(application, real_data):
    filings = real_data / "financebench"
    places = [f"dataset.documents={filings}/documents", f"dataset.queries={filings}/test_queries.json"]
    succeeded(application.run("dataset=pdf", "dataset.name=financebench", *places, "retriever=sparse"))
    [run] = application.runs()
    profile = json.loads(run.inputs.dataset_inputs[0].dataset.profile)
    assert (profile["queries"], profile["judgments"] >= 28) == (28, True)
    assert 0 < run.data.metrics["f1"] <= 1


# Standard streams that are closed or full, and a store that somebody deletes meanwhile


def redirected(folder, redirection, *given):
    """What `ragsweep` does in a shell that redirects its streams."""
    shell = ["sh", "-c", f'"$0" -m ragsweep "$@" {redirection}', sys.executable, *given]
    environment = {**os.environ, "RAGSWEEP_PROJECT": str(folder)}
    return subprocess.run(shell, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("closed", [pytest.param(">&-", marks=pytest.mark.release), "<&- >&- 2>&-"])
def test_a_run_does_its_work_where_streams_are_closed(application, dataset, closed):
    given = application.arguments(*dataset, "retriever=sparse", "k=3,4")
    succeeded(redirected(application.home, closed, "run", "-m", *given))
    assert [run.info.status for run in application.children()] == ["FINISHED"] * 2


@pytest.mark.usefixtures("processes")
def test_what_cannot_be_printed_is_said_and_is_no_success(tmp_path):
    done = redirected(tmp_path, ">/dev/full", "--version")
    assert done.returncode == 1
    assert done.stderr == "ragsweep: not everything could be printed (No space left on device)\n"
    assert "No space left on device" in in_one_line(OSError(errno.ENOSPC, "No space left on device"))


@pytest.mark.usefixtures("processes")
def test_a_store_that_is_deleted_meanwhile_costs_only_time(tmp_path, times):
    store, ended = Store(str(tmp_path / "store"), max_gb=0.001), threading.Event()

    def delete():
        while not ended.is_set():
            for stage in (tmp_path / "store").glob("*"):
                subprocess.run(["rm", "-rf", stage], check=False)

    deleting = threading.Thread(target=delete)
    deleting.start()
    try:
        for number in range(times(300)):
            [array] = store.get("stage", number % 5, lambda: {"array": np.arange(9)}).values()
            np.testing.assert_array_equal(array, np.arange(9))
    finally:
        ended.set()
        deleting.join()
    assert Path(store.path).parent.is_dir()
