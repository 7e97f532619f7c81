"""Whole runs with Qdrant: what is recorded, what is refused before anything is, and that no key is kept anywhere."""

from contextlib import suppress

import pytest
import small
from application import in_this_process

from ragsweep.retrieval import WordLlamaEncoder

with suppress(ImportError):  # where they are not installed, the mark skips the tests
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


def test_a_collection_is_measured(application, dataset):
    """Its points are chunks of the pages of the dataset, which their payload names."""
    texts = [part for _, _, text in PAGES for part in text.partition(". ")[::2] if part]
    whose = [(source, page) for source, page, text in PAGES for part in text.partition(". ")[::2] if part]
    payloads = [
        {"file_path": f"/data/{source}", "page": page, "content": text}
        for (source, page), text in zip(whose, texts, strict=True)
    ]
    with qdrant_server(KEY) as server:
        server.fill("manuals", payloads, texts, WordLlamaEncoder().encode(texts, "passage"))
        settings = ("encoder=wordllama", "k=3", *dataset)
        process = application.run(*COLLECTION, *settings, QDRANT_URL=server.url, QDRANT_API_KEY=KEY)
        assert process.returncode == 0, process.stderr
        assert server.writes == []
        strict = application.run(
            *COLLECTION, *settings, "retriever.score_threshold=2", QDRANT_URL=server.url, QDRANT_API_KEY=KEY
        )
    assert strict.returncode == 0, strict.stderr  # its own threshold removes everything, which is no failure
    run, nothing = application.runs()
    assert nothing.data.metrics["hit_rate"] == 0
    assert run.data.metrics["hit_rate"] > 0.5
    printed = process.stdout + process.stderr
    assert f"Qdrant collection 'manuals': {len(texts)} points, status green" in printed
    assert "Results read by id=id, source=file_path, page=page, text=content, score=score." in printed
    assert_no_key(application, process)


def test_a_command_shows_a_collection_and_the_chunks_of_a_document(tmp_path):
    chunks = [f"page {number} of the manual" for number in range(120)]  # more than one request lists
    payloads = [{"metadata": {"file_path": "a.pdf"}, "content": text} for text in chunks]
    payloads.append({"metadata": {"file_path": "b.pdf"}, "content": "another one"})

    def shown(*arguments):
        process = in_this_process(tmp_path, "qdrant", *arguments, QDRANT_URL=server.url, QDRANT_API_KEY=KEY)
        assert KEY not in process.stdout + process.stderr
        return process.returncode, process.stdout.splitlines(), process.stderr

    with qdrant_server(KEY) as server:
        server.fill("manuals", payloads, [*chunks, "another one"])
        assert shown() == (0, ["manuals"], "")
        _, about, _ = shown("manuals")
        assert {"status: green", "points: 121", "sparse vectors: words"} <= {*about}
        assert any(line.startswith("vectors: (no name), ") for line in about)
        _, listed, _ = shown("manuals", "--document", "a.pdf")
        assert listed == [f"{number} (id {10 + number}): {text}" for number, text in enumerate(chunks)]
        for arguments, said in {
            ("nosuch",): "nosuch",
            ("manuals", "--document", "c.pdf"): "--document: no point has 'c.pdf' in metadata.file_path",
            ("manuals", "--document", "a.pdf", "--field", "topic"): "--field: no point has a document in topic",
        }.items():
            status, out, err = shown(*arguments)
            assert (status, out, said in err) == (2, [], True)
        assert server.writes == []
