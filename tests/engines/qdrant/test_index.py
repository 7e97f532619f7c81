"""Qdrant as an index, in this process and on a server: built once, reused, finished after a kill, and deleted."""

import importlib.util
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest
from letters import LetterEncoder

from ragsweep.core.errors import ConfigError, RetrieverError
from ragsweep.retrieval import DenseRetriever, Search
from ragsweep.retrieval.indexes.engine import Corpus
from ragsweep.store.stage_store import Store
from ragsweep.testing import RankerContract
from ragsweep_engines.qdrant import QdrantIndex

with suppress(ImportError):  # where they are not installed, the mark skips the tests
    from qdrant_server import qdrant_server

pytestmark = pytest.mark.extra("qdrant")
KEY = "a-key-that-nobody-may-see"


@pytest.fixture(autouse=True)
def no_server(monkeypatch, tmp_path):
    monkeypatch.delenv("QDRANT_URL", raising=False)
    monkeypatch.delenv("QDRANT_API_KEY", raising=False)
    monkeypatch.setenv("RAGSWEEP_PROJECT", str(tmp_path))


@pytest.fixture
def server(monkeypatch):
    with qdrant_server(KEY) as running:
        monkeypatch.setenv("QDRANT_URL", running.url)
        monkeypatch.setenv("QDRANT_API_KEY", KEY)
        yield running


@pytest.fixture(scope="module")
def corpus():
    """Random embeddings around a few centres, so that a graph can miss some."""
    rng = np.random.default_rng(0)
    near = rng.standard_normal((20, 32))[rng.integers(20, size=1200)] + rng.standard_normal((1200, 32))
    embeddings = (near / np.linalg.norm(near, axis=1, keepdims=True)).astype(np.float32)
    texts = tuple(f"passage {number}" for number in range(1200))
    return Corpus(embeddings, "of these", texts, tuple(f"{number % 7}.pdf" for number in range(1200)))


def folders(place):
    return sorted(path for path in place.iterdir() if path.is_dir())


class QdrantContract(RankerContract):
    component = DenseRetriever
    index: ClassVar = {"server": False}

    def make(self, store, **settings):
        return super().make(store, **{"encoder": LetterEncoder(), "index": QdrantIndex(**self.index)} | settings)


class TestQdrantInThisProcess(QdrantContract):
    pass


class TestQdrantComparingAll(QdrantContract):
    index: ClassVar = {"server": False, "exact": True}


def test_exact_search_is_that_of_all_inner_products(corpus, tmp_path):
    queries = corpus.embeddings[::40] + np.float32(0.1)
    found = QdrantIndex(path=str(tmp_path), exact=True).open_corpus(corpus)(queries, 50)
    products = queries.astype(float) @ corpus.embeddings.T.astype(float)
    assert np.array_equal(found.passages, np.argsort(-products, axis=1, kind="stable")[:, :50])


def ids(index, corpus, depth=20):
    return index.open_corpus(corpus)(corpus.embeddings[::40] + np.float32(0.1), depth).passages


@pytest.mark.parametrize(
    "changed", [{"m": 2}, {"ef_construct": 4}, {"ef_search": 1}, {"quantize": "binary"}, {"exact": True}], ids=str
)
def test_every_setting_of_the_graph_changes_what_is_found(corpus, tmp_path, changed):
    index = QdrantIndex(path=str(tmp_path), m=4, ef_construct=8, ef_search=40)
    assert not np.array_equal(ids(index, corpus), ids(replace(index, **changed), corpus))


def test_more_candidates_find_more_of_the_exact_ranking(corpus, tmp_path):
    exact = ids(QdrantIndex(path=str(tmp_path), exact=True), corpus)
    recalls = []
    for ef_search in (20, 80, 1200):
        found = ids(QdrantIndex(path=str(tmp_path), m=4, ef_construct=8, ef_search=ef_search), corpus)
        shared = [len({*one} & {*other}) for one, other in zip(exact.tolist(), found.tolist(), strict=True)]
        recalls.append(np.mean(shared) / 20)
    assert recalls == sorted(recalls)  # the graph is built in threads: two may be equal
    assert recalls[0] < recalls[2] == pytest.approx(1, abs=0.02)


