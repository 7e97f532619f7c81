"""A collection of Qdrant that somebody else has filled: what its hits stand for, its own search, and snapshots."""

import hashlib
import io
import shutil
import tarfile
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from letters import LetterEncoder

from ragsweep.core.errors import ConfigError, RetrieverError
from ragsweep.retrieval import NOTHING, DenseRetriever, Names, Search
from ragsweep.retrieval.stages import rank
from ragsweep.store.stage_store import NO_STORE, Store
from ragsweep.tasks.ranking.nothing_found import without_cuts
from ragsweep.testing import RankerContract
from ragsweep_engines.qdrant import QdrantRetriever

with suppress(ImportError):  # where they are not installed, the mark skips the tests
    import qdrant_edge as edge
    from qdrant_client import models
    from qdrant_server import qdrant_server

pytestmark = pytest.mark.extra("qdrant")
KEY = "a-key-that-nobody-may-see"
TEXTS = (
    "iron tablets are taken daily",
    "malaria is found with a rapid test",
    "zinc for fourteen days after loose stool",
    "blood pressure is measured at every visit",
    "vaccines are kept between two and eight degrees",
    "exclusive breastfeeding for six months",
)
QUERIES = ("when is iron taken", "rapid test for malaria", "zinc")


@pytest.fixture(autouse=True)
def no_server(monkeypatch, tmp_path):
    monkeypatch.delenv("QDRANT_URL", raising=False)
    monkeypatch.delenv("QDRANT_API_KEY", raising=False)
    monkeypatch.setenv("RAGSWEEP_PROJECT", str(tmp_path))


def searched(units=None, documents=None, texts=TEXTS):
    documents = documents or tuple(f"{number}.pdf" for number in range(len(texts)))
    passages = tuple(f"chunk {number}" for number in range(len(texts)))
    names = Names(tuple(f"q{number}" for number in range(len(QUERIES))), passages, units or documents, documents)
    return Search(texts, QUERIES, lambda: names, "names")


def fill(place, payloads, texts=TEXTS, name="manuals", **more):
    """A collection as somebody else makes it: with a dense vector without a name, and BM25 as `words`."""
    folder = Path(place) / name
    folder.mkdir(parents=True)
    config = {
        "vectors": {"": edge.EdgeVectorParams(size=26, distance=edge.Distance.Cosine)},
        "sparse_vectors": {"words": edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf)},
    }
    shard = edge.EdgeShard.create(str(folder), edge.EdgeConfig(**{**config, **more}))
    embeddings, bm25 = LetterEncoder().encode([*texts, ""], "passage").tolist(), edge.Bm25()
    points = [
        edge.Point(10 + number, {"": embeddings[number], "words": bm25.embed_document(text)}, payloads[number])
        for number, text in enumerate(texts)
    ]
    if points:
        shard.update(edge.UpdateOperation.upsert_points(points))
    shard.flush()
    shard.close()
    return folder


