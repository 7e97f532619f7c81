"""`ragsweep export --register` and `ragsweep gate --promote`, on a real registry of MLflow."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from dataclasses import asdict
from pathlib import Path
from urllib.parse import unquote, urlsplit

import mlflow
import pandas as pd
import pytest
from application import succeeded
from mlflow import MlflowClient
from mlflow.exceptions import MlflowException
from omegaconf import DictConfig
from servers import free_port

import ragsweep
from ragsweep import tracking
from ragsweep.core.errors import ConfigError, RagsweepError
from ragsweep.report.markup import markdown
from ragsweep.tracking.address import check_model_name, model_address
from ragsweep.tracking.client import Client

QUESTIONS = ["How should vaccines be stored?", "Who may see the records?"]
GATE = ["--metric", "recall", "--margin", "0.05"]


@pytest.fixture(scope="module")
def runs(shared_application):
    """A run over the bundled manual, and one that is far worse."""
    settings = ["retriever=sparse", "retriever.b=0", "chunker.size=300", "k=3"]
    succeeded(shared_application.run("-m", "retriever.k1=1.5,1000", *settings))
    by_name = {run.info.run_name: run.info.run_id for run in shared_application.children()}
    return by_name["k1=1.5"], by_name["k1=1000"]


@pytest.fixture(scope="module")
def exported(runs, shared_application):
    """The better run, with its index, also registered: version 1 of the model `manual`."""
    folder = shared_application.home / "retriever"
    done = shared_application.script("export", runs[0], "--out", str(folder), "--with-index", "--register", "manual")
    assert done.returncode == 0, done.stderr
    assert "models:/manual@candidate (version 1)" in done.stdout
    return folder


@pytest.fixture(scope="module")
def files(exported, shared_application):
    """The files of version 1."""
    return Path(unquote(urlsplit(shared_application.client().get_model_version_download_uri("manual", "1")).path))


@pytest.fixture(scope="module")
def store(exported, shared_application):
    """The settings of the store."""
    return DictConfig({"uri": shared_application.uri, "artifacts": str(shared_application.home / "artifacts")})


@pytest.fixture(scope="module")
def answers(exported):
    """What the exported retriever finds, as a server returns it."""
    return [[asdict(hit) for hit in hits] for hits in ragsweep.load(exported).search_all(QUESTIONS, 4)]


def test_a_version_says_which_run_was_measured_and_what_it_needs(exported, files, runs, shared_application):
    client = shared_application.client()
    version = client.get_model_version("manual", "1")
    run = client.get_run(runs[0])
    assert version.run_id == runs[0]
    assert version.description == (exported / "README.md").read_text()
    assert version.tags["config.digest"] == run.data.tags["config.digest"]
    assert version.tags["dataset.digest"] == run.inputs.dataset_inputs[0].dataset.digest
    model = mlflow.models.Model.load(files)
    assert client.get_logged_model(model.model_id).source_run_id == model.run_id == runs[0]
    assert model.get_input_schema().to_dict() == [{"type": "string", "name": "query", "required": True}]
    [hits] = model.get_output_schema().to_dict()
    assert {*hits["items"]["properties"]} == {"text", "source", "page", "score", "passage_id"}
    [k] = model.get_params_schema().to_dict()
    assert (k["name"], k["type"], k["default"]) == ("k", "long", 3)
    named = {line.partition("==")[0].lower() for line in (files / "requirements.txt").read_text().splitlines()}
    assert {"ragsweep", "mlflow", "hydra-core", "faiss-cpu"} <= named
    inner = files / "data" / "retriever"
    kept, given = ({path.relative_to(folder) for path in folder.rglob("*")} for folder in (inner, exported))
    assert kept == given
    assert {path.suffix for path in files.rglob("*") if path.is_file()} & {".py", ".pkl", ".pickle"} == set()


def test_a_model_answers_as_the_retriever_does(files, answers):
    model = mlflow.pyfunc.load_model(str(files))
    assert model.predict(pd.DataFrame({"query": QUESTIONS}), params={"k": 4}) == answers
    assert model.predict([{"query": QUESTIONS[0]}]) == [answers[0][:3]]
    with pytest.raises(MlflowException, match=r"^k: found 0"):
        model.predict(pd.DataFrame({"query": QUESTIONS}), params={"k": 0})


@pytest.mark.server
def test_a_server_answers_as_the_retriever_does(exported, answers, shared_application, tmp_path):
    port = free_port()
    command = ["mlflow", "models", "serve", "-m", "models:/manual/1", "--env-manager", "local", "-p", str(port)]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    process = subprocess.Popen(
        [sys.executable, "-m", *command],
        env={**os.environ, "MLFLOW_TRACKING_URI": shared_application.uri, "PATH": path},
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        for _ in range(1200):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/ping", timeout=1).close()
                break
            except OSError:
                assert process.poll() is None
                time.sleep(0.1)
        body = {"dataframe_records": [{"query": text} for text in QUESTIONS], "params": {"k": 4}}
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}/invocations", json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=60) as response:
            assert json.load(response) == {"predictions": answers}
        body = {"dataframe_records": [{"query": "  "}]}
        request.data = json.dumps(body).encode()
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request, timeout=60)
        message = json.loads(refused.value.read())
        assert (refused.value.code, "stack_trace" in message) == (400, False)
        assert "expected the text of a question" in message["message"]
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def test_a_gate_by_name_promotes_what_passes_and_nothing_else(exported, runs, shared_application):
    client, [good, bad] = shared_application.client(), runs
    baseline = ["--baseline", "models:/manual@production", *GATE]

    def production():
        return str(client.get_registered_model("manual").aliases.get("production"))

    done = shared_application.script_here("gate", "--candidate", "models:/manual@candidate", *baseline, "--promote")
    assert (done.returncode, done.stdout, production()) == (2, "", "None")
    command = re.search(r'python -c "(.*)"$', done.stderr.strip())[1]
    exec(command.replace("VERSION", "1"), {})
    assert production() == "1"

    assert shared_application.script_here("export", bad, "--register", "manual").returncode == 0
    assert client.get_model_version_by_alias("manual", "candidate").run_id == bad
    done = shared_application.script("gate", "--candidate", "models:/manual@candidate", *baseline, "--promote")
    assert (done.returncode, production()) == (1, "1"), done.stdout
    assert done.stdout.splitlines()[-1] == "not promoted: models:/manual@production stays at version 1"

    assert shared_application.script_here("export", good, "--register", "manual").returncode == 0
    done = shared_application.script_here("gate", "--candidate", good, *baseline)
    assert (done.returncode, production()) == (0, "1")
    assert "promoted" not in done.stdout
    done = shared_application.script_here("gate", "--candidate", good, *baseline, "--promote")
    assert (done.returncode, production()) == (0, "3"), done.stderr
    assert done.stdout.splitlines()[-1] == "promoted: models:/manual@production was version 1, is version 3"
    done = shared_application.script_here("gate", "--candidate", "models:/manual@candidate", *baseline, "--promote")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "models:/manual@production is version 3 already")


@pytest.fixture(scope="module")
def other(exported, runs, shared_application):
    """Another model of the same run, with an alias; and the ids of the runs."""
    client = shared_application.client()
    client.copy_model_version("models:/manual/1", "other")
    client.set_registered_model_alias("other", "stable", "1")
    return client, dict(zip(("GOOD", "BAD"), runs, strict=True))


@pytest.mark.parametrize(
    ("candidate", "baseline", "message"),
    [
        ("BAD", "models:/other@stable", "is no version of models:/other; register it: cd /"),
        ("models:/manual/1", "models:/other@stable", "models:/manual/1 is no version of the model 'other'"),
        ("BAD", "GOOD", "expected models:/NAME@ALIAS"),
        ("BAD", "models:/manual/1", "expected models:/NAME@ALIAS"),
        ("models:/manual", "models:/other@stable", "expected models:/NAME@ALIAS or models:/NAME/VERSION"),
    ],
)
def test_what_cannot_be_promoted_is_one_line(candidate, baseline, message, other, shared_application):
    client, ids = other
    names = ["--candidate", ids.get(candidate, candidate), "--baseline", ids.get(baseline, baseline)]
    done = shared_application.script_here("gate", *names, *GATE, "--promote")
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert message in done.stderr
    assert str(client.get_registered_model("other").aliases["stable"]) == "1"


def test_what_the_registry_lacks_is_named(store, runs):
    client = MlflowClient(store.uri)
    client.create_registered_model("foreign")
    source = client.get_model_version("manual", "1").source
    ours = {"ragsweep.version": "0.1.0"}
    client.create_model_version("foreign", source, runs[0])
    client.create_model_version("foreign", source, "0" * 32, ours)
    client.create_model_version("foreign", source, "../../secret", ours)
    deleted = client.create_run(client.get_run(runs[0]).info.experiment_id).info.run_id
    client.create_model_version("foreign", source, deleted, ours)
    client.delete_run(deleted)
    for address, message in {
        "models:/nosuch@production": "ragsweep export RUN_ID --register nosuch tracking.uri=sqlite:///",
        "models:/foreign@production": "no version has this alias (the model has none)",
        "models:/foreign/9": "version=9",
        "models:/foreign/1": "version 1 was not registered by ragsweep",
        "models:/foreign/2": f"Run with id={'0' * 32} not found",
        "models:/foreign/3": "version 3 was not registered by ragsweep",
        "models:/foreign/4": f"version 4 was measured as run {deleted}, which was deleted",
    }.items():
        with pytest.raises(RagsweepError) as refused:
            tracking.registered(store, address)
        assert message in str(refused.value)
    assert tracking.registered(store, "models:/manual/1").run_id == runs[0]


def test_an_alias_that_was_moved_meanwhile_stays(store, exported):
    client = MlflowClient(store.uri)
    client.set_registered_model_alias("manual", "stable", "1")
    was = tracking.registered(store, "models:/manual@stable")
    client.copy_model_version("models:/manual/1", "manual")
    newest = max(client.search_model_versions("name = 'manual'"), key=lambda version: int(version.version)).version
    client.set_registered_model_alias("manual", "stable", newest)
    with pytest.raises(RagsweepError, match="was version 1, and is"):
        tracking.move_alias(store, was, was)
    assert client.get_model_version_by_alias("manual", "stable").version == newest


def test_a_model_is_written_only_where_artifacts_are_allowed(store, tmp_path):
    client = Client(store.uri, store.artifacts)
    experiment = client.create_experiment("elsewhere", (tmp_path / "elsewhere").as_uri())
    model = client.create_logged_model(experiment, "retriever")
    with pytest.raises(RagsweepError, match="which you have not allowed"):
        client.log_model_artifacts(model.model_id, str(tmp_path))
    assert not (tmp_path / "elsewhere").exists()


def test_a_sweep_that_ships_nothing_is_not_registered(dataset, shared_application, tmp_path):
    settings = ["retriever=sparse", "retriever.b=0", "k=1", "decision.require={recall: 1}"]
    done = shared_application.run("-m", *dataset, "retriever.k1=1.5,1000", *settings)
    sweep = re.search(r"\(sweep ([0-9a-f]{32})\)", done.stdout)[1]
    done = shared_application.script_here("export", sweep, "--register", "hopeless")
    assert done.returncode == 2
    [line] = done.stderr.splitlines()
    assert "(requirements)" in line
    run_id = re.search("ragsweep export ([0-9a-f]{32}) .*--register hopeless", line)[1]
    assert shared_application.client().get_run(run_id).info.run_name == "k1=1.5"
    assert shared_application.client().search_registered_models("name = 'hopeless'") == []
    done = shared_application.script_here("export", sweep, "--out", str(tmp_path / "folder"), *dataset[2:])
    assert done.returncode == 0  # the folder is for whoever means it
    assert "does not show that this should be shipped (requirements)" in done.stderr
    decision, card = ((tmp_path / "folder" / name).read_text() for name in ("decision.json", "README.md"))
    assert all(f"- {markdown(sentence)}\n" in card for sentence in json.loads(decision)["headline"])
    assert "Ship" not in card


def test_a_link_in_the_folder_of_a_model_is_not_written_through(store, tmp_path):
    client = Client(store.uri, str(tmp_path))
    experiment = client.create_experiment("linked", (tmp_path / "linked").as_uri())
    model = client.create_logged_model(experiment, "retriever")
    place, outside = Path(unquote(urlsplit(model.artifact_location).path)), tmp_path / "outside"
    for folder in (place, outside, tmp_path / "new" / "data"):
        folder.mkdir(parents=True)
    (place / "data").symlink_to(outside)
    (tmp_path / "new" / "data" / "file").write_text("theirs")
    with pytest.raises(Exception, match="outside the artifact directory"):
        client.log_model_artifacts(model.model_id, str(tmp_path / "new"))
    assert [*outside.iterdir()] == []


def test_names_in_addresses():
    for name in ("manual", "Handbuch für Ärzte 2.1", "a", "a-b_c"):
        check_model_name(name)
        assert model_address(f"models:/{name}@production") == (name, "production", None)
        assert model_address(f"models:/{name}/12") == (name, None, "12")
    for name in ("", "a/b", "a:b", "a@b", " a", "a\n", ".", "a" * 101, "models:/a"):
        with pytest.raises(ConfigError, match=r"^--register: found"):
            check_model_name(name)
    for rest in ("", "a", "a@", "a/", "a/x", "a@b@c", "../a@b", "a@b/c", "a/1/2", "a@b\n"):
        with pytest.raises(ConfigError, match="expected models:/NAME@ALIAS"):
            model_address(f"models:/{rest}")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "expected --out DIR, --register NAME or both"),
        (["--register", "a/b"], "--register: found 'a/b'"),
        (["--register", "a", "--allow", "my_stages"], "leave out --allow"),
    ],
)
def test_what_cannot_be_registered_is_one_line(arguments, message, application):
    done = application.script_here("export", "0" * 32, *arguments)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert message in done.stderr
