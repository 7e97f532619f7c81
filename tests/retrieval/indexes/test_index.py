"""Approximate indexes: what they find is ranked like exact search, and every setting has a say."""

from pathlib import Path

import numpy as np
import pytest

from ragsweep.core.errors import ConfigError
from ragsweep.retrieval import (
    DenseRetriever,
    Encoder,
    ExactIndex,
    HnswIndex,
    HybridRetriever,
    IvfPqIndex,
    Search,
    SparseRetriever,
    rank,
)
from ragsweep.store.stage_store import Store

HNSW = {"m": 4, "ef_construction": 8, "ef_search": 12}
IVF_PQ = {"lists": 16, "probes": 2, "subquantizers": 2}


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


def same(one, other):
    return np.array_equal(one.passages, other.passages) and np.array_equal(one.scores, other.scores)


def entries(store, stage):
    return len([entry for entry in (Path(store.path) / stage).iterdir() if entry.is_dir()])


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize("index", [HnswIndex(ef_search=1500), IvfPqIndex(lists=4, probes=4, subquantizers=8)], ids=repr)
def test_an_index_that_finds_everything_gives_the_exact_ranking(retrieve, index):
    exact, found = retrieve(ExactIndex(), 1500), retrieve(index, 1500)
    assert found.recall_of_exact.tolist() == [1] * 30
    assert same(found, exact)


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize(
    ("index", "defaults", "setting"),
    [
        (HnswIndex, HNSW, {"m": 2}),
        (HnswIndex, HNSW, {"ef_construction": 40}),
        (HnswIndex, HNSW, {"ef_search": 100}),
        (IvfPqIndex, IVF_PQ, {"lists": 64}),
        (IvfPqIndex, IVF_PQ, {"probes": 16}),
        (IvfPqIndex, IVF_PQ, {"subquantizers": 8}),
        (IvfPqIndex, IVF_PQ, {"refine": 10}),
        (IvfPqIndex, IVF_PQ, {"seed": 1}),
    ],
    ids=str,
)
def test_every_setting_changes_what_is_found(retrieve, index, defaults, setting):
    assert not same(retrieve(index(**defaults)), retrieve(index(**(defaults | setting))))


@pytest.mark.parametrize("index", [HnswIndex(**HNSW), IvfPqIndex(**IVF_PQ)], ids=repr)
class TestApproximateIndex:
    @pytest.mark.usefixtures("long_work")
    def test_recall_is_the_share_of_the_exact_passages_that_were_found(self, retrieve, index):
        exact, found = retrieve(ExactIndex()).passages.tolist(), retrieve(index)
        shares = [len({*best} & {*row}) / 10 for best, row in zip(exact, found.passages.tolist(), strict=True)]
        assert found.recall_of_exact.tolist() == pytest.approx(shares)
        assert 0 < np.mean(shares) < 1

    @pytest.mark.usefixtures("long_work")
    def test_a_kept_ranking_is_the_one_that_was_made(self, retrieve, index, store):
        made, kept, anew = retrieve(index), retrieve(index), retrieve(index, store=Store(store.path, enabled=False))
        assert all(np.array_equal(vars(made)[name], vars(kept)[name]) for name in vars(made))
        assert same(anew, made)
        assert np.array_equal(anew.recall_of_exact, made.recall_of_exact)

    @pytest.mark.usefixtures("long_work")
    def test_a_kept_index_finds_what_a_new_one_does(self, retrieve, index, store):
        retrieve(index, 9)  # builds the index
        assert same(retrieve(index), retrieve(index, store=Store(store.path, enabled=False)))
        assert entries(store, "index") == 1

    @pytest.mark.usefixtures("long_work")
    def test_hybrid_passes_the_recall_on(self, retrieve, index, store, search):
        hybrid = HybridRetriever(
            DenseRetriever(ClusteredEncoder(), store, index), SparseRetriever(store), candidates=10
        )
        assert np.array_equal(hybrid.rank(search, 5).recall_of_exact, retrieve(index).recall_of_exact)


@pytest.mark.parametrize("index", [HnswIndex(**HNSW), IvfPqIndex(**IVF_PQ)], ids=repr)
def test_the_number_of_threads_does_not_show_in_an_index(index):
    import faiss

    passages, built, before = ClusteredEncoder().encode(range(1500), "passage"), [], faiss.omp_get_max_threads()
    for threads in (1, 4):
        faiss.omp_set_num_threads(threads)
        index.open(passages, lambda settings, build: built.append(build()) or built[-1])
        assert faiss.omp_get_max_threads() == threads
    faiss.omp_set_num_threads(before)
    assert np.array_equal(built[0]["index"], built[1]["index"])


@pytest.mark.usefixtures("long_work")
def test_settings_of_the_search_do_not_build_anew(retrieve, store):
    for index in (HnswIndex(ef_search=12), HnswIndex(ef_search=20), IvfPqIndex(8, 1, 2), IvfPqIndex(8, 8, 2)):
        retrieve(index)
    assert entries(store, "index") == 2


def test_exact_search_keeps_no_index_and_claims_no_recall(retrieve, store):
    assert retrieve(ExactIndex()).recall_of_exact.tolist() == []
    assert not (Path(store.path) / "index").exists()


@pytest.mark.usefixtures("long_work")
def test_no_more_passages_come_back_than_the_graph_search_holds(retrieve):
    assert retrieve(HnswIndex(ef_search=3)).passages.shape == (30, 3)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"subquantizers": 5}, r"index.subquantizers: found 5, expected a divisor .* 16 dimensions \(1, 2, 4, 8, 16\)"),
        ({"lists": 1501, "subquantizers": 2}, "index.lists: found 1501, expected at most the 1500 passages"),
        ({"lists": 4, "probes": 5}, r"index.probes: found 5, expected at most index.lists \(4\)"),
    ],
)
def test_lists_and_codes_that_cannot_be_are_refused_by_name(retrieve, settings, message):
    with pytest.raises(ConfigError, match=f"^{message}"):
        retrieve(IvfPqIndex(**settings))


def test_a_corpus_too_small_to_train_codes_is_refused(store):
    retriever = DenseRetriever(ClusteredEncoder(), store, IvfPqIndex(subquantizers=2))
    with pytest.raises(ConfigError, match=r"^index=ivf_pq: needs 256 passages to train on and has 2; set index=exact"):
        retriever.rank(Search(("1", "2"), ("1",)), 2)