def test_settings_of_the_graph_have_no_effect_on_exact_search():
    exact = QdrantIndex(exact=True)
    assert {"m", "ef_construct", "ef_search", "quantize"} <= {*exact.without_effect}
    assert QdrantIndex().at_least == {"ef_search": "k"}


def test_a_collection_is_built_once(corpus, tmp_path):
    index = QdrantIndex(path=str(tmp_path))
    first = ids(index, corpus)
    [folder] = folders(tmp_path)
    built = (folder / "ragsweep.json").stat().st_mtime_ns
    assert np.array_equal(ids(index, corpus), first)
    assert ids(replace(index, ef_search=20), corpus).shape == first.shape
    assert [(each / "ragsweep.json").stat().st_mtime_ns for each in folders(tmp_path)] == [built]


def test_another_corpus_is_another_collection_and_only_its_own_is_deleted(corpus, tmp_path):
    index, other = QdrantIndex(path=str(tmp_path)), replace(corpus, digest="other")
    for each in (corpus, other):
        index.open_corpus(each)
    (tmp_path / "of somebody else").mkdir()
    assert len(folders(tmp_path)) == 3
    index.delete(corpus.digest)
    assert len(folders(tmp_path)) == 2
    assert (tmp_path / "of somebody else").is_dir()
    index.delete(corpus.digest)
    index.open_corpus(other)


def test_points_carry_the_source_and_if_wanted_the_text(corpus, tmp_path):
    import qdrant_edge as edge

    payloads = {}
    for keep_text in (False, True):
        place = tmp_path / str(keep_text)
        QdrantIndex(path=str(place), keep_text=keep_text).open_corpus(corpus)
        [folder] = folders(place)
        shard = edge.EdgeShard.load(str(folder / "shard"))
        wanted = edge.Filter(must=[edge.FieldCondition("source", match=edge.MatchValue("3.pdf"))])
        points, _ = shard.scroll(edge.ScrollRequest(limit=2, filter=wanted, with_payload=True))
        payloads[keep_text] = {point.id: point.payload for point in points}
        assert "source" in shard.info().payload_schema
        shard.close()
    assert payloads[False] == {3: {"source": "3.pdf"}, 10: {"source": "3.pdf"}}
    assert payloads[True][3] == {"source": "3.pdf", "text": "passage 3"}


@pytest.mark.parametrize(
    ("notes", "found"),
    [(None, "was not written by ragsweep"), ({"corpus": "x"}, "another corpus"), ({"dimensions": 3}, "dimensions 3")],
)
def test_a_folder_of_something_else_is_refused_and_left_as_it_is(corpus, tmp_path, notes, found):
    index = QdrantIndex(path=str(tmp_path))
    index.open_corpus(corpus)
    [folder] = folders(tmp_path)
    file = folder / "ragsweep.json"
    if notes is None:
        file.unlink()
    else:
        file.write_text(json.dumps(json.loads(file.read_text()) | notes))
    before = sorted((path, path.stat().st_mtime_ns) for path in tmp_path.rglob("*") if path.suffix != ".lock")
    with pytest.raises(RetrieverError, match=f"index.path.*{found}"):
        index.open_corpus(corpus)
    assert before == sorted((path, path.stat().st_mtime_ns) for path in tmp_path.rglob("*") if path.suffix != ".lock")


BUILD = """
import sys, time
import numpy as np
from ragsweep_engines.qdrant import QdrantIndex
from ragsweep.retrieval.indexes.engine import Corpus
from ragsweep_engines.qdrant import embedded
batches = embedded.batches
def slowly(*arguments, **settings):
    for batch in batches(*arguments, **settings):
        yield batch
        print("written", flush=True)
        time.sleep(60)
embedded.batches = slowly
embeddings = np.load(sys.argv[2])
texts = tuple(f"passage {number}" for number in range(len(embeddings)))
documents = tuple(f"{number % 7}.pdf" for number in range(len(embeddings)))
QdrantIndex(path=sys.argv[1], exact=True).open_corpus(Corpus(embeddings, "of these", texts, documents))
"""


