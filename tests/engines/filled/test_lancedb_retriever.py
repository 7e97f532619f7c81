"""Tables of LanceDB that somebody else has filled."""

import numpy as np
import pytest
import strangers
from letters import LetterEncoder

from ragsweep.core.errors import ConfigError, RetrieverError
from ragsweep.testing import SystemContract
from ragsweep_engines.filled import LanceDbRetriever
from ragsweep_engines.lancedb import database_of

pytestmark = pytest.mark.extra("lancedb")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table as LangChain makes it, one of codes, and an empty one."""
    folder = tmp_path_factory.mktemp("lancedb")
    database = database_of(folder)
    rows = zip(strangers.ids(), strangers.vectors(), strangers.texts(), strangers.metadatas(), strict=True)
    rows = [{"vector": vector, "id": name, "text": text, "metadata": each} for name, vector, text, each in rows]
    table = database.create_table("manuals", rows)
    database.create_table("empty", schema=table.schema)
    many = np.random.default_rng(0).random((3000, 26), np.float32)
    lists, graph = (
        database.create_table(name, [{"id": str(row), "vector": vector} for row, vector in enumerate(many)])
        for name in ("lists", "graph")
    )
    from lancedb.index import HnswSq, IvfPq

    lists.create_index("vector", config=IvfPq("cosine", num_partitions=32, num_sub_vectors=2))
    graph.create_index("vector", config=HnswSq("cosine", num_partitions=1, m=4, ef_construction=10))
    return folder


def made(folder, **settings):
    settings = {"encoder": LetterEncoder(), "depth": strangers.DEPTH, "table": "manuals", **settings}
    return LanceDbRetriever(**{"path": str(folder), **settings})


class TestLanceDb(SystemContract):
    component = LanceDbRetriever

    @pytest.fixture(autouse=True)
    def of_folder(self, folder):
        type(self).settings = {"encoder": LetterEncoder(), "path": str(folder), "table": "manuals"}


@pytest.mark.parametrize("distance", ["l2", "cosine", "ip", None])
def test_the_nearest_rows_come_back_in_their_order(folder, distance):
    answers = made(folder, distance=distance, at_once=3).answers(strangers.QUERIES, 100)
    strangers.assert_nearest(answers, distance or "l2", squared=distance in ("l2", None))


def test_documents_without_pages_may_come_first(tmp_path):
    rows = [
        {"id": str(row), "vector": np.ones(26, np.float32), "page": None if row < 100 else row} for row in range(101)
    ]
    database_of(tmp_path).create_table("manuals", rows[::-1]).delete("id = '100'")
    database_of(tmp_path).open_table("manuals").add(rows[100:])
    made(tmp_path, page="page").check()
    with pytest.raises((ConfigError, RetrieverError), match=r"retriever\.page: no result has 'sheet'"):
        made(tmp_path, page="sheet").check()


def test_the_distance_is_that_of_the_index(folder):
    def found(**settings):
        return strangers.named(made(folder, table="lists", exact=True, **settings).answers(strangers.QUERIES, 5))

    assert found() == found(distance="cosine") != found(distance="l2")


@pytest.mark.parametrize(
    ("table", "setting"),
    [("lists", {"probes": 32}), ("lists", {"refine": 30}), ("lists", {"exact": True}), ("graph", {"ef_search": 500})],
    ids=str,
)
def test_settings_of_the_search_change_what_an_index_finds(folder, table, setting):
    base = {"probes": 1} if table == "lists" else {"ef_search": 5}
    found = [
        strangers.named(made(folder, table=table, **{**base, **each}).answers(strangers.QUERIES, 5))
        for each in ({}, setting)
    ]
    assert found[0] != found[1]


def test_nothing_in_the_folder_changes(folder):
    before = strangers.files(folder)
    made(folder).answers(strangers.QUERIES, 5)
    with pytest.raises(ConfigError):
        made(folder / "absent").check()
    assert strangers.files(folder) == before
    assert not (folder / "absent").exists()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"table": "nothing"}, r"retriever.table: .* has no table 'nothing' \(there is 'empty', 'graph', 'lists', "),
        ({"table": "empty"}, "table 'empty' is empty"),
        ({"vector": "text"}, r"retriever.vector: table 'manuals' has no 'text' \(there is vector\)"),
        ({"page": "metadata.sheet"}, "retriever.page: no result has 'metadata.sheet' .*'metadata.page'"),
    ],
    ids=str,
)
def test_what_is_not_there_is_said(folder, settings, said):
    with pytest.raises((ConfigError, RetrieverError), match=said):
        made(folder, **settings).check()


def test_vectors_of_another_encoder_are_refused(folder):
    with pytest.raises(ConfigError, match="encoder: embeds in 4 dimensions, and table 'manuals' has 26"):
        made(folder, encoder=strangers.OtherEncoder()).answers(["one"], 5)
