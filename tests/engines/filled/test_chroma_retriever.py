"""Collections of Chroma that somebody else has filled, in a folder and on a real server."""

import gc
import shutil
import socket
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar

import pytest
import strangers
from chroma_server import chroma
from letters import LetterEncoder

from ragsweep.core.errors import ConfigError, RagsweepError, RetrieverError
from ragsweep.testing import SystemContract
from ragsweep_engines.filled import ChromaRetriever
from ragsweep_engines.filled.filled_retriever import MOST_OPEN

pytestmark = pytest.mark.extra("chroma")


def fill(client):
    """A collection of each distance as LangChain makes them, and an empty one."""
    for distance in ("l2", "cosine", "ip"):
        collection = client.create_collection(
            f"by_{distance}", metadata={"hnsw:space": distance}, embedding_function=None
        )
        collection.add(strangers.ids(), strangers.vectors().tolist(), strangers.metadatas(), strangers.texts())
    client.create_collection("empty", embedding_function=None)
    bare = client.create_collection("bare", embedding_function=None)
    bare.add(strangers.ids(), strangers.vectors().tolist())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    import chromadb

    folder = tmp_path_factory.mktemp("chroma")
    with chromadb.PersistentClient(folder, chromadb.Settings(anonymized_telemetry=False)) as client:
        fill(client)
    return folder


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    import chromadb

    with chroma(tmp_path_factory.mktemp("server")) as address:
        port = int(address.rpartition(":")[2])
        fill(chromadb.HttpClient("127.0.0.1", port, settings=chromadb.Settings(anonymized_telemetry=False)))
        yield address


def made(**settings):
    settings = {"encoder": LetterEncoder(), "depth": strangers.DEPTH, "collection": "by_l2", **settings}
    return ChromaRetriever(**settings)


class TestChroma(SystemContract):
    component = ChromaRetriever

    @pytest.fixture(autouse=True)
    def of_folder(self, folder):
        type(self).settings = {"encoder": LetterEncoder(), "path": str(folder), "collection": "by_l2"}


class TestChromaServer(SystemContract):
    component = ChromaRetriever
    settings: ClassVar = {"encoder": LetterEncoder(), "collection": "by_cosine"}

    @pytest.fixture(autouse=True)
    def of_server(self, server, monkeypatch):
        monkeypatch.setenv("CHROMA_URL", server)


@pytest.mark.parametrize("where", ["folder", "server"])
@pytest.mark.parametrize("distance", ["l2", "cosine", "ip"])
def test_the_nearest_passages_come_back_in_their_order(request, monkeypatch, where, distance):
    place = request.getfixturevalue(where)
    monkeypatch.setenv("CHROMA_URL", place if where == "server" else "")
    found = made(collection=f"by_{distance}", path=None if where == "server" else str(place), at_once=3)
    answers = found.answers(strangers.QUERIES, 100)
    strangers.assert_nearest(answers, distance, squared=distance == "l2")


def test_nothing_in_the_folder_changes_and_the_copy_is_deleted(folder, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    before = strangers.files(folder)
    retriever = made(path=str(folder))
    retriever.check()
    assert len(list(tmp_path.iterdir())) == 1
    retriever.answers(strangers.QUERIES, 5)
    assert strangers.files(folder) == before
    del retriever
    gc.collect()
    assert list(tmp_path.iterdir()) == []


def test_a_sweep_has_few_copies_of_a_folder_at_once(folder, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    planned = [made(path=str(folder), collection=f"by_{distance}") for distance in ("l2", "cosine", "ip")] * 2
    for retriever in planned:
        retriever.check()
    assert len(list(tmp_path.iterdir())) == MOST_OPEN
    strangers.assert_nearest(planned[0].answers(strangers.QUERIES, 100), "l2", squared=True)


def test_a_passage_without_text_and_metadata_is_its_id(folder):
    [results, *_] = made(path=str(folder), collection="bare").answers(strangers.QUERIES, 2).results
    assert [(*result.ids, result.source, result.text) for result in results] == [
        (name, "", "") for name in strangers.nearest(strangers.QUERIES[0], "l2")[0][:2]
    ]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            {"collection": "nothing"},
            r"retriever.collection: there is no 'nothing' \(there is 'bare', 'by_cosine', ",
        ),
        ({"collection": "empty"}, "collection 'empty' is empty"),
        ({"source": "metadata.file"}, "retriever.source: no result has 'metadata.file' .*'metadata.page'"),
        ({"path": "/nonexistent"}, "/nonexistent has no chroma.sqlite3"),
        ({"path": None}, "CHROMA_URL: is not set"),
    ],
    ids=str,
)
def test_what_is_not_there_is_said(folder, monkeypatch, settings, said):
    monkeypatch.delenv("CHROMA_URL", raising=False)
    with pytest.raises((ConfigError, RetrieverError), match=said):
        made(**{"path": str(folder), **settings}).check()


