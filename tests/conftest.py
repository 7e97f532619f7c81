"""What tests of several folders share: small real PDFs, stores, an encoder, the bundled data, a tracking server.

Fixtures import what they need, so that a file of tests starts in the time of its own imports.
"""

from __future__ import annotations

import gc
import os
import shutil
import sqlite3
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import quick
import small
import warm
from application import PROJECT, Application
from extras import installed
from hypothesis import HealthCheck, settings
from unrun import Unrun

if TYPE_CHECKING:
    from letters import LetterEncoder
    from servers import Client, TrackingServer

    from ragsweep.datasets import Collection, Dataset
    from ragsweep.retrieval import Search
    from ragsweep.store.stage_store import Store

CHROMIUM = Path("/usr/bin/chromium")  # Debian's; playwright would download its own
CHROMIUM_ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
WritePdf = Callable[..., Path]

os.environ["RAY_worker_niceness"] = "0"  # noqa: SIM112  # Ray lowers the priority of its workers: here they starve
if workers := os.environ.get("PYTEST_XDIST_WORKER_COUNT"):  # else threads of one worker wait for those of the others
    threads = max(1, (os.cpu_count() or 1) // int(workers))
    os.environ |= {f"{library}_NUM_THREADS": str(threads) for library in ("OMP", "OPENBLAS")}

QUICK, SOAK = "--quick", "--soak"
EXAMPLES = {QUICK: 10, "": 25, SOAK: 200}  # of a property
NEVER_QUICK = {PROJECT / "tests" / name for name in ("browser", "cluster")}  # folders
PLUGINS = ("answers", "audit", "engines", "generate", "plugins")
SERVER_TESTS = "tests/cluster/"  # they share one tracking server
START_FIRST = (
    *(SERVER_TESTS, "tests/browser/", "tests/test_launchers.py", "tests/test_readme.py", "tests/app/test_wheel.py"),
    *("tests/plugins/test_plugins.py", "tests/app/", "tests/tracking/test_sweep.py", "tests/tracking/test_resume.py"),
    *("tests/tracking/test_push.py", "tests/audit/", "tests/answers/", "tests/replay/", "tests/production/"),
    *("tests/engines/", "tests/references/", "tests/tracking/", "tests/config/", "tests/retrieval/", "tests/datasets/"),
)


collect_ignore = (
    [*PLUGINS, "references", "test_documents.py"] if os.environ.get("RAGSWEEP_DISABLE_PLUGINS") == "1" else []
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        QUICK, action="store_true", help="run the tests that start no process, load no model and draw nothing"
    )
    parser.addoption(SOAK, action="store_true", help="run what is marked soak, and repeat at full strength")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Unrun())
    gc.set_threshold(50_000, 10, 10)  # as `ragsweep run` does: importing and collecting leave no garbage
    strength = QUICK if config.getoption(QUICK) else SOAK if config.getoption(SOAK) else ""
    by_chance = [HealthCheck.too_slow, HealthCheck.filter_too_much]  # the machine may be busy
    settings.register_profile(
        "ragsweep", deadline=None, max_examples=EXAMPLES[strength], suppress_health_check=by_chance
    )
    settings.load_profile("ragsweep")
    if strength == QUICK and not _starts_workers(config):
        quick.guard()


def _starts_workers(config: pytest.Config) -> bool:
    return bool(config.getoption("numprocesses", None)) and not hasattr(config, "workerinput")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave folders alone whose imports would take longer than all quick tests of other files."""
    return True if config.getoption(QUICK) and collection_path in NEVER_QUICK else None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Repeat a test that is marked so; its argument `repetition` counts."""
    if repeated := metafunc.definition.get_closest_marker("repeat"):
        times = repeated.kwargs["soak" if metafunc.config.getoption(SOAK) else "usual"]
        metafunc.parametrize("repetition", range(times))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give tests that share fixtures to one worker: those of a file, and all that share the tracking server."""
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return SERVER_TESTS if nodeid.startswith(SERVER_TESTS) else nodeid.partition("::")[0]

    return Scheduling(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Start the files that take longest first, so that no worker is left with one of them in the end."""
    if config.getoption(QUICK):
        slow = [item for item in items if _is_slow(item)]
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if not _is_slow(item)]
    items.sort(key=_start)


def _start(item: pytest.Item) -> int:
    return next((place for place, path in enumerate(START_FIRST) if item.nodeid.startswith(path)), len(START_FIRST))