def by_source(texts=TEXTS):
    return [
        {"file_path": f"docs/{number}.pdf", "content": text, "topic": number % 2} for number, text in enumerate(texts)
    ]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a collection; nothing writes into it."""
    place = tmp_path_factory.mktemp("there")
    fill(place, by_source())
    return place


@pytest.fixture
def retriever(place):
    return QdrantRetriever("manuals", LetterEncoder(), path=str(place))


def found(retriever, search=None, depth=6):
    return [
        [each for each in row if each != NOTHING]
        for row in rank(retriever, search or searched(), depth).passages.tolist()
    ]


class TestQdrantCollection(RankerContract):
    component = QdrantRetriever

    @pytest.fixture(autouse=True)
    def collection(self, tmp_path):
        texts = RankerContract.search.passages
        fill(tmp_path / "there", [{"file_path": f"d{number}"} for number in range(len(texts))], texts)
        queries, documents = (tuple(f"{kind}{row}" for row in range(12)) for kind in "qd")
        names = Names(queries[: len(RankerContract.search.queries)], documents, documents, documents)
        type(self).search = replace(RankerContract.search, names=partial(Names, *names))
        payload = {"source": "file_path"}
        settings = {"collection": "manuals", "path": str(tmp_path / "there"), "payload": payload}
        type(self).settings = {**settings, "encoder": LetterEncoder()}


def test_hits_are_those_of_an_exact_search_with_the_engine_s_scores(retriever):
    ours = rank(replace(retriever, exact=True), searched(), 6)
    exact = DenseRetriever(LetterEncoder(), NO_STORE).rank(searched(), 6)
    assert np.array_equal(ours.passages, exact.passages)
    np.testing.assert_allclose(ours.scores, exact.scores, atol=1e-6)
    assert len(ours.latency_ms) == len(QUERIES)


def test_nothing_is_written(place, retriever):
    def state():
        files = sorted(path for path in place.rglob("*") if path.is_file())
        return [(path, path.stat().st_mtime_ns, hashlib.sha256(path.read_bytes()).hexdigest()) for path in files]

    before = state()
    retriever.check(searched())
    found(retriever)
    assert state() == before


@pytest.mark.parametrize(
    "changed",
    [
        {"score_threshold": 0.8},
        {"filter": {"topic": 1}},
        {"filter": {"file_path": ["docs/0.pdf", "docs/3.pdf"]}},
        {"vector": None, "sparse_vector": "words"},
        {"sparse_vector": "words", "fusion": "rrf"},
        {"sparse_vector": "words", "fusion": "dbsf"},
    ],
    ids=str,
)
def test_a_setting_changes_what_is_found(retriever, changed):
    assert found(replace(retriever, **changed)) != found(retriever)
    assert replace(retriever, **changed).fingerprint != retriever.fingerprint


def test_a_filter_and_a_threshold_leave_out_what_they_say(retriever):
    assert {each for row in found(replace(retriever, filter={"topic": 1})) for each in row} == {1, 3, 5}
    scores = rank(replace(retriever, score_threshold=0.8), searched(), 6).scores
    assert (scores[np.isfinite(scores)] >= 0.8).all()
    assert np.isfinite(scores).sum() < 18


def test_what_was_ranked_before_a_filter_or_a_threshold_is_known(retriever):
    empty = replace(retriever, filter={"topic": 99}, score_threshold=0.8)
    assert not any(found(empty))
    bare, removed = without_cuts(empty)
    assert removed == ["score_threshold", "filter"]
    assert found(bare) == found(retriever)


def test_bm25_finds_the_words(retriever):
    rows = found(replace(retriever, vector=None, sparse_vector="words"))
    assert [row[0] for row in rows] == [0, 1, 2]
    assert rows[2] == [2]


def test_reciprocal_ranks_are_those_of_both_searches(retriever):
    """The formula of the documentation: the sum of 1 / (2 + rank), with ranks from 0."""
    dense, sparse = found(retriever), found(replace(retriever, vector=None, sparse_vector="words"))
    fused = rank(replace(retriever, sparse_vector="words", fusion="rrf"), searched(), 6)
    for row, scores in enumerate(fused.scores):
        parts = [{passage: 1 / (2 + at) for at, passage in enumerate(each[row])} for each in (dense, sparse)]
        expected = {passage: sum(part.get(passage, 0) for part in parts) for passage in dense[row]}
        np.testing.assert_allclose(scores, sorted(expected.values(), reverse=True), atol=1e-6)


def test_fewer_candidates_are_fused(retriever):
    fused = replace(retriever, sparse_vector="words", fusion="rrf")
    dense, sparse = found(retriever), found(replace(retriever, vector=None, sparse_vector="words"))
    one = found(replace(fused, candidates=1))
    assert [set(row) for row in one] == [{first[0], other[0]} for first, other in zip(dense, sparse, strict=True)]
    assert fused.at_least == {"candidates": "k"}


def test_another_language_makes_other_words(tmp_path):
    texts = ("the children", "la casa")
    fill(tmp_path, [{"file_path": "0.pdf"}, {"file_path": "1.pdf"}], texts)
    words = QdrantRetriever("manuals", LetterEncoder(), path=str(tmp_path), vector=None, sparse_vector="words")
    words = replace(words, payload={"source": "file_path"})
    search = replace(searched(texts=texts), queries=("the", "la", "casa"))
    assert found(words, search) == [[], [1], [1]]
    spanish = found(replace(words, language="spanish"), search)
    assert spanish == [[], [], []]  # "la" is a stop word, and "casa" has another stem


def test_exact_search_and_candidates_reach_the_engine(tmp_path):
    rng = np.random.default_rng(0)
    texts = tuple("".join(rng.choice([*"abcdefghijklmnopqrstuvwxyz"], 12)) for _ in range(600))
    graph = {
        "hnsw_config": edge.HnswIndexConfig(2, 4, 10),
        "optimizers": edge.EdgeOptimizersConfig(indexing_threshold=1, default_segment_number=1),
    }
    folder = fill(tmp_path, [{"file_path": f"{number}.pdf"} for number in range(600)], texts, **graph)
    shard = edge.EdgeShard.load(str(folder))
    shard.optimize()
    shard.close()
    graph = QdrantRetriever("manuals", LetterEncoder(), path=str(tmp_path), ef_search=3)
    graph = replace(graph, payload={"source": "file_path"})
    exact, search = replace(graph, exact=True), searched(texts=texts)
    assert found(exact, search, 3) != found(graph, search, 3)
    assert found(replace(graph, ef_search=600), search, 3) != found(graph, search, 3)
    assert "ef_search" in exact.without_effect


PAGES = tuple(f"manual.pdf#{number // 2}" for number in range(6))  # two passages a page


def in_pages(tmp_path, payloads, texts=TEXTS, **settings):
    fill(tmp_path / "pages", payloads, texts)
    retriever = QdrantRetriever("manuals", LetterEncoder(), path=str(tmp_path / "pages"), **settings)
    return found(retriever, searched(PAGES, ("manual.pdf",) * 6))


@pytest.mark.parametrize("page", [int, float, str, lambda number: [number]])
def test_a_page_stands_for_its_passage_with_most_of_the_words(tmp_path, page):
    payloads = [
        {"meta": {"file": "s3://bucket/man%75al.pdf", "page": page(number // 2)}, "content": text}
        for number, text in enumerate(TEXTS)
    ]
    fields = {"source": "meta.file", "page": "meta.page", "text": "content"}
    assert in_pages(tmp_path, payloads, payload=fields) == found_in_exact()


def found_in_exact():
    return DenseRetriever(LetterEncoder(), NO_STORE).rank(searched(), 6).passages.tolist()


def test_a_page_without_texts_stands_for_its_passages_in_their_order(tmp_path):
    payloads = [{"file": "manual.pdf", "page": number // 2} for number in range(6)]
    rows = in_pages(tmp_path, payloads, payload={"source": "file", "page": "page"})
    for row, exact in zip(rows, found_in_exact(), strict=True):
        assert [passage // 2 for passage in row] == [passage // 2 for passage in exact]
        assert all(row.index(first) < row.index(first + 1) for first in (0, 2, 4))


def test_texts_find_the_passages_where_pages_are_not_known(tmp_path):
    payloads = [{"file": "manual.pdf", "content": text.upper()} for text in TEXTS]
    rows = in_pages(tmp_path, payloads, payload={"source": "file", "text": "content"})
    assert rows == found_in_exact()


def test_passages_are_found_by_their_id(tmp_path):
    payloads = [{"id": f"chunk {5 - number}"} for number in range(6)]
    rows = in_pages(tmp_path, payloads, payload={"passage": "id"})
    assert rows == [[5 - passage for passage in row] for row in found_in_exact()]


def test_more_points_than_passages_of_a_page_are_left_out_and_counted(tmp_path, capsys):
    payloads = [{"file": "manual.pdf", "page": 0} for _ in range(6)]
    rows = in_pages(tmp_path, payloads, payload={"source": "file", "page": "page"})
    assert [sorted(row) for row in rows] == [[0, 1]] * 3
    assert "12 hits left out" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"collection": "manual"}, "has no collection 'manual' (there is manuals)"),
        ({"collection": "../manuals"}, "expected the name of a collection"),
        ({"vector": "dense"}, "has no dense vector 'dense' (it has '' of 26 dimensions)"),
        ({"sparse_vector": "bm25", "fusion": "rrf"}, "has no sparse vector 'bm25' (it has 'words')"),
        (
            {"payload": {"source": "source"}},
            "payload.source: no point that was found has 'source' (there is 'content'",
        ),
        ({"payload": {"source": "topic"}}, "18 of 18 hits are nothing that the dataset knows ('0', '1')"),
        ({"vector": None, "sparse_vector": "words", "language": "klingon"}, "retriever.language: "),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_does_not_fit_is_said_in_one_line_before_a_run(retriever, settings, said):
    with pytest.raises((RetrieverError, ConfigError)) as error:
        replace(retriever, **settings).check(searched())
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_another_encoder_is_refused(retriever):
    class Normed(LetterEncoder):
        def encode(self, texts, role):
            some = super().encode(texts, role)[:, :8] + np.float32(0.1)
            return some / np.linalg.norm(some, axis=1, keepdims=True)

    with pytest.raises(RetrieverError, match=r"embeds in 8 dimensions, but vector '' of collection 'manuals' has 26"):
        replace(retriever, encoder=Normed()).check(searched())


def test_a_document_that_the_dataset_does_not_have_is_named(retriever):
    other = searched(documents=("0.pdf", "1.pdf", "2.pdf", "3.pdf", "4.pdf", "new.pdf"))
    with pytest.raises(RetrieverError, match=r"3 of 18 hits are nothing that the dataset knows \('docs/5.pdf'\)"):
        retriever.check(other)


def test_an_empty_collection_is_refused(tmp_path):
    fill(tmp_path, [], ())
    with pytest.raises(RetrieverError, match="collection 'manuals': is empty"):
        QdrantRetriever("manuals", LetterEncoder(), path=str(tmp_path)).check(searched())


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"vector": None}, "retriever.vector"),
        ({"fusion": "rrf"}, "retriever.fusion: found rrf, expected null for one vector"),
        ({"sparse_vector": "words"}, "retriever.fusion: found null, expected rrf or dbsf"),
        ({"payload": {"file": "x"}}, "retriever.payload: found 'file'"),
        ({"payload": {"text": "x"}}, "retriever.payload: expected the name of the field"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_settings_that_contradict_each_other_are_refused(settings, said):
    with pytest.raises(ConfigError, match=said):
        QdrantRetriever("manuals", LetterEncoder(), **settings)


def test_the_pickled_points_of_the_local_mode_are_not_read(tmp_path):
    from qdrant_client import QdrantClient

    client = QdrantClient(path=str(tmp_path / "local"))
    client.create_collection("manuals", models.VectorParams(size=26, distance=models.Distance.COSINE))
    client.close()
    with pytest.raises(RetrieverError, match="local mode, which keeps pickled objects"):
        QdrantRetriever("manuals", LetterEncoder(), path=str(tmp_path / "local")).check(searched())


def test_the_fingerprint_follows_the_content(tmp_path):
    place = fill(tmp_path / "own", by_source()).parent
    retriever = QdrantRetriever("manuals", LetterEncoder(), path=str(place))
    before = retriever.fingerprint
    assert replace(retriever).fingerprint == before
    shard = edge.EdgeShard.load(str(place / "manuals"))
    shard.update(edge.UpdateOperation.delete_points([10]))
    shard.flush()
    shard.close()
    assert replace(retriever).fingerprint != before


def as_server_snapshot(folder, file, prefix="0/"):
    """A snapshot as a server writes it: each segment is an archive, and those of a shard are in its folder."""
    with tarfile.open(file, "w") as archive:
        for segment in sorted((folder / "segments").iterdir()):
            content = io.BytesIO()
            with tarfile.open(fileobj=content, mode="w") as inner:
                inner.add(segment, "snapshot/files")
            entry = tarfile.TarInfo(f"{prefix}segments/{segment.name}.tar")
            entry.size = content.tell()
            content.seek(0)
            archive.addfile(entry, content)
        if prefix:
            archive.addfile(tarfile.TarInfo("config.json"))
    return file


@pytest.mark.parametrize("prefix", ["0/", ""], ids=["of a collection", "of a shard"])
def test_a_collection_that_is_absent_is_restored_from_a_snapshot(place, retriever, tmp_path, prefix):
    file = as_server_snapshot(place / "manuals", tmp_path / "manuals.snapshot", prefix)
    store = Store(str(tmp_path / "store"))
    restored = QdrantRetriever("manuals", LetterEncoder(), store, snapshot=str(file))
    assert found(restored) == found(retriever)
    file.unlink()
    assert found(replace(restored, snapshot=None)) == found(retriever)


def entry(name, content=b"", kind=tarfile.REGTYPE, link=""):
    made = tarfile.TarInfo(name)
    made.size, made.type, made.linkname = len(content), kind, link
    return made, io.BytesIO(content)


def segment(*entries):
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as inner:
        for each in entries:
            inner.addfile(*each)
    return content.getvalue()


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ([entry("../outside.txt", b"x")], "outside of its folder"),
        ([entry("/tmp/outside.txt", b"x")], "outside of its folder"),
        ([entry("segments/a", kind=tarfile.SYMTYPE, link="/etc")], "neither file nor folder"),
        ([entry("segments/a.tar", segment(entry("snapshot/files/../../../../outside.txt", b"x")))], "unexpected entry"),
        ([entry("segments/a.tar", segment(entry("snapshot/files/a", kind=tarfile.LNKTYPE, link="/x")))], "unexpected"),
        ([entry("0/segments/a", b"x"), entry("1/segments/a", b"x")], "has 2 shards"),
        ([entry("notes.txt", b"x")], "has 0 shards"),
        ([entry("segments/a.tar", segment(entry("snapshot/files/segment.json", b"x")))], "cannot be restored"),
    ],
    ids=["up", "absolute", "link", "up in a segment", "link in a segment", "two shards", "none", "no segment"],
)
def test_a_snapshot_with_something_else_is_refused_and_leaves_nothing(tmp_path, entries, said):
    file = tmp_path / "evil.snapshot"
    with tarfile.open(file, "w") as archive:
        for each in entries:
            archive.addfile(*each)
    retriever = QdrantRetriever("manuals", LetterEncoder(), path=str(tmp_path / "place"), snapshot=str(file))
    with pytest.raises(RetrieverError, match=f"retriever.snapshot: .*{said}"):
        retriever.check(searched())
    assert not [*tmp_path.rglob("outside*")]
    assert [path.name for path in (tmp_path / "place").iterdir()] == ["manuals.lock"]


def test_a_snapshot_larger_than_the_disk_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=100))
    file = tmp_path / "large.snapshot"
    with tarfile.open(file, "w") as archive:
        archive.addfile(*entry("segments/a.tar", segment(entry("snapshot/files/a", b"x" * 200))))
    retriever = QdrantRetriever("manuals", LetterEncoder(), path=str(tmp_path / "place"), snapshot=str(file))
    with pytest.raises(RetrieverError, match="more bytes than the 100"):
        retriever.check(searched())


@pytest.mark.parametrize("content", [None, b"not an archive"], ids=["absent", "damaged"])
def test_a_file_that_is_no_snapshot_is_refused(tmp_path, content):
    file = tmp_path / "a.snapshot"
    if content is not None:
        file.write_bytes(content)
    retriever = QdrantRetriever("manuals", LetterEncoder(), path=str(tmp_path / "place"), snapshot=str(file))
    with pytest.raises(RetrieverError, match=r"retriever.snapshot: .*a\.snapshot"):
        retriever.check(searched())


@pytest.fixture
def server(monkeypatch):
    with qdrant_server(KEY) as running:
        monkeypatch.setenv("QDRANT_URL", running.url)
        monkeypatch.setenv("QDRANT_API_KEY", KEY)
        vectors = {"dense": models.VectorParams(size=26, distance=models.Distance.COSINE)}
        sparse = {"words": models.SparseVectorParams(modifier=models.Modifier.IDF)}
        running.local.create_collection("manuals", vectors, sparse)
        embeddings, bm25 = LetterEncoder().encode(list(TEXTS), "passage").tolist(), edge.Bm25()
        for number, text in enumerate(TEXTS):
            words = bm25.embed_document(text)
            vector = {
                "dense": embeddings[number],
                "words": models.SparseVector(indices=list(words.indices), values=list(words.values)),
            }
            point = models.PointStruct(id=number, vector=vector, payload=by_source()[number])
            running.local.upsert("manuals", [point])
        yield running


def test_a_server_s_collection_is_read_only(server, retriever):
    on_server = QdrantRetriever("manuals", LetterEncoder(), vector="dense")
    on_server.check(searched())
    assert found(on_server) == found(retriever)
    assert server.writes == []


@pytest.mark.parametrize(
    "settings",
    [
        {"filter": {"topic": 1}, "score_threshold": 0.5},
        {"filter": {"file_path": ["docs/0.pdf", "docs/3.pdf"]}},
        {"sparse_vector": "words", "fusion": "rrf"},
        {"sparse_vector": "words", "fusion": "dbsf"},
    ],
    ids=str,
)
def test_a_server_is_asked_for_the_same_as_the_engine(server, retriever, settings):
    """The server's answers come from another implementation of the same definitions."""
    on_server = rank(QdrantRetriever("manuals", LetterEncoder(), vector="dense", **settings), searched(), 6)
    here = rank(replace(retriever, **settings), searched(), 6)
    np.testing.assert_allclose(on_server.scores, here.scores, atol=1e-5)


