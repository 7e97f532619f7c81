"""Whole runs with Qdrant: what is recorded, what is refused before anything is, and that no key is kept anywhere."""

from contextlib import suppress

import pytest
import small

with suppress(ImportError):  # where they are not installed, the mark skips the tests
    from qdrant_client import models
    from qdrant_server import qdrant_server

pytestmark = pytest.mark.extra("qdrant")
KEY = "sk-nobody-may-ever-see-this-0123456789"
PAGES = [(name, at, text) for name, pages in small.PAGES.items() for at, text in enumerate(pages, 1) if text]
COLLECTION = ("retriever=qdrant", "retriever.collection=manuals")


def assert_no_key(application, process):
    """Neither the output nor any file has it: database, artifacts, outputs and store."""
    folders = (application.home, application.cache)
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    texts = [process.stdout.encode(), process.stderr.encode(), *(path.read_bytes() for path in files)]
    assert len(texts) > 2
    assert not any(KEY.encode() in text for text in texts)


def assert_refused(application, process, expected):
    """Exit status 2, one line that says it after what is unusual about the dataset, and nothing recorded."""
    assert process.returncode == 2, process.stderr
    *_, line = process.stderr.splitlines()
    assert line.startswith(expected) or f": {expected}" in line
    assert "Traceback" not in process.stderr
    assert application.runs() == []
    assert_no_key(application, process)


def test_a_wrong_key_is_refused_before_a_run_and_kept_nowhere(application, dataset):
    with qdrant_server("the right one", 401) as server:
        process = application.run(*COLLECTION, *dataset, QDRANT_URL=server.url, QDRANT_API_KEY=KEY)
    assert_refused(application, process, f"QDRANT_URL: {server.url} refuses the key in QDRANT_API_KEY (401")
    assert server.writes == []


def test_a_server_that_is_not_there_is_named_before_a_run(application, dataset):
    process = application.run(*COLLECTION, *dataset, QDRANT_URL="http://127.0.0.1:9", QDRANT_API_KEY=KEY)
    assert_refused(application, process, "QDRANT_URL: http://127.0.0.1:9 cannot be reached")


WORDS = (*COLLECTION, "retriever.vector=null", "retriever.sparse_vector=words")


@pytest.fixture
def filled():
    """A server with a collection of pages; its vectors are those of BM25 alone."""
    import qdrant_edge as edge

    with qdrant_server(KEY) as server:
        sparse = {"words": models.SparseVectorParams(modifier=models.Modifier.IDF)}
        server.local.create_collection("manuals", {}, sparse)
        bm25 = edge.Bm25()
        for number, (source, page, text) in enumerate(PAGES):
            words = bm25.embed_document(text)
            vector = {"words": models.SparseVector(indices=list(words.indices), values=list(words.values))}
            payload = {"file_path": f"/data/{source}", "page": page, "content": text, "whole": "manual.txt"}
            server.local.upsert("manuals", [models.PointStruct(id=number, vector=vector, payload=payload)])
        yield server


def test_a_server_s_collection_is_measured(application, dataset, filled):
    """Its points name the pages of the dataset."""
    settings = ("retriever.payload.page=page", *dataset)
    process = application.run(*WORDS, *settings, QDRANT_URL=filled.url, QDRANT_API_KEY=KEY)
    assert process.returncode == 0, process.stderr
    assert filled.writes == []
    [run] = application.runs()
    assert run.data.metrics["hit_rate"] > 0.5
    assert_no_key(application, process)


def test_spans_are_refused_before_a_run(application, filled, tmp_path):
    spans = [*small.span_arguments(tmp_path / "data"), "evaluation=spans", "retriever.payload.source=whole"]
    process = application.run(*WORDS, *spans, QDRANT_URL=filled.url, QDRANT_API_KEY=KEY)
    assert_refused(application, process, "retriever=qdrant: spans are judged")
    assert "retriever=callable" in process.stderr