def test_a_server_that_is_down_is_tried_again_and_named(monkeypatch):
    monkeypatch.setenv("CHROMA_URL", "http://127.0.0.1:1")
    with pytest.raises(RagsweepError, match=r"CHROMA_URL http://127.0.0.1:1 cannot be used .*\(2 tries\)"):
        made(retries=1).answers(["one"], 5)


def test_a_server_that_never_answers_is_named(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("CHROMA_URL", f"http://127.0.0.1:{silent.getsockname()[1]}")
        with pytest.raises(RetrieverError, match=r"CHROMA_URL .* cannot be used \(no answer after 0.5 s"):
            made(timeout_s=0.5).check()


@pytest.mark.parametrize(
    ("family", "host", "path"), [(socket.AF_INET, "127.0.0.1", "/of/chroma"), (socket.AF_INET6, "[::1]", "")]
)
def test_the_whole_address_is_asked(monkeypatch, family, host, path):
    try:
        listening = socket.create_server((host.strip("[]"), 0), family=family)
    except OSError:
        pytest.skip("this machine has no such addresses")
    with listening as server, ThreadPoolExecutor(1) as thread:
        server.settimeout(10)  # seconds

        def asked():
            connection, _ = server.accept()
            with connection:
                return connection.recv(1000).decode()

        request = thread.submit(asked)
        monkeypatch.setenv("CHROMA_URL", f"http://{host}:{server.getsockname()[1]}{path}")
        with pytest.raises(RetrieverError, match="CHROMA_URL"):
            made(timeout_s=5).check()
        assert request.result(5).startswith(f"GET {path}/api/v2/")


def test_a_database_that_the_server_lacks_is_said(server, monkeypatch):
    monkeypatch.setenv("CHROMA_URL", server)
    with pytest.raises(RetrieverError, match=r"CHROMA_URL .*another_database"):
        made(database="another_database").check()
    with pytest.raises(RetrieverError, match=r"CHROMA_URL .*another_tenant"):
        made(tenant="another_tenant").check()


def test_vectors_of_another_encoder_are_refused(folder):
    with pytest.raises(ConfigError, match="encoder: embeds in 4 dimensions, and collection 'by_l2' has 26"):
        made(path=str(folder), encoder=strangers.OtherEncoder()).answers(["one"], 5)


def test_a_folder_that_changed_is_asked_anew(folder, store, tmp_path):
    import chromadb

    copy = shutil.copytree(folder, tmp_path / "copy")
    kept = made(path=str(copy), store=store)
    kept.answers(strangers.QUERIES, 5)
    with chromadb.PersistentClient(copy, chromadb.Settings(anonymized_telemetry=False)) as client:
        client.get_collection("by_l2", embedding_function=None).delete(strangers.ids()[:3])
    anew = made(path=str(copy), store=store)
    assert anew.fingerprint != kept.fingerprint
    names = {name for names in strangers.named(anew.answers(strangers.QUERIES, 5)) for name in names}
    assert not names & {*strangers.ids()[:3]}
