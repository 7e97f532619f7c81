"""A collection of a Qdrant server: how it is searched, restored and left alone, and errors without the key."""

import io
import socket
import subprocess
import sys
import tarfile
import threading
from contextlib import contextmanager, suppress
from typing import ClassVar

import numpy as np
import pytest
from letters import LetterEncoder

from ragsweep.core.errors import ConfigError, RagsweepError, RetrieverError
from ragsweep.testing import SystemContract
from ragsweep_engines import asking, qdrant_retriever
from ragsweep_engines.qdrant_retriever import QdrantRetriever

with suppress(ImportError):  # where they are not installed, the mark skips the tests
    from qdrant_server import qdrant_server, sparse

pytestmark = pytest.mark.extra("qdrant")
KEY = "a-key-that-nobody-may-see"
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


def found(**settings):
    """The ids of the points for each query, and their scores."""
    results = made(**settings).answers(QUERIES, 100).results
    return [{int(each.ids[0]): each.score for each in of_query} for of_query in results]


class TestQdrant(SystemContract):
    component = QdrantRetriever
    settings: ClassVar = {"collection": "manuals", "encoder": LetterEncoder()}


def cosines(query):
    encode = LetterEncoder().encode
    return encode(TEXTS, "passage") @ encode([query], "query")[0]


def test_points_are_those_of_an_exact_search_with_what_their_payload_says(server):
    for query, scores in zip(QUERIES, found(), strict=True):
        best = np.argsort(-cosines(query), kind="stable")[:3]
        assert [*scores] == [10 + row for row in best]
        assert [*scores.values()] == pytest.approx(cosines(query)[best], abs=1e-6)
    [first, *_] = made().answers(QUERIES[:1], 100).results[0]
    row = int(first.ids[0]) - 10
    assert (first.source, first.page, first.text) == (f"docs/{row}.pdf", str(row), TEXTS[row])
    assert server.writes == []


def test_a_threshold_and_a_filter_leave_out_what_they_say(server):
    assert all(score >= 0.7 for scores in found(score_threshold=0.7, depth=5) for score in scores.values())
    for filter_, kept in [
        ({"topic": 1}, {11, 13}),
        ({"metadata.file_path": ["docs/0.pdf", "docs/2.pdf"]}, {10, 12}),
        ({"metadata": {"file_path": "docs/3.pdf"}}, {13}),
    ]:
        assert {point for scores in found(filter=filter_, depth=5) for point in scores} == kept
    assert server.asked[-1]["filter"]["must"][0]["key"] == "metadata.file_path"
    assert {*server.writes} == {"PUT /collections/manuals/index?wait=true"}  # of texts alone
    assert {body["field_name"] for body in server.indexed} == {"metadata.file_path"}


def test_the_sparse_vector_is_made_by_the_server(server):
    [*_, zinc] = found(vector=None, sparse_vector="words", language="german")
    weights = dict(zip(sparse("zinc").indices, sparse("zinc").values, strict=True))
    expected = {
        10 + row: sum(
            weights.get(at, 0) * value for at, value in zip(sparse(text).indices, sparse(text).values, strict=True)
        )
        for row, text in enumerate(TEXTS)
    }
    assert zinc == {point: expected[point] for point in zinc}
    assert server.asked[-1]["query"]["nearest"]["options"] == {"language": "german"}


@pytest.mark.parametrize("fusion", ["rrf", "dbsf"])
def test_both_vectors_are_fused_by_the_server(server, fusion):
    both = {"sparse_vector": "words", "fusion": fusion}
    assert found(**both, candidates=2) != found(**both, candidates=5)
    first, second = server.asked[0]["prefetch"]
    assert (first["limit"], second["using"], server.asked[0]["query"]) == (2, "words", {"fusion": fusion})


def test_settings_of_the_search_reach_the_server(server):
    found(ef_search=7)
    found(exact=True, ef_search=7)
    sent = [(body["params"].get("hnsw_ef"), body["params"]["exact"]) for body in server.asked[2:4]]
    assert sent == [(7, False), (None, True)]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"collection": "nothing"}, r"has no collection 'nothing' \(there is 'manuals'\); set retriever.snapshot"),
        ({"vector": "other"}, r"retriever.vector: collection 'manuals' has no 'other' \(there is ''\)"),
        ({"vector": None, "sparse_vector": "other"}, "retriever.sparse_vector: collection 'manuals' has no 'other'"),
        ({"source": "file"}, r"retriever.source: no result has 'file' \(there is 'id', 'metadata.file_path'"),
    ],
    ids=str,
)
def test_what_a_collection_does_not_have_is_said_before_a_run(settings, said):
    with pytest.raises(RagsweepError, match=said):
        made(**settings).check()


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
    path, server.yellow = snapshot(tmp_path, "config.json", "0/segments/a/segment.json"), 3
    settings = {"collection": "a b", "snapshot": str(path), "filter": {"language": ["en"], "year": 2024}}
    made(**settings).check()
    assert path.read_bytes() in server.uploaded[0]
    assert [line for line in server.log if "snapshots" in line] == ["POST /collections/a%20b/snapshots/upload"]
    assert "Qdrant collection 'a b': 2 points, status green" in capsys.readouterr().err
    assert server.writes == ["PUT /collections/a%20b/index?wait=true"] * 2
    assert [(body["field_name"], body["field_schema"]) for body in server.indexed] == [
        ("language", "keyword"),
        ("metadata.file_path", "keyword"),
    ]
    made(**settings, depth=4).check()
    assert len(server.uploaded) == 1


