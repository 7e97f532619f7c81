"""A database of somebody else in whole runs: measured, kept, compared, and refused before anything is recorded."""

import json

import pytest
import strangers
from postgres import address, postgres

from ragsweep.retrieval import WordLlamaEncoder

pytestmark = pytest.mark.extra("pgvector")


@pytest.fixture(scope="module")
def server():
    with postgres("shared_buffers=16MB") as folder:
        yield address(folder)


@pytest.fixture
def rows(server):
    """A connection to a table with the embeddings of the encoder of the run."""
    import psycopg

    vectors = WordLlamaEncoder().encode(strangers.texts(), "passage").tolist()
    metadatas = map(json.dumps, strangers.metadatas())
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        connection.execute("CREATE TABLE manuals (id text, text text, metadata jsonb, embedding vector)")
        for row in zip(strangers.ids(), strangers.texts(), metadatas, map(str, vectors), strict=True):
            connection.execute("INSERT INTO manuals VALUES (%s, %s, %s, %s)", row)
        yield connection
        connection.execute("DROP TABLE IF EXISTS manuals")


SETTINGS = ["retriever=postgres", "retriever.table=manuals", "encoder=wordllama", "k=2"]


def test_a_table_is_measured_and_compared_when_it_is_gone(application, dataset, server, rows):
    process = application.run(*dataset, *SETTINGS, "retriever.first_page=0", PGVECTOR_URL=server)
    assert process.returncode == 0, process.stderr
    [run] = application.runs()
    assert run.data.metrics["recall"] > 0.5
    assert run.data.metrics["latency/mean_ms"] > 0
    rows.execute("DROP TABLE manuals")
    again = application.script("reproduce", run.info.run_id, *dataset[2:], PGVECTOR_URL=server)
    assert again.returncode == 0, again.stderr
    assert "by what the system had returned" in again.stdout
    assert "identical: " in again.stdout
