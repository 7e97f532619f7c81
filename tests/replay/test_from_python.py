"""Sweeps and decisions as objects of Python."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from application import COMMAND, succeeded
from held import ENVIRONMENT, held_by
from mlflow import MlflowClient
from warm import Process

import ragsweep
from ragsweep.core.errors import ConfigError, RagsweepError
from ragsweep.replay import from_python

pytestmark = pytest.mark.usefixtures("processes")

FAILING = """
from ragsweep.retrieval import SparseRetriever

class Failing(SparseRetriever):
    def rank(self, search, depth):
        raise OSError("gone")
"""
SWEEP = ["retriever=sparse,failing", "retriever.b=0.3,0.75"]


class Started(Process):
    """What `subprocess.Popen` is for a command of ragsweep, where the libraries are loaded already."""

    def __init__(self, command, **_):
        super().__init__(COMMAND, command[3:], Path.cwd(), dict(os.environ))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    def communicate(self, timeout=300):
        stdout, stderr = super().communicate(timeout)
        sys.stderr.write(stderr)
        return stdout, stderr


@pytest.fixture(scope="module", autouse=True)
def _started_quickly():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(from_python, "subprocess", SimpleNamespace(Popen=Started, PIPE=subprocess.PIPE))
        yield


@pytest.fixture(scope="module")
def swept(tmp_path_factory, dataset, empty_database):
    """The decision of a sweep run from Python in an empty folder, where half of the jobs fail; and its store."""
    home = tmp_path_factory.mktemp("home")
    shutil.copy(empty_database, home)
    (home / "failing.py").write_text(FAILING)
    (home / "conf" / "retriever").mkdir(parents=True)
    (home / "conf/retriever/failing.yaml").write_text("defaults: [sparse]\n_target_: failing.Failing\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAGSWEEP_PROJECT", str(home))
        with pytest.warns(UserWarning, match="exit status 1: 2 of 4 runs"):
            decision = ragsweep.sweep([*SWEEP, *dataset], uri=f"sqlite:///{home}/mlflow.db")
    return decision, home


@pytest.fixture
def uri(tmp_path, empty_database, monkeypatch):
    """An empty store in a project of its own."""
    shutil.copy(empty_database, tmp_path)
    monkeypatch.setenv("RAGSWEEP_PROJECT", str(tmp_path))
    return f"sqlite:///{tmp_path}/mlflow.db"


def test_a_sweep_returns_its_decision_as_an_object_text_and_page(swept):
    decision, home = swept
    [written] = home.glob("outputs/*/summary/decision.json")
    record = json.loads(written.read_text())
    [missing] = [claim["numbers"] for claim in record["claims"] if claim["name"] == "missing"]
    assert missing["names"] == [f"{name} ({fate})" for name, fate in record["unfinished"].items()]
    assert (len(record["unfinished"]), len(record["rows"])) == (2, 2)
    assert record["headline"] == decision.record["headline"] == list(decision.headline)
    assert len(decision.table) == 2
    assert decision.choice["settings"].keys() == {"retriever", "retriever.b"}
    assert repr(decision).startswith(decision.headline[0])
    page = decision._repr_html_()
    assert page.count("<tr>") == 2
    assert "<th>NDCG</th>" in page
    again = ragsweep.decision(decision.sweep_id, "decision.metric=recall", uri=f"sqlite:///{home}/mlflow.db")
    assert again.record["settings"]["metric"] == "recall"
    assert again.record["choices"][0]["cutoff"] == 5


def test_an_interrupted_sweep_closes_its_runs(dataset, tmp_path, uri):
    def statuses():
        client = MlflowClient(uri)
        experiments = [experiment.experiment_id for experiment in client.search_experiments()]
        return [run.info.status for run in client.search_runs(experiments)]

    file = tmp_path / "wait"
    file.touch()
    call = tmp_path / "call.py"
    call.write_text(f"import ragsweep; ragsweep.sweep({[*held_by(file), 'k=1,2', *dataset]!r}, uri={uri!r})")
    caller = Process(call, [], tmp_path, {**os.environ, **ENVIRONMENT})
    deadline = time.monotonic() + 120
    while len(runs := statuses()) < 2:  # the sweep and its first job
        assert time.monotonic() < deadline
        assert caller.returncode is None
        time.sleep(0.3)
    [sweep] = psutil.Process(caller.pid).children()
    caller.send_signal(signal.SIGINT)  # not to the process of the sweep, as a terminal would
    _, stderr = caller.communicate(60)
    assert stderr.strip().endswith("KeyboardInterrupt")
    assert not sweep.is_running()
    assert runs == ["RUNNING", "RUNNING"]
    assert statuses() == ["KILLED", "KILLED"]


def test_bad_arguments_and_a_sweep_without_a_finished_run_are_errors_below_what_the_command_says(
    dataset, tmp_path, uri, capfd
):
    with pytest.raises(ConfigError):
        ragsweep.sweep(["k=0,3", *dataset], uri=uri)
    assert "k: found 0, expected " in capfd.readouterr().err.splitlines()[-1]
    (tmp_path / "failing.py").write_text(FAILING)
    failing = ["retriever=sparse", "retriever._target_=failing.Failing", "k=1"]
    with pytest.raises(RagsweepError, match="without a decision"):
        ragsweep.sweep([*failing, *dataset], uri=uri)
    assert "gone" in capfd.readouterr().err


def test_the_latest_run_of_each_configuration(copied_sweep, dataset):
    succeeded(copied_sweep.script_here("run", *dataset, "retriever=sparse", "k=1"))
    everything, latest = ragsweep.runs(uri=copied_sweep.uri), ragsweep.runs(latest=True, uri=copied_sweep.uri)
    assert (len(everything), len(latest)) == (3, 2)
    assert latest["run_id"].tolist() == everything.drop_duplicates(["k"], keep="last")["run_id"].tolist()
