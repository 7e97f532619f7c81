"""Engines: the conformance suite on each, and what their settings do."""

from dataclasses import dataclass
from typing import ClassVar

from ragsweep.core.store import Store
from ragsweep.retrieval import ExactIndex, HnswIndex, Index, IvfPqIndex, LanceDbIndex, QdrantIndex
from ragsweep.testing import EngineContract


class TestQdrant(EngineContract):
    component = QdrantIndex


class TestLanceDb(EngineContract):
    component = LanceDbIndex


class TestLanceDbInLists(EngineContract):
    component = LanceDbIndex
    approximate: ClassVar = {"exact": False, "kind": "ivf_pq", "lists": 4, "probes": 2}
    least_recall = 0.7
    test_what_a_killed_process_was_building_is_built_again = None  # as above


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

    def delete(self, corpus_digest):
        """The store deletes what has not been used for long."""


class FaissContract(EngineContract):
    component = FaissEngine
    exact: ClassVar = {"index": ExactIndex()}
    test_a_second_opening_builds_nothing = None  # exact search needs no index, and test_index.py has the others
    test_deleting_a_corpus_deletes_nothing_else = None  # the store's own tests
    test_what_a_killed_process_was_building_is_built_again = None  # as above


class TestFaissHnsw(FaissContract):
    approximate: ClassVar = {"index": HnswIndex()}


class TestFaissIvfPq(FaissContract):
    approximate: ClassVar = {"index": IvfPqIndex(lists=4, probes=2, subquantizers=16)}
    least_recall = 0.8
