"""What tests of several folders share: small real PDFs, stores, an encoder, the bundled data, a tracking server."""

import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import small
import warm
from application import PROJECT, Application
from extras import installed
from hypothesis import settings
from letters import LetterEncoder
from mlflow import MlflowClient
from reportlab.pdfgen.canvas import Canvas
from servers import Client, TrackingServer, database

from ragsweep.datasets import BeirDataset, Collection, Dataset, PageChunker, PdfDataset
from ragsweep.retrieval import Search
from ragsweep.store.store import Store

WritePdf = Callable[..., Path]


settings.register_profile("ragsweep", deadline=None)  # the machine may be busy
settings.load_profile("ragsweep")
os.environ["RAY_worker_niceness"] = "0"  # noqa: SIM112  # Ray lowers the priority of its workers: here they starve

SOAK = "--soak"
SERVER_TESTS = "tests/cluster/"  # they share one tracking server
START_FIRST = (SERVER_TESTS, "tests/browser/", "tests/test_launchers.py", "tests/test_readme.py")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(SOAK, action="store_true", help="run what is marked soak, and repeat at full strength")


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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start the files that take longest first, so that no worker is left with one of them in the end."""
    items.sort(key=lambda item: not item.nodeid.startswith(START_FIRST))


def pytest_runtest_setup(item: pytest.Item) -> None:
    extras = [name for mark in item.iter_markers("extra") for name in mark.args]
    if missing := [name for name in extras if not installed("ragsweep", name)]:
        pytest.skip(f"needs pip install 'ragsweep[{','.join(missing)}]'")
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


@pytest.fixture
def letters() -> LetterEncoder:
    return LetterEncoder()


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(str(tmp_path / "store"))


@pytest.fixture
def write_pdf() -> WritePdf:
    """Write a PDF: one line of text a page, none where it is empty; `labels` are (page, style, first number)."""

    def write(path: Path, *pages: str, labels=(), password: str | None = None) -> Path:
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
    folder = PROJECT / "data" / "cho_manual"
    return PdfDataset("cho_manual", str(folder / "documents"), str(folder / "test_queries.json")).load()


@pytest.fixture(scope="session")
def manual_pages(manual: Collection) -> Dataset:
    """The bundled manual, one passage a page."""
    return Dataset.from_collection(manual, PageChunker())


@pytest.fixture(scope="session")
def manual_search(manual_pages: Dataset) -> Search:
    """The manual's pages, to be searched for its questions."""
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
    return Dataset.from_collection(BeirDataset("scifact", str(real_data / "scifact")).load(), PageChunker())


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the applications of all workers of this session keep their embeddings."""
    own = tmp_path_factory.getbasetemp()
    return (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "cache"


@pytest.fixture(scope="session")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The overrides that select the small dataset, which no test may change."""
    return small.arguments(tmp_path_factory.mktemp("small"))


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tracking store without runs; MLflow takes seconds to make one."""
    database = tmp_path_factory.mktemp("database") / "mlflow.db"
    MlflowClient(f"sqlite:///{database}").search_experiments()
    return database


@pytest.fixture
def application(tmp_path: Path, cache: Path, empty_database: Path) -> Application:
    """ragsweep on an empty store."""
    (tmp_path / "home").mkdir()
    shutil.copy(empty_database, tmp_path / "home")
    return Application(tmp_path / "home", cache)


@pytest.fixture(scope="module")
def shared_application(tmp_path_factory: pytest.TempPathFactory, cache: Path, empty_database: Path) -> Application:
    """ragsweep on a store that the tests of a module share."""
    home = tmp_path_factory.mktemp("home")
    shutil.copy(empty_database, home)
    return Application(home, cache)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TrackingServer]:
    """A tracking server for all tests that need one; where PostgreSQL is not installed, on SQLite."""
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
    for name, value in server.login.items():
        monkeypatch.setenv(name, value)
    if not server.is_running:  # a test that failed has left it so
        server.start()
    return Client(tmp_path, cache, server)


@pytest.fixture(autouse=True)
def _no_process_outlives_its_test() -> Iterator[None]:
    yield
    warm.kill_all()
