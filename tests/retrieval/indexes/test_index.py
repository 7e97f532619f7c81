"""Indexes of FAISS: what they find is ranked like exact search, and every setting has a say."""

import numpy as np
import pytest

from ragsweep.core.errors import ConfigError
from ragsweep.retrieval import (
    DenseRetriever,
    Encoder,
    ExactIndex,
    FaissIndex,
    Search,
    rank,
)
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


def same(one, other):
    return np.array_equal(one.passages, other.passages) and np.array_equal(one.scores, other.scores)


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize("factory", ["Flat", "HNSW32", "IVF4,PQ8", "OPQ8,IVF4,PQ8", "SQ8"])
def test_an_index_that_finds_everything_gives_the_exact_ranking(retrieve, factory):
    search = {"nprobe": 4} if "IVF" in factory else {"efSearch": 1500} if "HNSW" in factory else {}
    exact, ranking = retrieve(ExactIndex(), 1500), retrieve(FaissIndex(factory, search=search), 1500)
    assert ranking.recall_of_exact.tolist() == [1] * 30
    assert same(ranking, exact)


def test_a_flat_index_ranks_as_exact_search_at_any_depth(retrieve):
    assert same(retrieve(FaissIndex("Flat")), retrieve(ExactIndex()))


@pytest.mark.parametrize("index", [HNSW, IVF_PQ], ids=repr)
class TestApproximateIndex:
    @pytest.mark.usefixtures("long_work")
    def test_recall_is_the_share_of_the_exact_passages_that_were_found(self, retrieve, index):
        exact, ranking = retrieve(ExactIndex()).passages.tolist(), retrieve(index)
        shares = [len({*best} & {*row}) / 10 for best, row in zip(exact, ranking.passages.tolist(), strict=True)]
        assert ranking.recall_of_exact.tolist() == pytest.approx(shares)
        assert 0 < np.mean(shares) < 1

    @pytest.mark.usefixtures("long_work")
    def test_a_kept_ranking_is_the_one_that_was_made(self, retrieve, index, store):
        made, kept, anew = retrieve(index), retrieve(index), retrieve(index, store=Store(store.path, enabled=False))
        assert all(np.array_equal(vars(made)[name], vars(kept)[name]) for name in vars(made))
        assert same(anew, made)
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


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"factory": "HNWS32"}, "index.factory: FAISS could not parse index string HNWS32"),
        ({"factory": "HNSW32", "build": {"ef": 2}}, "index.build: FAISS .*could not set parameter ef"),
        ({"factory": "HNSW32", "search": {"nprobe": 2}}, "index.search: FAISS .*could not set parameter nprobe"),
    ],
)
def test_names_that_faiss_does_not_know_are_refused_before_anything_is_searched(settings, message):
    with pytest.raises(ConfigError, match=f"^{message}"):
        FaissIndex(**settings).check()


@pytest.mark.parametrize(
    ("factory", "message"),
    [
        ("PQ5", r"The dimension of the vector \(d\) should be a multiple of the number of subquantizers"),
        (
            "IVF1501,PQ2",
            r"Number of training points \(1500\) should be at least as large",
        ),
    ],
)
def test_an_index_that_cannot_be_built_is_refused_by_name(retrieve, factory, message):
    with pytest.raises(ConfigError, match=f"^index.factory: FAISS {message}"):
        retrieve(FaissIndex(factory))
