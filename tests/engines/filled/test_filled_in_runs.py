"""A database of somebody else in whole runs: measured, kept, compared, and refused before anything is recorded."""

import pytest
import strangers

from ragsweep.retrieval import WordLlamaEncoder
from ragsweep_engines.lancedb import database_of

pytestmark = pytest.mark.extra("lancedb")


@pytest.fixture
def folder(tmp_path):
    """A table with the embeddings of the encoder of the run."""
    vectors = WordLlamaEncoder().encode(strangers.texts(), "passage")
    rows = zip(vectors, strangers.ids(), strangers.texts(), strangers.metadatas(), strict=True)
    rows = [{"vector": vector, "id": name, "text": text, "metadata": each} for vector, name, text, each in rows]
    database_of(tmp_path / "theirs").create_table("manuals", rows)
    return tmp_path / "theirs"


def test_a_table_is_measured_and_compared_when_it_is_gone(application, dataset, folder):
    settings = ["retriever=lancedb", f"retriever.path={folder}", "retriever.table=manuals", "encoder=wordllama", "k=2"]
    process = application.run(*dataset, *settings, "retriever.first_page=0")
    assert process.returncode == 0, process.stderr
    [run] = application.runs()
    assert run.data.metrics["recall"] > 0.5
    assert run.data.metrics["latency/mean_ms"] > 0
    (folder / "manuals.lance").rename(folder / "gone")
    again = application.script("reproduce", run.info.run_id, "--no-log", *dataset[2:])
    assert again.returncode == 0, again.stderr
    assert "by what the system had returned" in again.stdout
    assert "identical: " in again.stdout


def test_pages_from_0_are_said(application, dataset, folder):
    settings = ["retriever=lancedb", f"retriever.path={folder}", "retriever.table=manuals", "encoder=wordllama", "k=2"]
    process = application.run(*dataset, *settings)
    assert "set retriever.first_page=0" in process.stdout + process.stderr


def test_a_table_that_is_not_there_is_refused_before_anything_is_recorded(application, dataset, folder):
    settings = ["retriever=lancedb", f"retriever.path={folder}", "retriever.table=nothing", "encoder=wordllama"]
    process = application.run(*dataset, *settings)
    assert process.returncode == 2
    assert "has no table 'nothing' (there is 'manuals')" in process.stderr.splitlines()[-1]
    assert application.runs() == []
