"""A collection of a Qdrant server: searched, restored, measured and left alone, and its key is kept nowhere."""

import io
import re
import subprocess
import sys
import tarfile
from contextlib import suppress
from typing import ClassVar

import numpy as np
import pytest
import small
from application import in_this_process, succeeded
from endpoint_server import Reply
from letters import LetterEncoder
from search_server import SearchServer

from ragsweep.core.errors import ConfigError, RagsweepError, RetrieverError
from ragsweep.retrieval import WordLlamaEncoder
from ragsweep.testing import SystemContract
from ragsweep_engines import asking, qdrant_retriever
from ragsweep_engines.qdrant_retriever import QdrantRetriever

with suppress(ImportError):  # where they are not installed, the mark skips the tests
    from qdrant_server import qdrant_server, sparse

pytestmark = pytest.mark.extra("qdrant")
KEY = "a-key-that-nobody-may-see-" + "0123456789"  # a run records the changes of a clone, which may have this line
TEXTS = [
    "iron tablets are taken daily",
    "malaria is found with a rapid test",
    "zinc for fourteen days after loose stool",
    "blood pressure is measured at every visit",
    "vaccines are kept between two and eight degrees",
]
QUERIES = ("when is iron taken", "rapid test for malaria", "zinc")
PAYLOADS = [
    {"metadata": {"file_path": f"docs/{at}.pdf", "page": at}, "content": text, "topic": at % 2}
    for at, text in enumerate(TEXTS)
]


@pytest.fixture(autouse=True)
def server(monkeypatch, tmp_path):
    monkeypatch.setattr(asking, "FIRST_WAIT_S", 0.001)
    monkeypatch.setenv("RAGSWEEP_PROJECT", str(tmp_path))
    with qdrant_server(KEY) as running:
        running.fill("manuals", PAYLOADS, TEXTS)
        monkeypatch.setenv("QDRANT_URL", running.url)
        monkeypatch.setenv("QDRANT_API_KEY", KEY)
        yield running


def made(**settings):
    return QdrantRetriever(**{"collection": "manuals", "encoder": LetterEncoder(), "depth": 3, **settings})


def points(**settings):
    """The ids of the points for each query, and their scores."""
    results = made(**settings).answers(QUERIES, 100).results
    return [{int(hit.ids[0]): hit.score for hit in hits} for hits in results]


class TestQdrant(SystemContract):
    component = QdrantRetriever
    settings: ClassVar = {"collection": "manuals", "encoder": LetterEncoder()}


def cosines(query):
    encode = LetterEncoder().encode
    return encode(TEXTS, "passage") @ encode([query], "query")[0]


def test_points_are_those_of_an_exact_search_with_what_their_payload_says(server):
    for query, scores in zip(QUERIES, points(), strict=True):
        best = np.argsort(-cosines(query), kind="stable")[:3]
        assert [*scores] == [10 + row for row in best]
        assert [*scores.values()] == pytest.approx(cosines(query)[best], abs=1e-6)
    [first, *_] = made().answers(QUERIES[:1], 100).results[0]
    row = int(first.ids[0]) - 10
    assert (first.source, first.page, first.text) == (f"docs/{row}.pdf", str(row), TEXTS[row])
    assert server.writes == []


def test_a_threshold_and_a_filter_leave_out_what_they_say(server):
    assert all(score >= 0.7 for scores in points(score_threshold=0.7, depth=5) for score in scores.values())
    for filter_, kept in [
        ({"topic": 1}, {11, 13}),
        ({"metadata.file_path": ["docs/0.pdf", "docs/2.pdf"]}, {10, 12}),
        ({"metadata": {"file_path": "docs/3.pdf"}}, {13}),
    ]:
        assert {point for scores in points(filter=filter_, depth=5) for point in scores} == kept
    assert server.asked[-1]["filter"]["must"][0]["key"] == "metadata.file_path"
    assert {*server.writes} == {"PUT /collections/manuals/index?wait=true"}  # of texts alone
    assert {body["field_name"] for body in server.indexed} == {"metadata.file_path"}


