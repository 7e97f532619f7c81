"""A browser, the project's own `make ui` on the store of two real sweeps, and a place for screenshots."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from application import PROJECT, Application, succeeded
from mlflow.entities import Run
from servers import free_port
from warm import CHARTS

WAIT = 60_000  # ms; a busy machine of two cores needs a while
ASSISTANT_WAS_HERE = "localStorage.setItem('mlflow.assistant.fab.autoOpenedOnFirstLoad_v1', 'true')"
SWEEP = ("-m", "retriever.alpha=0.3,0.5,0.7", "k=3,10")
OTHER_SWEEP = ("-m", "retriever=sparse", "chunker=page,recursive")


@dataclass(frozen=True)
class Site:
    """What `make ui` serves.

    Attributes:
        url: Where.
        address: What the first sweep printed, as this server has it.
        application: The store.
        sweep: The first sweep's parent run.
        other: The second sweep's parent run.
        runs: The first sweep's runs, best NDCG first.
        shown: Those at the cutoff of the headline, which the view shows.
    """

    url: str
    address: str
    application: Application
    sweep: Run
    other: Run
    runs: list[Run]
    shown: list[Run]

    def experiment(self, rest: str = "") -> str:
        """The address of the experiment's page, or of one below it."""
        return f"{self.url}/#/experiments/{self.sweep.info.experiment_id}{rest}"

    def page_of(self, run: Run) -> str:
        """The address of a run's page."""
        return self.experiment(f"/runs/{run.info.run_id}?workflowType=machine_learning")


@contextmanager
def make_ui(uri: str, folder: Path) -> Iterator[str]:
    """`make ui` on another store: where it serves."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    settings = f"VENV={sys.prefix}", f"URI={uri}", f"PORT={port}", f"--assume-old={sys.prefix}/.ready"
    output = folder / "make_ui.txt"
    with output.open("w") as out:
        server = subprocess.Popen(
            ["make", "--no-print-directory", "--directory", PROJECT, "ui", *settings],
            env={**os.environ, "PYTHONPATH": str(PROJECT / "src")},
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        for _ in range(1800):
            try:
                urllib.request.urlopen(f"{url}/health", timeout=5)
                break
            except OSError:
                assert server.poll() is None, output.read_text()
                time.sleep(0.1)
        yield url
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait(60)


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory, cache: Path, processes: None) -> Iterator[Site]:
    """The UI on a store with two sweeps."""
    home = tmp_path_factory.mktemp("home")
    application = Application(home, cache)
    first, _ = (succeeded(application.run(*sweep, **CHARTS)) for sweep in (SWEEP, OTHER_SWEEP))
    (sweep, other), children = application.parents(), application.children()
    own = [run for run in children if run.data.tags["mlflow.parentRunId"] == sweep.info.run_id]
    runs = sorted(own, key=lambda run: -run.data.metrics["ndcg"])
    shown = [run for run in runs if run.data.params["k"] == "3"]
    with make_ui(application.uri, home) as url:
        address = re.sub(r"^http://[^/]+", url, first.stdout.splitlines()[-1].partition(" ")[0])
        yield Site(url, address, application, sweep, other, runs, shown)


@pytest.fixture
def fresh_page(browser: Any) -> Iterator[Any]:
    """A page in a profile that has never seen MLflow."""
    with browser.new_context(viewport={"width": 1400, "height": 900}) as profile:
        profile.set_default_timeout(WAIT)
        yield profile.new_page()


@pytest.fixture(scope="session")
def profile(browser: Any) -> Iterator[Any]:
    """A profile where MLflow has offered its assistant before, which takes a third of the window.

    It has loaded MLflow's scripts before, and nothing else is left of earlier pages.
    """
    with browser.new_context(viewport={"width": 1400, "height": 900}) as kept:
        kept.set_default_timeout(WAIT)
        kept.add_init_script(f"if (window === top) {{ localStorage.clear(); {ASSISTANT_WAS_HERE} }}")
        yield kept


@pytest.fixture
def page(profile: Any) -> Iterator[Any]:
    """A page of that profile."""
    with closing(profile.new_page()) as opened:
        yield opened


@pytest.fixture
def shoot(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Keep what a page shows, under the test's name, where RAGSWEEP_SCREENSHOTS names a folder.

    `height` px of it where the window is lower.
    """
    folder = os.environ.get("RAGSWEEP_SCREENSHOTS")

    def keep(page: Any, height: int = 900) -> None:
        if folder:
            page.set_viewport_size({"width": 1400, "height": height})
            page.wait_for_timeout(1000)  # charts are drawn anew
            page.screenshot(path=Path(folder, f"{request.node.name}.png"))

    return keep


@pytest.fixture
def plots() -> Callable[..., list[dict[str, Any]]]:
    """The traces of the plotly charts on a page, once there are as many as told."""

    def read(page: Any, least: int) -> list[dict[str, Any]]:
        page.wait_for_function(
            f"document.querySelectorAll('.js-plotly-plot').length >= {least} "
            "&& [...document.querySelectorAll('.js-plotly-plot')].every(plot => plot.data)"
        )
        return json.loads(
            page.evaluate(
                "JSON.stringify([...document.querySelectorAll('.js-plotly-plot')].map("
                "plot => ({traces: plot.data, x: plot.layout.xaxis})))"
            )
        )

    return read
