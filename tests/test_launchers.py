"""The same sweep under every launcher that this machine has."""

import json
import os
import signal
import time

import pandas as pd
import psutil
import pytest
from application import Application, error_lines
from held import ENVIRONMENT, held_by

pytestmark = pytest.mark.release
SWEEP = ["-m", "retriever.alpha=0,0.5", "k=3,5"]
HELD = ["-m", "k=3,5"]
FOLDER = "zoë's"
EXTRAS = {"joblib": "parallel", "ray": "ray", "submitit_local": "slurm"}
LAUNCHERS = [pytest.param(name, marks=pytest.mark.extra(extra)) for name, extra in EXTRAS.items()]


def first(*names):
    """The launchers. The soak alone runs those that are not named: the tests of clusters do the same with them."""
    in_soak = [launcher for launcher in EXTRAS if launcher not in names]
    return [
        pytest.param(*launcher.values, marks=[*launcher.marks, *[pytest.mark.soak] * (launcher.values[0] in in_soak)])
        for launcher in LAUNCHERS
    ]


def recorded(application):
    """All that must not depend on the launcher: names, parents, metrics but timings, and the summary."""
    [parent] = application.parents()
    runs = {
        run.info.run_name: (
            run.info.status,
            run.data.tags["mlflow.parentRunId"] == parent.info.run_id,
            {name: value for name, value in run.data.metrics.items() if not name.startswith("latency/")},
        )
        for run in application.children()
    }
    results = application.artifacts(parent) / "results"
    return parent.info.status, runs, [_without_timings(file) for file in sorted(results.iterdir())]


def _without_timings(file):
    table = pd.read_csv(file, dtype=str)
    return table.drop(columns=[name for name in table if name.startswith(("latency/", "time_ms"))]).to_csv()


@pytest.fixture(scope="module")
def one_after_the_other(tmp_path_factory, cache, dataset):
    """What the sweep records where one process does all jobs."""
    application = Application(tmp_path_factory.mktemp("basic"), cache)
    assert application.run(*SWEEP, *dataset).returncode == 0
    return recorded(application)


@pytest.fixture(scope="module", params=LAUNCHERS)
def launched(request, tmp_path_factory, dataset):
    """The sweep under a launcher, with nothing encoded yet, in a folder with an unusual name."""
    home = tmp_path_factory.mktemp("launched")
    application = Application(home, home / "fresh")
    folder = f'hydra.sweep.dir="{home}/{FOLDER}"'
    process = application.run(*SWEEP, *dataset, f"hydra/launcher={request.param}", folder)
    assert process.returncode == 0, process.stderr
    return application, process


def test_a_launcher_changes_nothing_of_the_results(launched, one_after_the_other):
    application, _ = launched
    assert recorded(application) == one_after_the_other


def test_a_launcher_says_nothing_of_its_own(launched):
    _, process = launched
    assert error_lines(process.stderr) == []


def test_a_folder_may_be_called_anything(launched):
    application, _ = launched
    assert len(list((application.home / FOLDER).glob("*/tracking.json"))) == 5  # of four jobs and their sweep


def test_an_encoding_is_made_once_for_all_workers(launched):
    application, _ = launched
    entries = [file.parent for file in application.cache.glob("embeddings-*/*/checksums.json")]
    assert len(entries) == 2  # queries and passages, each encoded by one process while the others waited


def test_a_launcher_that_is_not_installed_is_refused_with_what_installs_it(application, tmp_path):
    absent = 'import sys; sys.modules["hydra_plugins.hydra_ray_launcher"] = None'  # whether it is installed or not
    (tmp_path / "sitecustomize.py").write_text(absent)
    process = application.in_new_interpreter("run", *SWEEP, "hydra/launcher=ray", PYTHONPATH=str(tmp_path))
    assert process.returncode == 2
    [line] = process.stderr.splitlines()
    assert line == (
        "ragsweep: hydra.launcher: hydra_ray_launcher is not installed here; run pip install 'ragsweep[ray]'"
    )


