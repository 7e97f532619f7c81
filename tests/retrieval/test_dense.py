"""Dense retrieval: exact search against slow loops, the indexes of FAISS, shortened embeddings, published figures."""

from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rankings import are_same
from threadpoolctl import threadpool_limits

from ragsweep.core.errors import ConfigError, EncoderError
from ragsweep.evaluation import average_precision, judge, mrr, ndcg, precision, recall
from ragsweep.retrieval import (
    DenseRetriever,
    ExactIndex,
    FaissIndex,
    Reducible,
    Search,
    SentenceTransformerEncoder,
    rank,
)
from ragsweep.retrieval.indexes.exact import ExactSearch
from ragsweep.store.stage_store import Store

FEW = st.lists(st.tuples(*[st.integers(-2, 2)] * 3), min_size=1, max_size=40)  # vectors, most of them several times


def vectors(rng, count, dimensions=24):
    drawn = rng.standard_normal((count, dimensions)).astype(np.float32)
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


def obvious(queries, passages, depth):
    """Every inner product in double precision, sorted in Python."""
    best = []
    for query in queries.tolist():
        scores = [sum(a * b for a, b in zip(query, passage, strict=True)) for passage in passages.tolist()]
        best.append(sorted(range(len(scores)), key=lambda passage: (-scores[passage], passage))[:depth])
    return best


@given(FEW, FEW, st.integers(1, 50), st.integers(1, 50), st.integers(1, 3))
def test_the_order_is_score_then_corpus_order_whatever_the_ties(queries, passages, depth, block, threads):
    queries, passages = np.array(queries, np.float32), np.array(passages, np.float32)
    ranking = ExactSearch(passages, block, threads)(queries, depth)
    assert ranking.passages.tolist() == obvious(queries, passages, depth)
    assert ranking.scores.tolist() == np.take_along_axis(queries @ passages.T, ranking.passages, axis=1).tolist()


def hard_cases():
    """Passages and queries for which rounding, or a cut among ties, could decide."""
    rng = np.random.default_rng(0)
    yield "copies", np.repeat(vectors(rng, 3), 400, axis=0)[rng.permutation(1200)], vectors(rng, 5)
    query = vectors(rng, 1, 384)
    noise = (1 + np.float32(1e-7) * rng.integers(-3, 4, (500, 384))).astype(np.float32)
    yield "products that differ by less than a sum in single precision errs", query * noise, query
    lengths = np.geomspace(1e-3, 1e3, 500, dtype=np.float32)[:, np.newaxis]
    yield "any length", vectors(rng, 500) * lengths, np.vstack([vectors(rng, 3) * 50, np.zeros((1, 24), np.float32)])


def test_the_order_is_that_of_double_precision_also_where_rounding_could_decide():
    for name, passages, queries in hard_cases():
        expected = obvious(queries, passages, 20)
        for block in (7, 64, 5000):
            assert ExactSearch(passages, block, 2)(queries, 20).passages.tolist() == expected, (name, block)


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize("order", ["random", "worst first"])
def test_blocks_threads_batches_blas_and_a_mapped_file_do_not_show(order, tmp_path):
    rng = np.random.default_rng(2)
    passages, queries = vectors(rng, 3000, 160), vectors(rng, 300, 160)  # more queries than a batch
    if order == "worst first":
        passages = passages[np.argsort(passages @ queries[0])]
    np.save(tmp_path / "passages.npy", passages)
    mapped = np.load(tmp_path / "passages.npy", mmap_mode="r")
    expected = ExactSearch(passages, 3000, 1)(queries, 50)
    for of, block, threads in ((passages, 11, 1), (passages, 97, 3), (mapped, 2048, 2), (passages, 5000, 7)):
        assert are_same(ExactSearch(of, block, threads)(queries, 50), expected), (block, threads)
    alone = [ExactSearch(passages)(queries[[row]], 50) for row in range(20)]
    assert all(are_same(ranking, expected.row(row)) for row, ranking in enumerate(alone))
    with threadpool_limits(2):
        assert are_same(ExactSearch(passages)(queries, 50), expected)


PASSAGES, QUERIES, DIMENSIONS = 1500, 20, 128


