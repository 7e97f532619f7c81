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
from application import PROJECT, Application
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
        addresses: What the two sweeps printed, as this server has it.
        application: The store.
    """

    url: str
    addresses: list[str]
    application: Application

    @property
    def sweep(self) -> Run:
        """The first sweep's parent run."""
        return self.application.parents()[0]

    @property
    def other(self) -> Run:
        """The second sweep's parent run."""
        return self.application.parents()[1]

    @property
    def runs(self) -> list[Run]:
        """The first sweep's runs, best NDCG first."""
        own = [
            run for run in self.application.children() if run.data.tags["mlflow.parentRunId"] == self.sweep.info.run_id
        ]
        return sorted(own, key=lambda run: -run.data.metrics["ndcg"])

    @property
    def shown(self) -> list[Run]:
        """Those at the cutoff of the headline, which the view shows."""
        return [run for run in self.runs if run.data.params["k"] == "3"]

    def experiment(self, rest: str = "") -> str:
        """The address of the experiment's page, or of one below it."""
        return f"{self.url}/#/experiments/{self.sweep.info.experiment_id}{rest}"


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
    addresses = []
    for sweep in (SWEEP, OTHER_SWEEP):
        process = application.run(*sweep, **CHARTS)
        assert process.returncode == 0, process.stderr
        addresses.append(process.stdout.splitlines()[-1].partition(" ")[0])
    with make_ui(application.uri, home) as url:
        yield Site(url, [re.sub(r"^http://[^/]+", url, address) for address in addresses], application)


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


@pytest.fixture(scope="session")
def screenshots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where this session's screenshots are kept, for whoever wants to see them."""
    named = os.environ.get("RAGSWEEP_SCREENSHOTS")
    folder = Path(named) if named else tmp_path_factory.mktemp("screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture
def shoot(request: pytest.FixtureRequest, screenshots: Path) -> Callable[..., None]:
    """Keep what a page shows, under the test's name; `height` px of it where the window is lower."""

    def keep(page: Any, height: int = 900) -> None:
        page.set_viewport_size({"width": 1400, "height": height})
        page.wait_for_timeout(1000)  # charts are drawn anew
        page.screenshot(path=screenshots / f"{request.node.name}.png")

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
