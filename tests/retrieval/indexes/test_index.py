"""Indexes of FAISS: what they find is ranked like exact search, and every setting has a say."""

import numpy as np
import pytest
from rankings import are_same

from ragsweep.core.errors import ConfigError
from ragsweep.retrieval import DenseRetriever, Encoder, ExactIndex, FaissIndex, Search, rank
from ragsweep.store.stage_store import Store

HNSW = FaissIndex("HNSW4", {"efConstruction": 8}, {"efSearch": 12})
IVF_PQ = FaissIndex("IVF16,PQ2", search={"nprobe": 2})


class ClusteredEncoder(Encoder):
    """Embeds the text of a number as a random vector near one of a few centres."""

    fingerprint = "clustered"

    def encode(self, texts, role):
        centres = np.random.default_rng(0).standard_normal((20, 16))
        drawn = [np.random.default_rng([int(text), role == "query"]) for text in texts]
        embeddings = np.array([rng.choice(centres) + 0.8 * rng.standard_normal(16) for rng in drawn])
        return (embeddings / np.linalg.norm(embeddings, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture(scope="module")
def search():
    return Search(tuple(map(str, range(1500))), tuple(map(str, range(30))))


@pytest.fixture
def retrieve(store, search):
    """The ranking of an index at depth 10."""

    def retrieve(index, depth=10, store=store):
        return rank(DenseRetriever(ClusteredEncoder(), store, index), search, depth)

    return retrieve


@pytest.mark.usefixtures("long_work")
def test_an_index_that_finds_everything_gives_the_exact_ranking(retrieve):
    exact, probes = retrieve(ExactIndex(), 1500), {"nprobe": 4}
    indexes = {"Flat": {}, "HNSW32": {"efSearch": 1500}, "IVF4,PQ8": probes, "OPQ8,IVF4,PQ8": probes, "SQ8": {}}
    for factory, search in indexes.items():
        ranking = retrieve(FaissIndex(factory, search=search), 1500)
        assert ranking.recall_of_exact.tolist() == [1] * 30, factory
        assert are_same(ranking, exact), factory
    assert are_same(retrieve(FaissIndex("Flat")), retrieve(ExactIndex()))  # at any depth


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize("index", [HNSW, IVF_PQ], ids=repr)
def test_recall_is_the_share_of_the_exact_passages_that_were_found_and_is_kept(retrieve, index, store):
    exact, made = retrieve(ExactIndex()).passages.tolist(), retrieve(index)
    shares = [len({*best} & {*row}) / 10 for best, row in zip(exact, made.passages.tolist(), strict=True)]
    assert made.recall_of_exact.tolist() == pytest.approx(shares)
    assert 0 < np.mean(shares) < 1
    kept, anew = retrieve(index), retrieve(index, store=Store(store.path, enabled=False))
    assert all(np.array_equal(vars(made)[name], vars(kept)[name]) for name in vars(made))
    assert are_same(anew, made)
    assert np.array_equal(anew.recall_of_exact, made.recall_of_exact)


@pytest.mark.parametrize("index", [HNSW, IVF_PQ], ids=repr)
def test_the_number_of_threads_does_not_show_in_an_index(index):
    import faiss

    passages, built, before = ClusteredEncoder().encode(range(1500), "passage"), [], faiss.omp_get_max_threads()
    for threads in (1, 4):
        faiss.omp_set_num_threads(threads)
        index.open(passages, lambda settings, build: built.append(build()) or built[-1])
        assert faiss.omp_get_max_threads() == threads
    faiss.omp_set_num_threads(before)
    assert np.array_equal(built[0]["index"], built[1]["index"])


def test_what_faiss_refuses_is_named_with_its_setting(retrieve):
    for index, setting in [  # before anything is searched
        (FaissIndex("HNWS32"), "factory: .*HNWS32"),
        (FaissIndex("HNSW32", build={"ef": 2}), "build: .* ef"),
        (FaissIndex("HNSW32", search={"nprobe": 2}), "search: .* nprobe"),
    ]:
        with pytest.raises(ConfigError, match=f"^index.{setting}"):
            index.check()
    for factory, message in (("PQ5", r"should be a multiple of"), ("IVF1501,PQ2", r"training points \(1500\)")):
        with pytest.raises(ConfigError, match=f"^index.factory: .*{message}"):
            retrieve(FaissIndex(factory))
