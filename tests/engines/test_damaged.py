"""Collections that were damaged behind our back: built again if they are ours, and said; never measured."""

import errno
import gc
import os
import shutil
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from ragsweep.core.errors import RetrieverError
from ragsweep_engines import manifest
from ragsweep_engines.chroma import ChromaIndex
from ragsweep_engines.lancedb import LanceDbIndex
from ragsweep_engines.milvus import MilvusIndex
from ragsweep_engines.qdrant import QdrantIndex
from ragsweep_engines.testing import corpus, exactly, queries

ENGINES = [
    pytest.param(QdrantIndex, "ragsweep.json", marks=pytest.mark.extra("qdrant"), id="qdrant"),
    pytest.param(LanceDbIndex, "collection.json", marks=pytest.mark.extra("lancedb"), id="lancedb"),
]


def built(store, engine, **settings):
    """The folder of a collection that nobody has open."""
    engine(store=store, **settings).open_corpus(corpus())
    gc.collect()
    place = Path(settings.get("path") or Path(store.path) / "engines" / engine.name)
    [folder] = (path for path in place.iterdir() if path.is_dir())
    return folder


def assert_built_again(store, engine, capsys, times=1, **settings):
    """It finds what exact search finds, says so in one line, and has nothing to say the next time."""
    capsys.readouterr()
    found = engine(store=store, **settings).open_corpus(corpus())(queries(corpus()), 10)
    said = capsys.readouterr().err.splitlines()
    assert len([line for line in said if "is damaged" in line and "building it again" in line]) == times
    assert np.isin(exactly(corpus(), 10).passages, found.passages).mean() > 0.95
    del found
    gc.collect()
    engine(store=store, **settings).open_corpus(corpus())
    assert "damaged" not in capsys.readouterr().err


def without(pattern):
    def damage(folder):
        for path in folder.rglob(pattern):
            (shutil.rmtree if path.is_dir() else Path.unlink)(path)

    return damage


def cut(pattern):
    def damage(folder):
        for path in folder.rglob(pattern):
            path.write_bytes(path.read_bytes()[:5])

    return damage


@pytest.mark.extra("qdrant")
@pytest.mark.parametrize(
    "damage",
    [without("segments"), cut("matrix.dat"), cut("links_compressed.bin"), without("shard"), without("vector_index")],
    ids=["no segments", "vectors cut", "graph cut", "no shard", "no graph"],
)
def test_a_collection_of_qdrant_that_lost_a_part_is_built_again(store, capsys, damage):
    damage(built(store, QdrantIndex))
    assert_built_again(store, QdrantIndex, capsys)


@pytest.mark.extra("lancedb")
@pytest.mark.parametrize(
    "damage",
    [without("*.lance"), without("_indices"), without("_versions"), cut("index.idx")],
    ids=["no data", "no index", "no versions", "index cut"],
)
def test_a_collection_of_lancedb_that_lost_a_part_is_built_again(store, capsys, damage):
    damage(built(store, LanceDbIndex))
    assert_built_again(store, LanceDbIndex, capsys)


@pytest.mark.extra("lancedb")
def test_rows_that_somebody_deleted_are_missed(store, capsys):
    import lancedb

    lancedb.connect(built(store, LanceDbIndex)).open_table("passages").delete("row > 4")
    assert_built_again(store, LanceDbIndex, capsys)


@pytest.mark.parametrize(("engine", "notes"), ENGINES)
@pytest.mark.parametrize("text", ["", '{"corpus": ', "[]", '{"passages": "many"}'])
def test_notes_that_cannot_be_read_are_written_again(store, capsys, engine, notes, text):
    settings = {"path": f"{store.path}/mine", "exact": True}
    (built(store, engine, **settings) / notes).write_text(text)
    assert_built_again(store, engine, capsys, **settings)


@pytest.mark.parametrize(("engine", "notes"), ENGINES)
def test_without_notes_a_folder_is_ours_in_the_store_only(store, tmp_path, capsys, engine, notes):
    (built(store, engine, exact=True) / notes).unlink()
    assert_built_again(store, engine, capsys, exact=True)
    settings = {"path": str(tmp_path / "mine"), "exact": True}
    folder = built(store, engine, **settings)
    (folder / notes).unlink()
    with pytest.raises(RetrieverError, match=r"index\.path: .* was not written by ragsweep"):
        engine(store=store, **settings).open_corpus(corpus())
    assert any(folder.iterdir())