@pytest.mark.parametrize(
    ("names", "said"), [(None, "cannot be read"), ((), "has no segments"), (("0/config.json",), "has no segments")]
)
def test_a_file_that_is_no_snapshot_is_not_uploaded(server, tmp_path, names, said):
    path = tmp_path / "nosuch" if names is None else snapshot(tmp_path, *names)
    with pytest.raises(RetrieverError, match=rf"retriever\.snapshot: .*{said}"):
        made(collection="other", snapshot=str(path)).check()
    assert server.uploaded == []


def test_the_address_may_be_in_the_project_s_env_file(server, monkeypatch, tmp_path):
    monkeypatch.delenv("QDRANT_URL")
    monkeypatch.delenv("QDRANT_API_KEY")
    with pytest.raises(ConfigError, match="QDRANT_URL: is not set"):
        made().check()
    (tmp_path / ".env").write_text(f"QDRANT_URL={server.url}\nQDRANT_API_KEY={KEY}\n")
    made().check()


@pytest.mark.parametrize(
    ("url", "key", "said"),
    [
        ("http://127.0.0.1:1", KEY, "http://127.0.0.1:1 cannot be reached"),
        (None, "another-key-nobody-may-see", "refuses the key in QDRANT_API_KEY (403"),
        (None, "", "wants a key; set QDRANT_API_KEY"),
        ("https://127.0.0.1:PORT", KEY, "cannot be reached"),
    ],
    ids=["nobody there", "wrong key", "no key", "no TLS"],
)
def test_a_server_that_cannot_be_used_is_said_in_one_line_without_the_key(server, monkeypatch, url, key, said):
    monkeypatch.setenv("QDRANT_URL", (url or server.url).replace("PORT", str(server.server_port)))
    monkeypatch.setenv("QDRANT_API_KEY", key)
    with pytest.raises(RetrieverError) as error:
        made().check()
    assert str(error.value).startswith("QDRANT_URL: ")
    assert said in str(error.value)
    assert "\n" not in str(error.value)
    assert "key-" not in str(error.value)


@contextmanager
def listening(answers):
    """The port of a server that does something else with whoever connects."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=lambda: answers(listener.accept()[0]), daemon=True)
        thread.start()
        yield listener.getsockname()[1]


def test_a_key_does_not_follow_a_redirection(server, monkeypatch):
    def elsewhere(connection):
        connection.recv(10_000)
        connection.sendall(
            f"HTTP/1.1 307 x\r\nLocation: {server.url}/collections\r\nContent-Length: 0\r\n\r\n".encode()
        )

    with listening(elsewhere) as port:
        monkeypatch.setenv("QDRANT_URL", f"http://127.0.0.1:{port}")
        with pytest.raises(RetrieverError, match="307"):
            made().check()
    assert server.log == []


def test_a_key_that_goes_out_without_encryption_is_said(monkeypatch, capsys):
    monkeypatch.setenv("QDRANT_URL", "http://qdrant.example.org:6333")
    qdrant_retriever.connect(1)
    assert capsys.readouterr().err.startswith("QDRANT_URL: qdrant.example.org gets the key without encryption")


@pytest.mark.parametrize(
    "url", [f"https://me:{KEY}@host:6333", f"https://host:6333?api-key={KEY}", f"https://{KEY}.example", "host:6333"]
)
def test_an_address_with_a_key_in_it_is_not_repeated(monkeypatch, url):
    monkeypatch.setenv("QDRANT_URL", url)
    with pytest.raises(ConfigError, match="QDRANT_URL: expected an address") as error:
        made().check()
    assert KEY not in str(error.value)


def test_nothing_of_qdrant_is_loaded_before_it_is_used():
    code = (
        "import sys, ragsweep_engines.qdrant_retriever; assert not [n for n in sys.modules if n.startswith('qdrant_')]"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