def test_the_server_makes_the_sparse_vector_fuses_both_and_gets_the_settings_of_the_search(server):
    [*_, zinc] = points(vector=None, sparse_vector="words", language="german")
    weights, *of_texts = (dict(zip(*vars(sparse(text)).values(), strict=True)) for text in ("zinc", *TEXTS))
    products = [sum(weights.get(at, 0) * value for at, value in of_text.items()) for of_text in of_texts]
    assert zinc == {point: products[point - 10] for point in zinc}
    assert server.asked[-1]["query"]["nearest"]["options"] == {"language": "german"}
    for fusion in ("rrf", "dbsf"):
        server.asked.clear()
        both = {"sparse_vector": "words", "fusion": fusion}
        assert points(**both, candidates=2) != points(**both, candidates=5)
        first, second = server.asked[0]["prefetch"]
        assert (first["limit"], second["using"], server.asked[0]["query"]) == (2, "words", {"fusion": fusion})
    for settings, sent in (({"ef_search": 7}, (7, False)), ({"exact": True, "ef_search": 7}, (None, True))):
        points(**settings)
        params = server.asked[-1]["params"]
        assert (params.get("hnsw_ef"), params["exact"]) == sent


REFUSED = [
    ({"collection": "nothing"}, r"has no collection 'nothing' \(there is 'manuals'\); set retriever.snapshot"),
    ({"vector": "other"}, r"retriever.vector: collection 'manuals' has no 'other' \(there is ''\)"),
    ({"vector": None, "sparse_vector": "other"}, "retriever.sparse_vector: collection 'manuals' has no 'other'"),
    ({"source": "file"}, r"retriever.source: no result has 'file' \(there is 'id', 'metadata.file_path'"),
]


def snapshot(folder, *names):
    path = folder / "manuals.snapshot"
    with tarfile.open(path, "w:") as archive:
        for name in names:
            archive.addfile(tarfile.TarInfo(name), io.BytesIO())
    return path