def test_what_a_killed_process_has_begun_is_built_anew(corpus, tmp_path):
    np.save(tmp_path / "embeddings.npy", corpus.embeddings)
    place = tmp_path / "engine"
    command = [sys.executable, "-c", BUILD, str(place), str(tmp_path / "embeddings.npy")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "written\n"
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert [folder.suffix for folder in folders(place)] == [".partial"]
    found = ids(QdrantIndex(path=str(place), exact=True), corpus)
    assert np.array_equal(found, ids(QdrantIndex(path=str(tmp_path / "other"), exact=True), corpus))
    assert [folder.suffix for folder in folders(place)] == [""]


def test_two_processes_can_use_a_collection(corpus, tmp_path):
    """One waits until the other has closed it."""
    np.save(tmp_path / "embeddings.npy", corpus.embeddings)
    code = BUILD.replace("time.sleep(60)", "time.sleep(0.1)") + "print('done')\n"
    command = [sys.executable, "-c", code, str(tmp_path / "engine"), str(tmp_path / "embeddings.npy")]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    said = [process.communicate(timeout=60)[0].split() for process in processes]
    assert sorted(said) == [["done"], ["written", "written", "written", "done"]]


def test_it_is_on_the_server_that_the_environment_names(corpus, server, tmp_path):
    index = QdrantIndex(path=str(tmp_path), exact=True)
    assert index.server is True
    assert np.array_equal(ids(index, corpus), ids(QdrantIndex(path=str(tmp_path), exact=True, server=False), corpus))
    [made] = server.made
    assert made["vectors"] == {"size": 32, "distance": "Dot"}
    [name] = server.metadata
    assert name.startswith("ragsweep-")
    assert server.metadata[name]["ragsweep"].items() >= {"corpus": "of these", "complete": True}.items()
    point = server.local.retrieve(name, [5])[0]
    assert point.payload == {"source": "5.pdf"}
    assert any(line.startswith(f"PUT /collections/{name}/index") for line in server.log)


def test_the_settings_of_the_graph_reach_the_server(corpus, server):
    ids(QdrantIndex(m=8, ef_construct=50, ef_search=77, quantize="int8"), corpus)
    [made], asked = server.made, server.asked[0]["searches"][0]
    assert made["hnsw_config"] == {"m": 8, "ef_construct": 50, "full_scan_threshold": 10}
    assert made["quantization_config"] == {"scalar": {"type": "int8"}}
    assert asked["params"] == {"hnsw_ef": 77, "exact": False}


def test_a_complete_collection_of_the_server_is_not_written_again(corpus, server):
    first = ids(QdrantIndex(), corpus)
    written = len(server.writes)
    assert np.array_equal(ids(QdrantIndex(), corpus), first)
    assert len(server.writes) == written


def test_a_collection_that_was_not_finished_is_finished(corpus, server):
    server.stop_after = 1
    with pytest.raises(RetrieverError, match="QDRANT_URL"):
        ids(QdrantIndex(), corpus)
    [name] = server.metadata
    assert server.local.count(name).count == 512
    assert server.metadata[name]["ragsweep"]["complete"] is False
    server.stop_after = None
    ids(QdrantIndex(), corpus)
    assert server.local.count(name).count == 1200


@pytest.mark.parametrize(
    ("metadata", "found"),
    [
        ({}, "was not made by ragsweep"),
        ({"ragsweep": {"corpus": "x", "complete": True}}, "holds another corpus"),
        ("dimensions", "vectors of other dimensions"),
    ],
    ids=["of somebody else", "another corpus", "other dimensions"],
)
def test_a_collection_of_something_else_is_refused_and_not_written(corpus, server, metadata, found):
    from qdrant_client import models

    ids(QdrantIndex(), corpus)
    [name] = server.metadata
    if metadata == "dimensions":
        server.local.delete_collection(name)
        server.local.create_collection(name, models.VectorParams(size=3, distance=models.Distance.DOT))
    else:
        server.metadata[name] = metadata
        server.local.delete(name, [0])
    written = len(server.writes)
    with pytest.raises(RetrieverError, match=found):
        ids(QdrantIndex(), corpus)
    assert len(server.writes) == written


def lose_a_point(local, name):
    local.delete(name, [0])


def change_a_point(local, name):
    from qdrant_client import models

    local.upsert(name, [models.PointStruct(id=0, vector=[1.0] + [0.0] * 31)])


@pytest.mark.parametrize("damage", [lose_a_point, change_a_point])
def test_points_that_a_server_has_lost_are_written_again(corpus, server, capsys, damage):
    first = ids(QdrantIndex(), corpus)
    [name] = server.metadata
    damage(server.local, name)
    assert np.array_equal(ids(QdrantIndex(), corpus), first)
    [line] = capsys.readouterr().err.splitlines()
    assert f"{name!r} on {server.url} is damaged" in line
    assert server.local.count(name).count == 1200


def test_a_collection_of_the_server_with_points_of_others_is_refused(corpus, server):
    from qdrant_client import models

    ids(QdrantIndex(), corpus)
    [name] = server.metadata
    server.local.upsert(name, [models.PointStruct(id=5000, vector=[1.0] + [0.0] * 31)])
    with pytest.raises(RetrieverError, match=r"was changed \(has 1,201 passages, expected 1,200\); delete it"):
        ids(QdrantIndex(), corpus)
    assert server.local.retrieve(name, [5000])


def test_only_what_is_ours_is_deleted_from_a_server(corpus, server):
    from qdrant_client import models

    index = QdrantIndex()
    ids(index, corpus)
    [name] = server.metadata
    server.local.create_collection("manuals", models.VectorParams(size=3, distance=models.Distance.DOT))
    server.metadata[name]["ragsweep"]["corpus"] = "of somebody else"
    index.delete(corpus.digest)
    assert server.local.collection_exists(name)
    server.metadata[name]["ragsweep"]["corpus"] = corpus.digest
    index.delete(corpus.digest)
    assert [each.name for each in server.local.get_collections().collections] == ["manuals"]


def test_the_address_may_be_in_the_project_s_env_file(corpus, server, monkeypatch, tmp_path):
    monkeypatch.delenv("QDRANT_URL")
    monkeypatch.delenv("QDRANT_API_KEY")
    assert QdrantIndex().server is False
    (tmp_path / ".env").write_text(f"QDRANT_URL={server.url}\nQDRANT_API_KEY={KEY}\n")
    assert QdrantIndex().server is True
    QdrantIndex().check()


@pytest.mark.parametrize(
    ("url", "key", "said"),
    [
        ("http://127.0.0.1:1", KEY, "http://127.0.0.1:1 cannot be reached"),
        (None, "another-key-nobody-may-see", "refuses the key in QDRANT_API_KEY (403"),
        (None, "", "wants a key; set QDRANT_API_KEY"),
        ("https://127.0.0.1:PORT", KEY, "does not speak TLS"),
    ],
    ids=["nobody there", "wrong key", "no key", "no TLS"],
)
def test_a_server_that_cannot_be_used_is_said_in_one_line_without_the_key(server, monkeypatch, url, key, said):
    monkeypatch.setenv("QDRANT_URL", (url or server.url).replace("PORT", str(server.server_port)))
    monkeypatch.setenv("QDRANT_API_KEY", key)
    with pytest.raises(RetrieverError) as error:
        QdrantIndex().check()
    assert str(error.value).startswith("QDRANT_URL: ")
    assert said in str(error.value)
    assert "\n" not in str(error.value)
    assert "key-" not in str(error.value)
    assert server.writes == []


@contextmanager
def listening(answers):
    """The port of a server that does something else with whoever connects."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=lambda: answers(server.accept()[0]), daemon=True)
        thread.start()
        yield server.getsockname()[1]


def silent(connection):
    time.sleep(5)
    connection.close()


def hangs_up(connection):
    connection.recv(10_000)
    connection.close()


@pytest.mark.parametrize(
    ("answers", "said"), [(silent, "does not answer within 1 s"), (hangs_up, "hangs up; does it expect https://?")]
)
def test_a_server_that_does_not_answer_is_said(monkeypatch, answers, said):
    monkeypatch.setattr("ragsweep_engines.qdrant.qdrant_access.TIMEOUT_S", 1)
    with listening(answers) as port:
        monkeypatch.setenv("QDRANT_URL", f"http://127.0.0.1:{port}")
        with pytest.raises(RetrieverError, match=f"QDRANT_URL: http://127.0.0.1:{port} {re.escape(said)}"):
            QdrantIndex().check()


def test_a_key_does_not_follow_a_redirection(server, monkeypatch):
    def elsewhere(connection):
        connection.recv(10_000)
        connection.sendall(
            f"HTTP/1.1 307 x\r\nLocation: {server.url}/collections\r\nContent-Length: 0\r\n\r\n".encode()
        )

    with listening(elsewhere) as port:
        monkeypatch.setenv("QDRANT_URL", f"http://127.0.0.1:{port}")
        with pytest.raises(RetrieverError, match="307"):
            QdrantIndex().check()
    assert server.log == []


def test_a_key_that_goes_out_without_encryption_is_said(monkeypatch, capsys):
    from ragsweep_engines.qdrant.qdrant_access import connect

    monkeypatch.setenv("QDRANT_URL", "http://qdrant.example.org:6333")
    monkeypatch.setenv("QDRANT_API_KEY", KEY)
    connect()
    assert capsys.readouterr().err.startswith("QDRANT_URL: qdrant.example.org gets the key without encryption")


def test_an_error_of_a_server_is_read_with_limits(monkeypatch):
    from httpx import Headers
    from qdrant_client.http.exceptions import UnexpectedResponse

    from ragsweep_engines.qdrant.qdrant_access import explained

    monkeypatch.setenv("QDRANT_URL", "http://127.0.0.1:1")
    with pytest.raises(RetrieverError, match=r"refuses this \(500: \[\["), explained("this"):
        raise UnexpectedResponse(500, "", b"[" * 100_000, Headers())


def test_an_address_without_a_port_has_that_of_qdrant(monkeypatch):
    from ragsweep_engines.qdrant.qdrant_access import host

    monkeypatch.setenv("QDRANT_URL", "https://xyz.cloud.qdrant.io")
    assert host() == "https://xyz.cloud.qdrant.io:6333"


@pytest.mark.parametrize(("missing", "package"), [("qdrant_edge", "qdrant-edge-py"), ("dotenv", "python-dotenv")])
def test_a_package_that_is_missing_is_named(monkeypatch, missing, package):
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        "ragsweep_engines.qdrant.qdrant_collection.find_spec",
        lambda name: None if name == missing else find_spec(name),
    )
    with pytest.raises(ConfigError, match=rf"index=qdrant: needs {package}, .* pip install 'ragsweep\[qdrant\]'"):
        QdrantIndex()


def test_nothing_of_qdrant_is_loaded_before_it_is_used():
    code = "import sys, ragsweep.retrieval; assert not [name for name in sys.modules if name.startswith('qdrant_')]"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    "url", [f"https://me:{KEY}@host:6333", f"https://host:6333?api-key={KEY}", f"https://{KEY}.example", "host:6333"]
)
def test_an_address_with_a_key_in_it_is_not_repeated(monkeypatch, url):
    monkeypatch.setenv("QDRANT_URL", url)
    monkeypatch.setenv("QDRANT_API_KEY", KEY)
    with pytest.raises(ConfigError, match="QDRANT_URL: expected an address") as error:
        QdrantIndex().check()
    assert KEY not in str(error.value)


def test_a_server_that_is_not_set_is_missed(tmp_path):
    with pytest.raises(ConfigError, match="QDRANT_URL: is not set"):
        QdrantIndex(server=True).check()


@pytest.mark.parametrize("depth", [3, 30])
def test_which_of_equal_passages_are_found_depends_on_their_order_alone(tmp_path, depth):
    texts = ("iron", *["zinc"] * 40, "tin")
    search = Search(texts, ("zinc", "zinc iron"))
    settings = {"encoder": LetterEncoder(), "store": Store(str(tmp_path / "store"))}
    exact = DenseRetriever(**settings).rank(search, depth)
    for index in (QdrantIndex(path=str(tmp_path), exact=True), QdrantIndex(path=str(tmp_path), ef_search=100)):
        found = DenseRetriever(**settings, index=index).rank(search, depth)
        assert np.array_equal(found.passages, exact.passages)
        assert np.array_equal(found.scores, exact.scores)


def test_a_query_beside_one_with_ties_is_searched_the_same(corpus, tmp_path):
    twice = replace(corpus, embeddings=np.vstack([corpus.embeddings[:600]] + [corpus.embeddings[:1]] * 600))
    queries = np.vstack([twice.embeddings[:1], twice.embeddings[5:600:30] + np.float32(0.1)])
    find = QdrantIndex(path=str(tmp_path), m=4, ef_construct=8, ef_search=20).open_corpus(twice)
    together = find(queries, 20).passages
    assert np.array_equal(together, np.vstack([find(queries[[row]], 20).passages for row in range(len(queries))]))