@pytest.mark.repeat(usual=1, soak=20)
@pytest.mark.extra("parallel")
def test_a_sweep_of_eight_workers_on_a_fresh_store_loses_nothing(tmp_path, dataset, repetition):
    application = Application(tmp_path, tmp_path / "cache")
    workers = ["hydra/launcher=joblib", "hydra.launcher.n_jobs=8"]
    process = application.run("-m", *workers, *dataset, "retriever=sparse", "retriever.b=0.2,0.4,0.6,0.8", "k=1,2")
    assert process.returncode == 0, process.stderr
    assert [run.info.status for run in application.children()] == ["FINISHED"] * 8
    assert [run.info.status for run in application.parents()] == ["FINISHED"]


def at_work(application):
    """A run that a worker has open, and the number of the worker's process."""
    for _ in range(1200):
        for run in application.children():
            if run.info.status == "RUNNING":
                return run, json.loads(run.data.tags["process"])["pid"]
        time.sleep(0.1)
    return pytest.fail("no worker has begun")


@pytest.fixture
def held(application, dataset):
    """A sweep whose jobs wait as long as a file is there, and the file."""
    file = application.home / "wait"
    file.touch()
    return [*HELD, *held_by(file), *dataset], file


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory, cache, dataset):
    """What that sweep records if nothing happens to it."""
    application = Application(tmp_path_factory.mktemp("undisturbed"), cache)
    assert application.run(*HELD, *held_by(application.home / "absent"), *dataset, **ENVIRONMENT).returncode == 0
    return recorded(application)


@pytest.mark.parametrize("launcher", first("joblib"))
def test_what_a_killed_worker_leaves_is_named_and_resumed(application, launcher, held, undisturbed):
    sweep, file = held
    once = ["hydra.launcher.ray.remote.max_retries=0"] if launcher == "ray" else []
    process = application.start(*sweep, f"hydra/launcher={launcher}", *once, **ENVIRONMENT)
    run, pid = at_work(application)
    os.kill(pid, signal.SIGKILL)
    file.unlink()
    _, err = process.communicate(timeout=300)
    assert process.returncode == 1
    assert f"did not finish: {run.info.run_name} (KILLED)" in err
    resumed = application.run(*sweep, f"hydra/launcher={launcher}", "tracking.resume=true", **ENVIRONMENT)
    assert resumed.returncode == 0, resumed.stderr
    assert recorded(application) == undisturbed


@pytest.mark.extra("parallel")
def test_the_workers_of_a_killed_sweep_end_and_it_is_resumed(application, held, undisturbed):
    sweep, file = held
    process = application.start(*sweep, "hydra/launcher=joblib", **ENVIRONMENT)
    at_work(application)
    workers = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    _, alive = psutil.wait_procs(workers, timeout=60)
    for worker in alive:
        worker.kill()
    assert workers
    assert alive == []
    file.unlink()
    resumed = application.run(*sweep, "tracking.resume=true", **ENVIRONMENT)
    assert resumed.returncode == 0, resumed.stderr
    assert recorded(application) == undisturbed


@pytest.mark.parametrize("launcher", LAUNCHERS)
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_sweep_ends_its_workers_and_leaves_nothing_open(application, launcher, held, ending):
    sweep, _ = held
    process = application.start(*sweep, f"hydra/launcher={launcher}", **ENVIRONMENT)
    _, pid = at_work(application)
    process.send_signal(ending)
    process.communicate(timeout=60)
    assert process.returncode == {signal.SIGINT: 130, signal.SIGTERM: 143}[ending]
    assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    assert {run.info.status for run in application.runs()} == {"KILLED"}


@pytest.mark.extra("slurm")
def test_what_slurm_has_not_started_is_said_to_be_waited_for(application, dataset):
    """Without its accounting, nothing else tells that a job does not start."""
    commands = application.home / "bin"
    commands.mkdir()
    asked = application.home / "asked"
    submits, asks = "echo Submitted batch job 4711", f"touch '{asked}'; false"
    for name, what in {"sbatch": submits, "srun": submits, "sacct": asks, "scancel": "true"}.items():
        (commands / name).write_text(f"#!/bin/sh\n{what}\n")
        (commands / name).chmod(0o755)
    path = f"{commands}:{os.environ['PATH']}"
    process = application.start(*HELD, *dataset, "hydra/launcher=submitit_slurm", PATH=path)
    until = time.monotonic() + 100
    while not asked.exists() and time.monotonic() < until:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert "squeue --jobs=4711" in err
