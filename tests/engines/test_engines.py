"""Engines: the conformance suite on each, and what their settings do."""

import gc
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from ragsweep.core.errors import ConfigError, RetrieverError
from ragsweep.retrieval import ExactIndex, HnswIndex, Index, IvfPqIndex
from ragsweep.store.stage_store import NO_STORE, Store
from ragsweep_engines.chroma import ChromaIndex
from ragsweep_engines.lancedb import LanceDbIndex
from ragsweep_engines.milvus import MilvusIndex
from ragsweep_engines.qdrant import QdrantIndex
from ragsweep_engines.testing import EngineContract, assert_same, corpus, exactly, queries


@pytest.mark.extra("qdrant")
class TestQdrant(EngineContract):
    component = QdrantIndex


@pytest.mark.extra("lancedb")
class TestLanceDb(EngineContract):
    component = LanceDbIndex


@pytest.mark.extra("lancedb")
class TestLanceDbInLists(EngineContract):
    component = LanceDbIndex
    approximate: ClassVar = {"exact": False, "kind": "ivf_pq", "lists": 4, "probes": 2}
    least_recall = 0.7


@pytest.mark.extra("chroma")
class TestChroma(EngineContract):
    component = ChromaIndex
    exact: ClassVar = {"m": 100, "ef_construction": 1000, "ef_search": 1000}  # a graph that finds all passages
    approximate: ClassVar = {"ef_search": 20}


@pytest.mark.extra("milvus")
class TestMilvus(EngineContract):
    component = MilvusIndex


@dataclass(frozen=True)
class FaissEngine:
    """An index of FAISS as an engine: the store keeps it, by the digest of the corpus."""

    name: ClassVar[str] = "faiss"

    store: Store
    index: Index

    def open_corpus(self, corpus):
        def keep(settings, build):
            return self.store.get("index", [corpus.digest, *settings], build)

        return self.index.open(corpus.embeddings, keep)


class FaissContract(EngineContract):
    component = FaissEngine
    exact: ClassVar = {"index": ExactIndex()}


class TestFaissHnsw(FaissContract):
    approximate: ClassVar = {"index": HnswIndex()}


class TestFaissIvfPq(FaissContract):
    approximate: ClassVar = {"index": IvfPqIndex(lists=4, probes=2, subquantizers=16)}
    least_recall = 0.8


def collections(store):
    return sorted(path.name for path in (Path(store.path) / "engines" / "lancedb").glob("*/"))


GRAPH, LISTS = (
    {"m": 4, "ef_construction": 10, "ef_search": 11},
    {"kind": "ivf_pq", "lists": 3, "probes": 1, "refine": 1},
)


@pytest.mark.extra("lancedb")
@pytest.mark.parametrize(
    ("settings", "setting"),
    [
        (GRAPH, {"ef_search": 300}),
        (GRAPH, {"m": 10}),
        (GRAPH, {"ef_construction": 200}),
        (GRAPH, {"kind": "ivf_pq"}),
        (GRAPH | {"lists": 3, "probes": 1}, {"probes": 3}),
        (LISTS, {"lists": 2}),
        (LISTS, {"probes": 3}),
        (LISTS, {"subquantizers": 16}),
        (LISTS, {"refine": 20}),
    ],
    ids=str,
)
def test_every_setting_of_lancedb_changes_what_is_found(store, settings, setting):
    of = corpus()
    between = (queries(of) + queries(of)[::-1]) / 2  # the lists nearest to them do not hold all of the best passages
    found = [LanceDbIndex(store, **each).open_corpus(of)(between, 10) for each in (settings, settings | setting)]
    assert not np.array_equal(found[0].passages, found[1].passages)


@pytest.mark.extra("lancedb")
def test_a_setting_of_the_search_builds_no_other_collection(store):
    for index in (LanceDbIndex(store), LanceDbIndex(store, ef_search=20), LanceDbIndex(store, probes=1)):
        index.open_corpus(corpus(300))
    assert len(collections(store)) == 1
    LanceDbIndex(store, m=4).open_corpus(corpus(300))
    assert len(collections(store)) == 2
    LanceDbIndex(store, exact=True).delete(corpus(300).digest)  # of whatever settings
    assert collections(store) == []