def pytest_collection_finish(session: pytest.Session) -> None:
    gc.collect()
    gc.freeze()  # else every full collection walks through ten thousand tests and all that they import
    if session.config.getoption(QUICK):
        try:
            quick.check()
        except AssertionError as error:
            raise pytest.UsageError(f"while the tests are collected: {error}") from None


def _is_slow(item: pytest.Item) -> bool:
    has_mark = any(mark.name in ("extra", "soak") for mark in item.iter_markers())
    return has_mark or bool(quick.SLOW & {*getattr(item, "fixturenames", ())})


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    if endpoint := sys.modules.get("ragsweep.models.language.endpoint"):
        endpoint.say_spent()  # else a command of a later test says it
    if item.config.getoption(QUICK):
        quick.check()


def pytest_runtest_setup(item: pytest.Item) -> None:
    extras = [name for mark in item.iter_markers("extra") for name in mark.args]
    if missing := [name for name in extras if not installed("ragsweep", name)]:
        pytest.skip(f"make test-extras installs what it needs: ragsweep[{','.join(missing)}]")
    if item.get_closest_marker("soak") and not item.config.getoption(SOAK):
        pytest.skip("make soak runs it")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say how often the soak has repeated what."""
    if not config.getoption(SOAK):
        return
    passed = terminalreporter.getreports("passed")
    names = [report.nodeid.partition("[")[0] for report in passed if {"repeat", "soak"} & {*report.keywords}]
    terminalreporter.section("passed at full strength")
    for name, times in Counter(names).items():
        terminalreporter.write_line(f"{times:4} x {name}")


@pytest.fixture(scope="session")
def processes() -> None:
    """Tests that start a process have this fixture."""


@pytest.fixture(scope="session")
def models() -> None:
    """Tests that load a model, or torch, have this fixture."""


@pytest.fixture(scope="session")
def drawing() -> None:
    """Tests that draw have this fixture."""


@pytest.fixture(scope="session")
def long_work() -> None:
    """Tests that compute for about 0.2 s or more, such as composing a configuration, have this fixture."""


@pytest.fixture(scope="session")
def times(pytestconfig: pytest.Config) -> Callable[[int], int]:
    """How many simulations to run: with --soak this many, else a tenth."""
    return lambda most: most if pytestconfig.getoption(SOAK) else most // 10


@pytest.fixture
def letters() -> LetterEncoder:
    from letters import LetterEncoder

    return LetterEncoder()


@pytest.fixture
def store(tmp_path: Path) -> Store:
    from ragsweep.store.stage_store import Store

    return Store(str(tmp_path / "store"))


@pytest.fixture
def write_pdf() -> WritePdf:
    """Write a PDF: one line of text a page, none where it is empty; `labels` are (page, style, first number)."""

    def write(path: Path, *pages: str, labels=(), password: str | None = None) -> Path:
        from reportlab.pdfgen.canvas import Canvas

        path.parent.mkdir(parents=True, exist_ok=True)
        canvas = Canvas(str(path), invariant=1, encrypt=password)
        for page, style, first in labels:
            canvas.addPageLabel(page, style=style, start=first)
        for lines in pages:
            text = canvas.beginText(72, 700)
            text.textLines(lines)
            canvas.drawText(text)
            canvas.showPage()
        canvas.save()
        return path

    return write


@pytest.fixture(scope="session")
def manual() -> Collection:
    """The bundled training manual and its questions."""
    from ragsweep.datasets import pdf_dataset

    folder = PROJECT / "data" / "cho_manual"
    return pdf_dataset("cho_manual", str(folder / "documents"), str(folder / "test_queries.json")).load()


@pytest.fixture(scope="session")
def manual_pages(manual: Collection) -> Dataset:
    """The bundled manual, one passage a page."""
    from ragsweep.datasets import Dataset, PageChunker

    return Dataset.from_collection(manual, PageChunker())


@pytest.fixture(scope="session")
def manual_search(manual_pages: Dataset) -> Search:
    """The manual's pages, to be searched for its questions."""
    from ragsweep.retrieval import Search

    return Search(manual_pages.texts, tuple(query.text for query in manual_pages.queries))


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of public datasets; tests that need it are skipped where it is absent."""
    folder = Path(os.environ.get("RAGSWEEP_REAL_DATA", PROJECT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"{folder} is not there; RAGSWEEP_REAL_DATA names the folder of public datasets")
    return folder


@pytest.fixture(scope="session")
def scifact(real_data: Path) -> Dataset:
    """SciFact's test split, one passage a document."""
    from ragsweep.datasets import Dataset, PageChunker, beir_dataset

    return Dataset.from_collection(beir_dataset("scifact", str(real_data / "scifact")).load(), PageChunker())


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the applications of all workers of this session keep their embeddings."""
    own = tmp_path_factory.getbasetemp()
    return (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "cache"


@pytest.fixture(scope="session")
def scifact_store(cache: Path) -> Store:
    """Keeps the embeddings of SciFact, which take minutes."""
    from ragsweep.store.stage_store import Store

    return Store(str(cache))


@pytest.fixture(scope="session")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The overrides that select the small dataset, which no test may change."""
    return small.arguments(tmp_path_factory.mktemp("small"))


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tracking store without runs; MLflow takes seconds to make one."""
    from mlflow import MlflowClient

    database = tmp_path_factory.mktemp("database") / "mlflow.db"
    MlflowClient(f"sqlite:///{database}").search_experiments()
    return database


@pytest.fixture(scope="session")
def ranx() -> Any:
    """ranx, uncompiled in all tests of a process: compiling takes a minute, and its parts must be of one kind."""
    import numba

    numba.config.DISABLE_JIT = True
    import ranx

    return ranx


@pytest.fixture
def application(tmp_path: Path, cache: Path, empty_database: Path, processes: None) -> Application:
    """ragsweep on an empty store."""
    (tmp_path / "home").mkdir()
    shutil.copy(empty_database, tmp_path / "home")
    return Application(tmp_path / "home", cache)


@pytest.fixture(scope="module")
def shared_application(
    tmp_path_factory: pytest.TempPathFactory, cache: Path, empty_database: Path, processes: None
) -> Application:
    """ragsweep on a store that the tests of a module share."""
    home = tmp_path_factory.mktemp("home")
    shutil.copy(empty_database, home)
    return Application(home, cache)


@pytest.fixture(scope="session")
def finished_sweep(
    tmp_path_factory: pytest.TempPathFactory, cache: Path, empty_database: Path, dataset: list[str], processes: None
) -> Application:
    """A store with a sweep of two runs, which no test may change."""
    home = tmp_path_factory.mktemp("finished")
    shutil.copy(empty_database, home)
    finished = Application(home, cache)
    process = finished.run("-m", *dataset, "retriever=sparse", "k=1,2")
    assert process.returncode == 0, process.stderr
    return finished


@pytest.fixture
def copied_sweep(finished_sweep: Application, tmp_path: Path) -> Application:
    """A copy of it that a test may change."""
    copy = Application(tmp_path / "copy", finished_sweep.cache)
    shutil.copytree(finished_sweep.home, copy.home)
    with closing(sqlite3.connect(copy.home / "mlflow.db")) as database, database:  # MLflow keeps absolute places
        for table, column in (("experiments", "artifact_location"), ("runs", "artifact_uri")):
            places = [finished_sweep.home.as_uri(), copy.home.as_uri()]
            database.execute(f"UPDATE {table} SET {column} = replace({column}, ?, ?)", places)
    return copy


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory, processes: None) -> Iterator[TrackingServer]:
    """A tracking server for all tests that need one; where PostgreSQL is not installed, on SQLite."""
    from servers import TrackingServer, database

    with database() as address:
        started = TrackingServer(tmp_path_factory.mktemp("server"), address)
        try:
            started.start()
            yield started
        finally:
            started.kill()


@pytest.fixture
def client(server: TrackingServer, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Client:
    """ragsweep on the tracking server, and the login in the environment of the test."""
    from servers import Client

    for name, value in server.login.items():
        monkeypatch.setenv(name, value)
    if not server.is_running:  # a test that failed has left it so
        server.start()
    return Client(tmp_path, cache, server)


@pytest.fixture(scope="session")
def browser(processes: None) -> Iterator[Any]:
    """Chromium, without a window."""
    from playwright.sync_api import sync_playwright

    if not CHROMIUM.exists():
        pytest.skip(f"{CHROMIUM} is not installed")
    with sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=str(CHROMIUM), args=CHROMIUM_ARGUMENTS)
        yield started
        started.close()


@pytest.fixture(autouse=True)
def _no_process_outlives_its_test() -> Iterator[None]:
    yield
    warm.kill_all()


@pytest.fixture
def secret_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> Iterator[str]:
    """The key of an endpoint, which must be in no file, log record or text that a test prints."""
    from question_server import KEY

    from ragsweep.core.project import SWEEP_ID

    caplog.set_level("DEBUG")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv(SWEEP_ID, str(tmp_path))  # a budget of its own
    yield KEY
    files = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert KEY.encode() not in files
    assert KEY not in caplog.text + "".join(capfd.readouterr())