@dataclass(frozen=True)
class DrawnEncoder(Reducible):
    """Embeds the text of a number as random numbers, the later the smaller, and remembers what it was asked for."""

    asked: list[str] = field(default_factory=list)
    fingerprint = "drawn"

    def encode(self, texts, role):
        self.asked.extend(texts)
        drawn = [np.random.default_rng([int(text), role == "query"]).standard_normal(DIMENSIONS) for text in texts]
        embeddings = (np.array(drawn) + 0.1) * np.linspace(1, 0.2, DIMENSIONS)
        return (embeddings / np.linalg.norm(embeddings, axis=1, keepdims=True)).astype(np.float32)


HNSW = FaissIndex("HNSW4", {"efConstruction": 8}, {"efSearch": 12})
IVF_PQ = FaissIndex("IVF16,PQ2", search={"nprobe": 2})


@pytest.fixture
def retrieve(store):
    """The ranking of all queries."""
    search = Search(tuple(map(str, range(PASSAGES))), tuple(map(str, range(QUERIES))))

    def retrieve(index=None, depth=10, of=store, **settings):
        return rank(DenseRetriever(DrawnEncoder(**settings), of, index or ExactIndex()), search, depth)

    return retrieve


@pytest.mark.usefixtures("long_work")
def test_an_index_that_finds_everything_gives_the_exact_ranking(retrieve):
    exact, probes = retrieve(ExactIndex(), PASSAGES), {"nprobe": 4}
    indexes = {"Flat": {}, "HNSW32": {"efSearch": PASSAGES}, "IVF4,PQ8": probes, "OPQ8,IVF4,PQ8": probes, "SQ8": {}}
    for factory, search in indexes.items():
        ranking = retrieve(FaissIndex(factory, search=search), PASSAGES)
        assert ranking.recall_of_exact.tolist() == [1] * QUERIES, factory
        assert are_same(ranking, exact), factory
    assert are_same(retrieve(FaissIndex("Flat")), retrieve(ExactIndex()))  # at any depth


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize("index", [HNSW, IVF_PQ], ids=repr)
def test_recall_is_the_share_of_the_exact_passages_that_were_found_and_is_kept(retrieve, index, store):
    exact, made = retrieve(ExactIndex()).passages.tolist(), retrieve(index)
    shares = [len({*best} & {*row}) / 10 for best, row in zip(exact, made.passages.tolist(), strict=True)]
    assert made.recall_of_exact.tolist() == pytest.approx(shares)
    assert 0 < np.mean(shares) < 1
    kept, anew = retrieve(index), retrieve(index, of=Store(store.path, enabled=False))
    assert all(np.array_equal(vars(made)[name], vars(kept)[name]) for name in vars(made))
    assert are_same(anew, made)
    assert np.array_equal(anew.recall_of_exact, made.recall_of_exact)


@pytest.mark.parametrize("index", [HNSW, IVF_PQ], ids=repr)
def test_the_number_of_threads_does_not_show_in_an_index(index):
    import faiss

    passages, built, before = DrawnEncoder().encode(range(PASSAGES), "passage"), [], faiss.omp_get_max_threads()
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


PUBLISHED = {ndcg: 0.64508, average_precision: 0.59593, recall: 0.78333, mrr: 0.60472, precision: 0.08833}


@pytest.mark.real_data
@pytest.mark.soak  # .ci/run runs it, too, by itself: it keeps all cores busy for minutes
@pytest.mark.timeout(900)
def test_minilm_on_scifact_gives_the_published_figures(scifact, scifact_store):
    """MTEB results at 10, on the card of all-MiniLM-L6-v2."""
    retriever = DenseRetriever(SentenceTransformerEncoder(), scifact_store, ExactIndex())
    ranking = retriever.rank(Search(scifact.texts, tuple(query.text for query in scifact.queries)), 100)
    qrels = scifact.qrels
    judged = judge(scifact.passage_units[ranking.passages], qrels.query, qrels.unit, qrels.grade)
    assert {metric: metric(judged, 10).mean() for metric in PUBLISHED} == pytest.approx(PUBLISHED, abs=0.0005)


def test_a_sweep_over_dimensions_and_depths_encodes_every_text_once_and_ranks_otherwise(retrieve):
    asked = []
    rankings = [retrieve(asked=asked, dimensions=number) for number in (None, 64, 32)]
    retrieve(depth=3, asked=asked)
    once = {"queries": QUERIES, "passages": PASSAGES, "timing": 1 + QUERIES}  # one to warm up
    assert len(asked) == sum(once.values())
    assert len({ranking.scores.tobytes() for ranking in rankings}) == 3
    with pytest.raises(EncoderError, match=r"^encoder.dimensions: found 129, expected at most the model's 128$"):
        retrieve(dimensions=129)