@pytest.mark.extra("lancedb")
def test_an_index_of_lancedb_lies_where_its_path_says(store, tmp_path):
    LanceDbIndex(store, path=str(tmp_path / "mine"), exact=True).open_corpus(corpus(40))
    assert len(list((tmp_path / "mine").glob("*/"))) == 1
    assert collections(store) == []


@pytest.mark.extra("lancedb")
def test_without_a_store_nothing_is_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    search = LanceDbIndex(NO_STORE, exact=True).open_corpus(corpus(40))
    assert_same(search(queries(corpus(40)), 5), exactly(corpus(40), 5))
    del search
    assert list(tmp_path.iterdir()) == []


@pytest.mark.extra("lancedb")
@pytest.mark.parametrize(
    ("settings", "passages", "expected"),
    [
        ({"subquantizers": 5}, 300, "index.subquantizers: found 5, expected a divisor of the encoder's 32 dimensions"),
        ({}, 40, "index.kind=ivf_pq: needs 256 passages to train on and has 40; set index.exact=true"),
    ],
)
def test_codes_that_cannot_be_are_refused_by_name(store, settings, passages, expected):
    with pytest.raises(ConfigError) as refused:
        LanceDbIndex(store, kind="ivf_pq", **settings).open_corpus(corpus(passages))
    assert str(refused.value) == expected


@pytest.mark.extra("lancedb")
def test_a_graph_needs_as_many_candidates_as_neighbours(store):
    with pytest.raises(ConfigError, match=r"^index.ef_construction: found 8, expected at least index.m \(20\)"):
        LanceDbIndex(store, ef_construction=8)


@pytest.mark.extra("lancedb")
def test_no_more_passages_come_back_than_the_graph_holds(store):
    assert LanceDbIndex(store, ef_search=3).open_corpus(corpus())(queries(corpus()), 10).passages.shape == (9, 3)


@pytest.mark.extra("chroma")
@pytest.mark.parametrize("setting", [{"m": 32}, {"ef_construction": 200}, {"ef_search": 300}], ids=str)
def test_every_setting_of_chroma_changes_what_is_found(store, setting):
    of, settings = corpus(), {"m": 2, "ef_construction": 4, "ef_search": 12}
    found = [ChromaIndex(store, **each).open_corpus(of)(queries(of), 12) for each in (settings, settings | setting)]
    assert not np.array_equal(found[0].passages, found[1].passages)


@pytest.mark.extra("milvus")
@pytest.mark.parametrize("setting", [{"m": 32}, {"ef_construction": 200}, {"ef_search": 300}, {"exact": True}], ids=str)
def test_every_setting_of_milvus_changes_what_is_found(store, setting):
    of, settings = corpus(), {"m": 2, "ef_construction": 4, "ef_search": 12}
    found = [MilvusIndex(store, **each).open_corpus(of)(queries(of), 12) for each in (settings, settings | setting)]
    assert not np.array_equal(found[0].passages, found[1].passages)


IN_FOLDERS = pytest.mark.parametrize(
    "index",
    [
        pytest.param(ChromaIndex, marks=pytest.mark.extra("chroma")),
        pytest.param(MilvusIndex, marks=pytest.mark.extra("milvus")),
    ],
)


@IN_FOLDERS
def test_a_graph_finds_the_same_each_time_that_it_is_opened(store, index):
    of, found = corpus(), []
    for _ in range(3):
        found.append(index(store, m=2, ef_construction=4, ef_search=12).open_corpus(of)(queries(of), 12))
        gc.collect()  # closes the collection
    assert_same(found[1], found[0])
    assert_same(found[2], found[0])


@IN_FOLDERS
def test_an_index_lies_where_its_path_says_and_what_is_not_ours_is_left(store, tmp_path, index):
    place = tmp_path / "mine"
    index(store, path=str(place)).open_corpus(corpus(40))
    [folder] = place.glob("*/")
    assert not (Path(store.path) / "engines").exists()
    (folder / "collection.json").unlink()
    with pytest.raises(RetrieverError, match=r"was not written by ragsweep; set another index.path"):
        index(store, path=str(place)).open_corpus(corpus(40))
    assert folder.exists()


@IN_FOLDERS
def test_a_collection_without_a_store_is_temporary(tmp_path, monkeypatch, index):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    search = index(NO_STORE).open_corpus(corpus(40))
    assert_same(search(queries(corpus(40)), 5), exactly(corpus(40), 5))
    del search
    gc.collect()
    assert list(tmp_path.iterdir()) == []
