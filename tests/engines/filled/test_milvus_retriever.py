"""Collections of Milvus that somebody else has filled, in a folder of milvus-lite and on a server."""

import gc

import numpy as np
import pytest
import strangers
from letters import LetterEncoder

from ragsweep.core.errors import ConfigError, RagsweepError, RetrieverError
from ragsweep.testing import SystemContract
from ragsweep_engines.filled import MilvusRetriever

pytestmark = pytest.mark.extra("milvus")

DISTANCES = {"l2": "L2", "cosine": "COSINE", "ip": "IP"}


def fill(client):
    """A collection of each distance as LangChain makes them, with fields of its own or further ones."""
    from pymilvus import DataType

    for distance, kind in DISTANCES.items():
        further = distance == "cosine"
        schema = client.create_schema(auto_id=False, enable_dynamic_field=further)
        schema.add_field("pk", DataType.VARCHAR, is_primary=True, max_length=100)
        schema.add_field("text", DataType.VARCHAR, max_length=1000)
        schema.add_field("vector", DataType.FLOAT_VECTOR, dim=26)
        if not further:
            schema.add_field("source", DataType.VARCHAR, max_length=100)
            schema.add_field("page", DataType.INT64)
        index = client.prepare_index_params()
        index.add_index("vector", index_type="FLAT", metric_type=kind)
        client.create_collection(distance, schema=schema, index_params=index)
        rows = zip(strangers.ids(), strangers.vectors().tolist(), strangers.texts(), strangers.metadatas(), strict=True)
        client.insert(
            distance,
            [{"pk": name, "vector": vector, "text": text, **metadata} for name, vector, text, metadata in rows],
        )
    client.create_collection("empty", dimension=26)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    from milvus_lite.server_manager import server_manager_instance
    from pymilvus import MilvusClient

    folder = tmp_path_factory.mktemp("milvus") / "theirs.db"
    client = MilvusClient(str(folder))
    fill(client)
    client.close()
    server_manager_instance.release_server(str(folder))
    return folder


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """The server that milvus-lite starts, asked over its port as another process would ask it."""
    from milvus_lite.adapter.grpc.server import start_server_in_thread
    from pymilvus import MilvusClient

    server, database, port = start_server_in_thread(
        data_dir=str(tmp_path_factory.mktemp("server") / "theirs"), host="127.0.0.1", port=0
    )
    fill(MilvusClient(f"http://127.0.0.1:{port}"))
    yield f"http://127.0.0.1:{port}"
    server.stop(grace=0)
    database.close()


def made(**settings):
    settings = {"encoder": LetterEncoder(), "depth": strangers.DEPTH, "collection": "l2", **settings}
    return MilvusRetriever(**settings)


class TestMilvus(SystemContract):
    component = MilvusRetriever

    @pytest.fixture(autouse=True)
    def of_folder(self, folder):
        type(self).settings = {"encoder": LetterEncoder(), "path": str(folder), "collection": "cosine"}


@pytest.mark.parametrize("where", ["folder", "server"])
@pytest.mark.parametrize("distance", ["l2", "cosine", "ip"])
def test_the_nearest_passages_come_back_in_their_order(request, monkeypatch, where, distance):
    place = request.getfixturevalue(where)
    monkeypatch.setenv("MILVUS_URL", place if where == "server" else "")
    found = made(collection=distance, path=None if where == "server" else str(place), at_once=3)
    strangers.assert_nearest(found.answers(strangers.QUERIES, 100), distance, squared=distance == "l2")


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


def test_a_collection_that_is_not_loaded_on_the_server_is_left_so(server, monkeypatch):
    from pymilvus import MilvusClient

    client = MilvusClient(server)
    client.release_collection("ip")
    monkeypatch.setenv("MILVUS_URL", server)
    try:
        with pytest.raises(ConfigError, match="collection 'ip' is not loaded on the server"):
            made(collection="ip").check()
        assert "NotLoad" in str(client.get_load_state("ip")["state"])
    finally:
        client.load_collection("ip")


def test_parameters_of_the_search_change_what_is_found(tmp_path):
    from pymilvus import DataType, MilvusClient

    folder = tmp_path / "many.db"
    client = MilvusClient(str(folder))
    schema = client.create_schema()
    schema.add_field("pk", DataType.INT64, is_primary=True)
    schema.add_field("vector", DataType.FLOAT_VECTOR, dim=26)
    index = client.prepare_index_params()
    index.add_index("vector", index_type="IVF_FLAT", metric_type="L2", params={"nlist": 64})
    client.create_collection("many", schema=schema, index_params=index)
    vectors = np.random.default_rng(0).random((3000, 26)).tolist()
    client.insert("many", [{"pk": row, "vector": vector} for row, vector in enumerate(vectors)])
    client.flush("many")
    client.close()
    found = [
        strangers.named(made(path=str(folder), collection="many", parameters=each).answers(strangers.QUERIES, 5))
        for each in ({"nprobe": 1}, {"nprobe": 64})
    ]
    assert found[0] != found[1]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"collection": "nothing"}, r"retriever.collection: there is no 'nothing' \(there is 'cosine', 'empty', 'ip'"),
        ({"collection": "empty"}, "collection 'empty' is empty"),
        ({"vector": "text"}, r"retriever.vector: collection 'l2' has no 'text' \(there is vector\)"),
        ({"source": "file"}, "retriever.source: no result has 'file' .*'page', 'pk', 'source'"),
        ({"path": "/nonexistent"}, "/nonexistent has no collections"),
        ({"path": __file__}, "is a file, as milvus-lite 2 wrote"),
        ({"path": None}, "MILVUS_URL: is not set"),
    ],
    ids=str,
)
def test_what_is_not_there_is_said(folder, monkeypatch, settings, said):
    monkeypatch.delenv("MILVUS_URL", raising=False)
    with pytest.raises((ConfigError, RetrieverError), match=said):
        made(**{"path": str(folder), **settings}).check()


def test_a_server_that_is_down_is_tried_again_and_named(monkeypatch):
    monkeypatch.setenv("MILVUS_URL", "http://127.0.0.1:1")
    with pytest.raises(RagsweepError, match=r"MILVUS_URL http://127.0.0.1:1 cannot be reached .*\(2 tries\)"):
        made(retries=1).answers(["one"], 5)


def test_vectors_of_another_encoder_are_refused(folder):
    with pytest.raises(ConfigError, match="encoder: embeds in 4 dimensions, and collection 'l2' has 26"):
        made(path=str(folder), encoder=strangers.OtherEncoder()).answers(["one"], 5)
