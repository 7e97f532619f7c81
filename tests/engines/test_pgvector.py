"""pgvector: exact search and survival on a real PostgreSQL, what its settings do, and errors that repeat no secret."""

import random
import subprocess
import sys
import time
import traceback

import numpy as np
import pytest
from application import succeeded
from letters import LetterEncoder
from postgres import PASSWORD, address, run_in

from ragsweep.core.errors import ConfigError, RetrieverError
from ragsweep.evaluation import judge, ndcg
from ragsweep.retrieval import DenseRetriever, ExactIndex, Search, SentenceTransformerEncoder
from ragsweep.retrieval.indexes.exact import ExactSearch
from ragsweep.testing import RankerContract
from ragsweep_engines.pgvector_index import PgvectorIndex

pytestmark = pytest.mark.extra("pgvector")


@pytest.fixture(autouse=True)
def database(postgres_server, monkeypatch):
    """The address of a database without anything of ours, which is set in the environment."""
    if not run_in(address(postgres_server), "SELECT 1 FROM pg_database WHERE datname = 'indexes'"):
        run_in(address(postgres_server), "CREATE DATABASE indexes")
    url = address(postgres_server, database="indexes")
    run_in(url, "DROP SCHEMA IF EXISTS ragsweep CASCADE")
    run_in(url, "DROP EXTENSION IF EXISTS vector")
    monkeypatch.setenv("PGVECTOR_URL", url)
    return url


def tables(database):
    return [name for (name,) in run_in(database, "SELECT tablename FROM pg_tables WHERE schemaname = 'ragsweep'")]


class TestDenseOverPgvector(RankerContract):
    component = DenseRetriever

    def make(self, store, **settings):
        return super().make(store, **{"encoder": LetterEncoder(), "index": PgvectorIndex()} | settings)


def passages(count=900, seed=0):
    """Passages in three groups, one group after another; those of different groups are far apart."""
    rng = np.random.default_rng(seed)
    centres = np.eye(3, 32).repeat(300, axis=0)
    embeddings = centres + 0.1 * rng.standard_normal(centres.shape)
    return (embeddings / np.linalg.norm(embeddings, axis=1, keepdims=True))[:count].astype(np.float32)


def queries(of):
    """Queries near some of the passages."""
    near = of[np.linspace(0, len(of) - 1, 9).astype(int)] + 0.02 * np.random.default_rng(1).standard_normal((9, 32))
    return (near / np.linalg.norm(near, axis=1, keepdims=True)).astype(np.float32)


def opened(of):
    return PgvectorIndex(exact=True).open(of, None)


def assert_exact(of, embeddings=None, depth=10):
    """The same passages as those of an exact search, in the same order, with the same scores."""
    embeddings = queries(of) if embeddings is None else embeddings
    hits, expected = opened(of)(embeddings, depth), ExactSearch(of)(embeddings, depth)
    assert hits.passages.tolist() == expected.passages.tolist()
    assert hits.scores.tolist() == expected.scores.tolist()


def test_exact_search_ranks_as_an_exact_search_does():
    for of in (passages(), passages(40), passages(1), 1e3 * passages()):
        for depth in (1, 10, 100):
            assert_exact(of, queries(passages(len(of))), depth)
    noise = np.random.default_rng(0).normal(scale=1e-3, size=(40, 8))  # products are told apart within their roundings
    assert_exact(np.full((40, 8), 1e4, np.float32) + noise.astype(np.float32), np.full((1, 8), 1e4, np.float32), 5)


def test_a_table_is_built_once_and_one_that_somebody_has_changed_is_named_and_not_searched(database):
    opened(passages())
    [table] = tables(database)
    before = run_in(database, f"SELECT 'ragsweep.{table}'::regclass::oid")
    for of in (passages(), passages(seed=1), passages(40)):  # those of other passages lie beside it
        assert_exact(of)
    assert run_in(database, f"SELECT 'ragsweep.{table}'::regclass::oid") == before
    assert len(tables(database)) == 3
    for change in ("UPDATE {} SET row = 4000 WHERE row = 899", "DELETE FROM {} WHERE row = 7"):
        opened(passages())
        run_in(database, change.format(f"ragsweep.{table}"))
        with pytest.raises(RetrieverError, match=f"somebody has changed the table ragsweep.{table}; drop it"):
            opened(passages())
        run_in(database, f"DROP TABLE ragsweep.{table}")


BUILD = """
import sys

import numpy as np

from ragsweep_engines.pgvector_index import PgvectorIndex

passages = np.load(sys.argv[1])
for number in range(int(sys.argv[2])):
    print(number, flush=True)
    PgvectorIndex(exact=True).open(np.roll(passages, number, axis=0), None)
"""