def test_a_collection_that_a_server_lacks_is_named(server):
    with pytest.raises(RetrieverError, match=r"has no collection 'nosuch' \(there is manuals\)"):
        QdrantRetriever("nosuch", LetterEncoder()).check(searched())


def test_a_server_gets_the_snapshot_of_a_collection_that_it_lacks(server, place, tmp_path):
    file = as_server_snapshot(place / "manuals", tmp_path / "manuals.snapshot")
    restored = QdrantRetriever("restored", LetterEncoder(), snapshot=str(file))
    with pytest.raises(RetrieverError, match="'restored': is empty"):  # the server of the test does not unpack it
        restored.check(searched())
    [uploaded] = server.uploaded
    assert file.read_bytes() in uploaded
    assert b'name="snapshot"' in uploaded
    QdrantRetriever("manuals", LetterEncoder(), vector="dense", snapshot=str(file)).check(searched())
    assert len(server.uploaded) == 1


def test_settings_without_effect_are_listed():
    unused = QdrantRetriever("manuals", LetterEncoder(), path="x")
    assert {"path", "snapshot", "candidates", "language"} <= {*unused.without_effect}
    fused = replace(unused, sparse_vector="words", fusion="rrf")
    assert not {"candidates", "language", "encoder"} & {*fused.without_effect}
    assert "encoder" in replace(fused, vector=None, fusion=None).without_effect


