"""What is printed to be pasted runs as it stands, from any folder, on the store that the run is in."""

import html
import os
import re
import shlex
import shutil
import subprocess
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace

import pytest
import small
from application import COMMAND, succeeded
from mlflow import MlflowClient
from servers import free_port
from warm import Process

SERVER = pytest.param("server", marks=[pytest.mark.server, pytest.mark.extra("server")])
LOST = ("Who may give vaccines?", ["anaemia.pdf#3"], "factual")  # judged wrong, so that the report explains it


def environment(**more):
    """A shell's environment, in which nothing names a project or a store."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("RAGSWEEP", "MLFLOW"))}
    return kept | {"PATH": f"{COMMAND.parent}:{os.environ['PATH']}"} | more


STAND_IN = """#!/bin/sh
printf '%s\\0' "$PWD" "$RAGSWEEP_PROJECT" "$@" > "$0.typed"
"""


def bash(command, folder, **more):
    """What bash makes of a command: `ragsweep` in it starts in a process that has its libraries loaded."""
    with TemporaryDirectory() as first:
        stand_in = Path(first, "ragsweep")
        stand_in.write_text(STAND_IN)
        stand_in.chmod(0o755)
        shell = environment(PATH=f"{first}:{os.environ['PATH']}")
        subprocess.run(["bash", "-c", command], check=True, cwd=folder, env=shell)
        place, project, *arguments = stand_in.with_suffix(".typed").read_text().split("\0")[:-1]
    named = {"RAGSWEEP_PROJECT": project} if project else {}
    process = Process(COMMAND, arguments, Path(place), environment(**more, **named))
    out, err = process.communicate(timeout=300)
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def arguments_of(kind, home):
    """The arguments of a sweep of two runs; what they need is written into the project, or outside for typed paths."""
    data = home / "data" if kind == "experiment" else home.parent / "data"
    dataset = small.arguments(data)
    small.write_queries(data / "questions.json", [*small.QUERIES, LOST])
    if kind == "experiment":
        for name in ("dataset", "experiment"):
            (home / "conf" / name).mkdir(parents=True)
        places = "documents: ${project:data/pdfs}\nqueries: ${project:data/questions.json}\n"
        (home / "conf/dataset/mine.yaml").write_text(f"defaults: [pdf]\nname: small\n{places}")
        (home / "conf/experiment/mine.yaml").write_text(
            "# @package _global_\ndefaults:\n- override /dataset: mine\n- override /retriever: sparse\n"
            "hydra: {mode: MULTIRUN, sweeper: {params: {k: '1,2'}}}\n"
        )
        return ["experiment=mine"]
    if kind == "config-dir":
        (home / "own/retriever").mkdir(parents=True)
        (home / "own/retriever/mine.yaml").write_text("defaults: [sparse]\nk1: 0.7\n")
        return ["-m", "--config-dir", "own", *dataset, "k=1,2", "retriever=mine"]
    return ["-m", *dataset, "k=1,2", "retriever=sparse"]


@pytest.fixture(scope="module", params=[SERVER, "config-dir", "experiment"])
def swept(request, tmp_path_factory, empty_database, processes):
    """A sweep in a project of its own: its output, its runs and its report; `bash` starts in an empty folder."""
    home = tmp_path_factory.mktemp("home") / "a project"
    (home / "mlruns").mkdir(parents=True)
    shutil.copy(empty_database, home / "mlruns")
    uri, login, variable = f"sqlite:///{home}/mlruns/mlflow.db", {}, {}
    if request.param == "server":
        server = request.getfixturevalue("server")
        uri, login, variable = server.uri, server.login, {"MLFLOW_TRACKING_URI": server.uri}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in login.items():
            patch.setenv(name, value)
        arguments = arguments_of(request.param, home)
        done = succeeded(bash(shlex.join(["ragsweep", "run", *arguments]), home, **login, **variable))
        report, sweep_id = re.search(r"^report: (.+) \(sweep (\w+)\)$", done.stdout, re.MULTILINE).groups()
        client = MlflowClient(uri)
        sweep = client.get_run(sweep_id)
        child = f"tags.`mlflow.parentRunId` = '{sweep_id}'"
        yield SimpleNamespace(
            output=done.stdout,
            places=[argument for argument in arguments if argument.startswith(("dataset.doc", "dataset.que"))],
            client=client,
            sweep=sweep,
            children=client.search_runs([sweep.info.experiment_id], child),
            report=Path(report),
            bash=partial(bash, folder=tmp_path_factory.mktemp("empty"), **login),
        )


def numbers(run):
    return {name: value for name, value in run.data.metrics.items() if not name.startswith(("latency/", "swept/"))}


def latest(swept):
    """The newest run of the experiment that is no sweep."""
    runs = swept.client.search_runs([swept.sweep.info.experiment_id], order_by=["attributes.start_time DESC"])
    return next(run for run in runs if "sweep.decided" not in run.data.tags)


def test_the_commands_of_a_report_run_as_printed(swept):
    page = re.findall("<code>(.*ragsweep.*)</code>", swept.report.read_text())
    commands = {re.search(r"ragsweep (\w+)", command)[1]: html.unescape(command) for command in page}
    assert {*commands} == {"run", "reproduce", "compare", "explain"}
    text = swept.report.with_name("report.md").read_text()
    assert all(commands[name] in text for name in ("run", "reproduce", "compare"))
    for name in ("compare", "explain", "reproduce"):
        done = swept.bash(commands[name].replace("RUN_ID", swept.children[0].info.run_id))
        assert done.returncode == 0, (commands[name], done.stderr)
    assert done.stdout.endswith("all identical\n")


def test_the_tag_of_a_run_and_of_a_sweep_makes_it_again(swept):
    for run, expected in ((swept.children[0], swept.children[:1]), (swept.sweep, swept.children)):
        before = latest(swept).info.run_id
        succeeded(swept.bash(run.data.tags["reproduce"]))
        again = latest(swept)
        assert again.info.run_id != before
        assert numbers(again) in [numbers(run) for run in expected]


@pytest.mark.parametrize("swept", ["config-dir"], indirect=True)
def test_the_line_about_mlflow_opens_the_store(swept, tmp_path):
    [command] = re.findall("^to see it in MLflow: (.*)$", swept.output, re.MULTILINE)
    shell = ["bash", "-c", f"{command.replace('&& ragsweep', '&& exec ragsweep')} --port {free_port()}"]
    with subprocess.Popen(shell, stdout=subprocess.PIPE, text=True, cwd=tmp_path, env=environment()) as ui:
        assert ui.stdout.readline().startswith("the latest sweep: ")
        ui.kill()


@pytest.mark.parametrize("swept", [SERVER, "experiment"], indirect=True)
def test_a_refusal_and_a_model_card_name_commands_that_run(swept, tmp_path):
    page = html.unescape(swept.report.read_text())
    before, after = re.search("<code>(cd .*ragsweep )compare .* RUN_ID(.*)</code>", page).groups()
    run_id = swept.children[0].info.run_id
    gate = f"gate --candidate {run_id} --baseline models:/printed@stable --metric f1 --margin 0.1"
    refused = swept.bash(f"{before}{gate}{after}")
    assert refused.returncode == 2, refused.stdout
    command = refused.stderr.partition("this makes it: ")[2].strip().replace("RUN_ID", run_id)
    succeeded(swept.bash(f"{command} --out {tmp_path}/made {shlex.join(swept.places)}"))
    if not swept.places:  # else the folder of documents must be named, too
        check = re.search("`ragsweep (check FOLDER)`", (tmp_path / "made/README.md").read_text())[1]
        succeeded(swept.bash(f"{before}{check.replace('FOLDER', f'{tmp_path}/made')}"))
