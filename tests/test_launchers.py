"""The same sweep under every launcher that this machine has."""

from importlib.util import find_spec

import pytest
from application import Application

SWEEP = ["-m", "retriever.alpha=0,0.5,1", "k=3,5"]
PLUGINS = {"joblib": "hydra_joblib_launcher", "submitit_local": "hydra_submitit_launcher"}


def there(plugin):
    try:
        return find_spec(f"hydra_plugins.{plugin}") is not None
    except ModuleNotFoundError:
        return False


LAUNCHERS = [
    pytest.param(name, marks=pytest.mark.skipif(not there(plugin), reason=f"{plugin} is not installed"))
    for name, plugin in PLUGINS.items()
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
    return parent.info.status, runs, [file.read_text() for file in sorted(results.iterdir())]


@pytest.fixture(scope="module")
def one_after_the_other(tmp_path_factory, cache):
    application = Application(tmp_path_factory.mktemp("basic"), cache)
    assert application.run(*SWEEP).returncode == 0
    return recorded(application)


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_a_launcher_changes_nothing_of_the_results(application, launcher, one_after_the_other):
    process = application.run(*SWEEP, f"hydra/launcher={launcher}")
    assert process.returncode == 0, process.stderr
    assert process.stderr == ""
    assert recorded(application) == one_after_the_other


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_an_encoding_is_made_once_for_all_workers(tmp_path, launcher):
    home = tmp_path / "home"
    home.mkdir()
    application = Application(home, tmp_path / "fresh")
    process = application.run(*SWEEP, f"hydra/launcher={launcher}")
    assert process.returncode == 0, process.stderr
    entries = [file.parent for file in application.cache.glob("embeddings-*/*/checksums.json")]
    assert len(entries) == 2  # queries and passages, each encoded by one process while the others waited


@pytest.mark.skipif(find_spec("ray") is not None, reason="ray is installed")
def test_a_launcher_that_is_not_installed_is_refused_with_what_installs_it(application):
    target = "hydra_plugins.hydra_ray_launcher.ray_launcher.RayLauncher"
    process = application.run(*SWEEP, f"hydra.launcher._target_={target}")
    assert process.returncode == 2
    [line] = process.stderr.splitlines()
    assert line == (
        "ragsweep: hydra.launcher: hydra_ray_launcher is not installed here; run pip install 'ragsweep[ray]'"
    )


@pytest.mark.slow
@pytest.mark.skipif(not there("hydra_joblib_launcher"), reason="hydra_joblib_launcher is not installed")
def test_twenty_sweeps_of_eight_workers_on_a_fresh_store_lose_nothing(tmp_path):
    for number in range(20):
        home = tmp_path / str(number)
        home.mkdir()
        application = Application(home, home / "cache")
        process = application.run(
            "-m",
            "hydra/launcher=joblib",
            "hydra.launcher.n_jobs=8",
            "retriever=sparse",
            "retriever.b=0.2,0.4,0.6,0.8",
            "k=1,2,3,4",
        )
        assert process.returncode == 0, process.stderr
        assert [run.info.status for run in application.children()] == ["FINISHED"] * 16
        assert [run.info.status for run in application.parents()] == ["FINISHED"]