LABELLED = {"source": "meta.file", "page": "meta.page", "text": "content"}


def from_0(by=1):
    """The payloads of points whose pages are too small by some, as LangChain counts from 0; the label is right."""
    pages = [number // 2 for number in range(6)]
    return [
        {"meta": {"file": "manual.pdf", "page": page - by, "page_label": str(page)}, "content": text}
        for page, text in zip(pages, TEXTS, strict=True)
    ]


@pytest.mark.parametrize(
    ("by", "texts", "said"),
    [
        (1, TEXTS, ["4 of 6 points", "the next page, as pages are counted from 0", "payload.page=meta.page_label"]),
        (-1, TEXTS, ["4 of 6 points", "the page before", "payload.page=meta.page_label"]),
        (0, TEXTS, []),
        (0, ("words of quite another book",) * 6, ["6 of 6 points", "check retriever.payload"]),
    ],
)
def test_points_whose_text_is_not_that_of_their_page_are_named(tmp_path, capsys, by, texts, said):
    payloads = [{**each, "content": text} for each, text in zip(from_0(by), texts if by == 0 else TEXTS, strict=True)]
    fill(tmp_path / "pages", payloads)
    retriever = QdrantRetriever("manuals", LetterEncoder(), path=str(tmp_path / "pages"), payload=LABELLED)
    search = searched(PAGES, ("manual.pdf",) * 6)
    retriever.check(search)
    told = " ".join(sentence for each in retriever.sections(search).values() for sentence in each)
    assert all(part in told for part in said)
    assert told in capsys.readouterr().err
    assert bool(told) == bool(said)


def test_a_collection_without_its_segments_is_named_as_damaged(tmp_path):
    shutil.rmtree(fill(tmp_path, by_source()) / "segments")
    with pytest.raises(RetrieverError, match="manuals has no segments, so it is not a collection, or a damaged one"):
        QdrantRetriever("manuals", LetterEncoder(), path=str(tmp_path)).check(searched())


def test_vectors_that_are_all_zero_are_not_measured(tmp_path):
    for file in fill(tmp_path, by_source()).rglob("chunk*"):
        file.write_bytes(bytes(file.stat().st_size))
    with pytest.raises(RetrieverError, match="every hit of every query scores 0"):
        QdrantRetriever("manuals", LetterEncoder(), path=str(tmp_path)).check(searched())