def building(folder, count):
    """A process that builds a table of the same passages in another order, again and again."""
    np.save(folder / "passages.npy", passages())
    command = [sys.executable, "-c", BUILD, str(folder / "passages.npy"), str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


@pytest.mark.usefixtures("processes")
def test_what_a_killed_process_was_building_is_built_again(tmp_path):
    process = building(tmp_path, 500)
    for _ in range(3):
        process.stdout.readline()
    time.sleep(random.random() * 0.3)
    process.kill()
    last = [2, *map(int, process.communicate()[0].split())][-1]
    for number in (last - 1, last):
        assert_exact(np.roll(passages(), number, axis=0))


@pytest.mark.usefixtures("processes")
def test_two_processes_build_a_table_once(database, tmp_path):
    both = [building(tmp_path, 1) for _ in range(2)]
    assert [process.communicate(timeout=60)[0] for process in both] == ["0\n"] * 2
    assert [process.returncode for process in both] == [0, 0]
    assert len(tables(database)) == 1
    assert_exact(passages())


SUCH_AS = "such as postgresql://user:password@host:5432/database"
UNUSABLE = [
    ({"password": "a wrong secret"}, "it refuses the password"),
    ({"user": "nobody_here", "password": "a wrong secret"}, "it refuses the password"),
    ({"database": "nosuch"}, "it has no such database or user"),
    ({"folder": "/nonexistent"}, "nothing answers there"),
    ({"folder": "127.0.0.1&port=1"}, "nothing answers there"),
    (
        {"user": "maker", "password": "secret of the maker", "database": "indexes"},
        "the user may not create the schema ragsweep or the extension vector in this database",
    ),
]


def test_what_cannot_be_used_gets_one_line_without_a_secret_and_a_check_leaves_nothing(
    postgres_server, database, monkeypatch, tmp_path
):
    run_in(database, "CREATE ROLE maker LOGIN PASSWORD 'secret of the maker'")
    expected = {
        address(**{"folder": postgres_server, **change}): f"the server of PGVECTOR_URL cannot be used: {message}"
        for change, message in UNUSABLE
    }
    for wrong in ("postgresql://me:se%zzcret@host/db", "se cret", "mysql://me:secret@host/db"):
        expected[wrong] = f"PGVECTOR_URL is not an address {SUCH_AS}"
    expected[""] = "PGVECTOR_URL is not set; set it in the environment or in the file .env of the project folder, "
    expected[""] += SUCH_AS
    monkeypatch.setenv("RAGSWEEP_PROJECT", str(tmp_path))
    for url, message in expected.items():
        monkeypatch.setenv("PGVECTOR_URL", url)
        with pytest.raises(ConfigError) as refused:
            PgvectorIndex().check()
        assert str(refused.value) == f"index=pgvector: {message}"
        assert "secret" not in "".join(traceback.format_exception(refused.value)).replace("secret of", "")
    monkeypatch.delenv("PGVECTOR_URL")
    (tmp_path / ".env").write_text(f"PGVECTOR_URL={database}\n")
    PgvectorIndex().check()
    assert run_in(database, "SELECT nspname FROM pg_namespace WHERE nspname = 'ragsweep'") == []
    assert run_in(database, "SELECT extname FROM pg_extension WHERE extname = 'vector'") == []


def test_a_server_that_goes_away_is_told_without_its_address(database):
    search = opened(passages())
    run_in(database, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'ragsweep'")
    with pytest.raises(ConfigError, match=r"^index=pgvector: the server of PGVECTOR_URL cannot be used: it has ended"):
        search(queries(passages()), 10)


def test_no_run_records_the_address(application, dataset, database):
    settings = ["retriever=dense", "index=pgvector", "encoder=wordllama"]
    process = succeeded(application.script_here("run", *application.arguments(*dataset, *settings)))
    files = [file.read_text("latin1") for file in application.home.rglob("*") if file.is_file()]
    texts = [process.stdout, process.stderr, *files]
    assert not [text for text in texts if PASSWORD in text or PASSWORD.replace(" ", "%20") in text]
    assert tables(database)


@pytest.mark.real_data
@pytest.mark.soak  # the embeddings of SciFact take minutes
@pytest.mark.timeout(900)
def test_exact_search_ranks_scifact_as_our_exact_search(scifact, scifact_store):
    search = Search(scifact.texts, tuple(query.text for query in scifact.queries))
    rankings = [
        DenseRetriever(SentenceTransformerEncoder(), scifact_store, index).rank(search, 100)
        for index in (PgvectorIndex(exact=True), ExactIndex())
    ]
    assert rankings[0].passages.tolist() == rankings[1].passages.tolist()
    assert rankings[0].recall_of_exact.min() == 1
    qrels = scifact.qrels
    judged = judge(scifact.passage_units[rankings[0].passages], qrels.query, qrels.unit, qrels.grade)
    assert ndcg(judged, 10).mean() == pytest.approx(0.6451, abs=0.0005)