def test_a_snapshot_is_restored_where_the_collection_is_absent_and_its_source_is_indexed(
    server, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(qdrant_retriever.time, "sleep", lambda seconds: None)
    for names, message in ((None, "cannot be read"), ((), "has no segments"), (("0/config.json",), "has no segments")):
        path = tmp_path / "nosuch" if names is None else snapshot(tmp_path, *names)
        with pytest.raises(RetrieverError, match=rf"retriever\.snapshot: .*{message}"):
            made(collection="other", snapshot=str(path)).check()
    assert server.uploaded == []
    path, server.yellow = snapshot(tmp_path, "config.json", "0/segments/a/segment.json"), 3
    settings = {"collection": "a b", "snapshot": str(path), "filter": {"language": ["en"], "year": 2024}}
    made(**settings).check()
    assert path.read_bytes() in server.uploaded[0]
    assert [line for line in server.log if "snapshots" in line] == ["POST /collections/a%20b/snapshots/upload"]
    assert "Qdrant collection 'a b': 2 points, status green" in capsys.readouterr().err
    assert server.writes == ["PUT /collections/a%20b/index?wait=true"] * 2
    indexed = [(body["field_name"], body["field_schema"]) for body in server.indexed]
    assert indexed == [("language", "keyword"), ("metadata.file_path", "keyword")]
    made(**settings, depth=4).check()
    assert len(server.uploaded) == 1


def test_what_cannot_be_used_is_said_in_one_line_without_the_key_before_a_run(server, monkeypatch, tmp_path, capsys):
    for settings, message in REFUSED:
        with pytest.raises(RagsweepError, match=message):
            made(**settings).check()
    port = server.server_port
    with_key = (f"https://me:{KEY}@host:6333", f"https://host:6333?api-key={KEY}", f"https://{KEY}.example", "host:1")
    for url, key, message in [
        ("http://127.0.0.1:1", KEY, "http://127.0.0.1:1 cannot be reached"),
        (f"http://127.0.0.1:{port}", "another-key-nobody-may-see", "refuses the key in QDRANT_API_KEY (403"),
        (f"http://127.0.0.1:{port}", "", "wants a key; set QDRANT_API_KEY"),
        (f"https://127.0.0.1:{port}", KEY, "cannot be reached"),
        *((place, KEY, "expected an address") for place in with_key),
    ]:
        monkeypatch.setenv("QDRANT_URL", url)
        monkeypatch.setenv("QDRANT_API_KEY", key)
        with pytest.raises(RagsweepError, match=rf"\AQDRANT_URL: [^\n]*{re.escape(message)}[^\n]*\Z") as error:
            made().check()
        assert "key-" not in str(error.value)

    monkeypatch.setenv("QDRANT_URL", "http://qdrant.example.org:6333")
    qdrant_retriever.connect(1)
    assert capsys.readouterr().err.startswith("QDRANT_URL: qdrant.example.org gets the key without encryption")

    monkeypatch.delenv("QDRANT_URL")
    monkeypatch.delenv("QDRANT_API_KEY")
    with pytest.raises(ConfigError, match="QDRANT_URL: is not set"):
        made().check()
    (tmp_path / ".env").write_text(f"QDRANT_URL={server.url}\nQDRANT_API_KEY={KEY}\n")
    made().check()


def test_a_key_does_not_follow_a_redirection(server, monkeypatch):
    elsewhere = Reply(b"", 307, {"Location": f"{server.url}/collections"})
    with SearchServer(lambda query, time: elsewhere) as other:
        monkeypatch.setenv("QDRANT_URL", other.url.removesuffix("/search"))
        with pytest.raises(RetrieverError, match="307"):
            made().check()
    assert server.log == []


@pytest.mark.usefixtures("processes")
def test_nothing_of_qdrant_is_loaded_before_it_is_used():
    code = "import sys, ragsweep_engines.qdrant_retriever; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert "ragsweep_engines" in loaded
    assert "qdrant_client" not in loaded


def run_without_key(application, *given):
    """A run, of which neither the output nor any file has the key: database, artifacts, outputs and store."""
    process = application.script_here("run", *application.arguments("retriever=qdrant", *given))
    folders = (application.home, application.cache)
    files = [path.read_bytes() for folder in folders for path in folder.rglob("*") if path.is_file()]
    assert files
    assert not any(KEY.encode() in text for text in (process.stdout.encode(), process.stderr.encode(), *files))
    return process


def test_a_collection_is_measured_and_a_wrong_key_refused_before_a_run(application, dataset, server):
    """Its points are chunks of the pages of the dataset, which their payload names."""
    pages = [(name, at, text) for name, texts in small.PAGES.items() for at, text in enumerate(texts, 1)]
    chunks = [(source, page, part) for source, page, text in pages for part in text.partition(". ")[::2] if part]
    payloads = [{"file_path": f"/data/{source}", "page": page, "content": text} for source, page, text in chunks]
    texts = [text for *_, text in chunks]
    server.fill("pages", payloads, texts, WordLlamaEncoder().encode(texts, "passage"))
    settings = ("retriever.collection=pages", "encoder=wordllama", "k=3", *dataset)
    server.key, server.status = "the right one", 401
    refused = run_without_key(application, *settings)
    assert refused.returncode == 2, refused.stderr
    *_, line = refused.stderr.splitlines()
    assert f"QDRANT_URL: {server.url} refuses the key in QDRANT_API_KEY (401" in line
    assert "Traceback" not in refused.stderr
    assert application.runs() == []

    server.key = KEY
    process = succeeded(run_without_key(application, *settings))
    succeeded(run_without_key(application, *settings, "retriever.score_threshold=2"))  # which removes everything
    run, without_hits = application.runs()
    assert without_hits.data.metrics["hit_rate"] == 0
    assert run.data.metrics["hit_rate"] > 0.5
    assert f"Qdrant collection 'pages': {len(texts)} points, status green" in process.stderr
    assert "Results read by id=id, source=file_path, page=page, text=content, score=score." in process.stderr
    assert server.writes == []


def test_a_command_shows_a_collection_and_the_chunks_of_a_document(tmp_path, server):
    chunks = [f"page {number} of the manual" for number in range(120)]  # more than one request lists
    payloads = [{"metadata": {"file_path": "a.pdf"}, "content": text} for text in chunks]
    payloads.append({"metadata": {"file_path": "b.pdf"}, "content": "another one"})
    server.fill("pages", payloads, [*chunks, "another one"])

    def shown(*arguments):
        process = in_this_process(tmp_path, "qdrant", *arguments)
        assert KEY not in process.stdout + process.stderr
        return process.returncode, process.stdout.splitlines(), process.stderr

    assert shown() == (0, ["manuals", "pages"], "")
    _, about, _ = shown("pages")
    assert {"status: green", "points: 121", "sparse vectors: words"} <= {*about}
    assert any(line.startswith("vectors: (no name), ") for line in about)
    _, listed, _ = shown("pages", "--document", "a.pdf")
    assert listed == [f"{number} (id {10 + number}): {text}" for number, text in enumerate(chunks)]
    refusals = {
        ("nosuch",): "nosuch",
        ("pages", "--document", "c.pdf"): "--document: no point has 'c.pdf' in metadata.file_path",
        ("pages", "--document", "a.pdf", "--field", "topic"): "--field: no point has a document in topic",
    }
    for arguments, message in refusals.items():
        status, out, err = shown(*arguments)
        assert (status, out, message in err) == (2, [], True)
    assert server.writes == []
