"""What the tests of several rooms share: small real PDFs, a store, an encoder, and the datasets that come with us."""

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from application import Application
from reportlab.pdfgen.canvas import Canvas

from ragsweep.config import PROJECT
from ragsweep.datasets import BeirDataset, Collection, Dataset, PageChunker, PdfDataset
from ragsweep.retrieval import Task
from ragsweep.store import Store

WritePdf = Callable[..., Path]


class LetterEncoder:
    """Embeds a text by how often it has each letter: an encoder of one's own, exact and fast."""

    fingerprint = "letters"

    def encode(self, texts, role):
        counts = np.array([[text.lower().count(chr(letter)) for letter in range(97, 123)] for text in texts], float)
        return (counts / np.linalg.norm(counts, axis=1, keepdims=True).clip(min=1)).astype(np.float32)


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
def manual_task(manual_pages: Dataset) -> Task:
    """The manual's pages, to be searched for its questions."""
    return Task(manual_pages.texts, tuple(query.text for query in manual_pages.queries))


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
    """Where the applications of this session keep their embeddings."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def application(tmp_path: Path, cache: Path) -> Application:
    """ragsweep on an empty store."""
    (tmp_path / "home").mkdir()
    return Application(tmp_path / "home", cache)


@pytest.fixture(scope="module")
def shared_application(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Application:
    """ragsweep on a store that the tests of a module share."""
    return Application(tmp_path_factory.mktemp("home"), cache)