@pytest.mark.parametrize(("engine", "notes"), ENGINES)
def test_a_disk_without_room_is_named_before_anything_is_built(store, monkeypatch, engine, notes):
    monkeypatch.setattr(manifest, "LEAST_FREE_MB", 10**9)
    with pytest.raises(RetrieverError, match=rf"index={engine.name}: building 900 passages of 32 dimensions can take"):
        engine(store=store).open_corpus(corpus())
    assert not list((Path(store.path) / "engines" / engine.name).glob(f"*/{notes}"))


@pytest.mark.parametrize(
    ("engine", "opened"),
    [
        pytest.param(LanceDbIndex, "ragsweep_engines.lancedb.database_of", marks=pytest.mark.extra("lancedb")),
        pytest.param(ChromaIndex, "ragsweep_engines.chroma.client_of", marks=pytest.mark.extra("chroma")),
        pytest.param(MilvusIndex, "milvus_lite.MilvusLite", marks=pytest.mark.extra("milvus")),
    ],
)
def test_a_collection_that_cannot_be_opened_now_is_not_deleted(store, monkeypatch, engine, opened):
    folder = built(store, engine)

    def fails(*_):
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(opened, fails)
    with pytest.raises(RetrieverError, match="Too many open files"):
        engine(store=store).open_corpus(corpus())
    assert (folder / "collection.json").exists()


def test_errors_of_this_moment_are_no_damage(tmp_path):
    with sqlite3.connect(tmp_path / "held", timeout=0) as one, sqlite3.connect(tmp_path / "held", timeout=0) as other:
        one.execute("BEGIN EXCLUSIVE")
        with pytest.raises(sqlite3.OperationalError) as locked:
            other.execute("BEGIN EXCLUSIVE")
    passing = [locked.value, MemoryError(), PermissionError(errno.EACCES, "denied"), OSError(errno.ENOSPC, "full")]
    damage = [FileNotFoundError(errno.ENOENT, "gone"), OSError("LanceError(IO): not found"), RuntimeError("bad magic")]
    assert [manifest.may_be_damage(error) for error in (*passing, *damage)] == [False] * 4 + [True] * 3


@pytest.mark.extra("qdrant")
def test_a_collection_on_a_full_disk_is_not_taken_for_damaged(store, monkeypatch):
    folder = built(store, QdrantIndex)
    monkeypatch.setattr(manifest, "MB", 10**12)
    with pytest.raises(RetrieverError, match="index=qdrant: opening a collection can take"):
        QdrantIndex(store=store).open_corpus(corpus())
    monkeypatch.undo()
    assert (folder / "ragsweep.json").exists()


def test_a_sample_has_the_first_and_the_last_passage():
    assert [manifest.sampled(passages) for passages in (1, 3)] == [[0], [0, 1, 2]]
    assert len(manifest.sampled(100_000)) == manifest.SAMPLED
    assert {0, 99_999} < {*manifest.sampled(100_000)}


def test_vectors_are_compared_in_single_precision():
    of = corpus(300)
    noted = manifest.manifest(of.embeddings)
    vectors = {row: of.embeddings[row].astype(float).tolist() for row in manifest.sampled(300)}
    manifest.check_manifest(noted, 300, vectors)
    vectors[0][0] += 1e-6
    with pytest.raises(manifest.DamagedError):
        manifest.check_manifest(noted, 300, vectors)


@pytest.mark.extra("lancedb")
def test_a_file_where_the_folder_of_collections_should_be_is_one_line(store, tmp_path):
    (tmp_path / "file").write_text("theirs")
    with pytest.raises(RetrieverError, match=r"index=lancedb: .*file cannot be a folder \(File exists\)"):
        LanceDbIndex(store=store, path=str(tmp_path / "file")).open_corpus(corpus())
    assert (tmp_path / "file").read_text() == "theirs"
