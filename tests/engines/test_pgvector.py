"""pgvector: exact search and survival on a real PostgreSQL, what its settings do, and errors that repeat no secret."""

import random
import subprocess
import sys
import time
import traceback

import numpy as np
import pytest
from letters import LetterEncoder
from postgres import PASSWORD, address, postgres

from ragsweep.core.errors import ConfigError, RetrieverError
from ragsweep.retrieval import DenseRetriever
from ragsweep.retrieval.indexes.exact import ExactSearch
from ragsweep.testing import RankerContract
from ragsweep_engines.pgvector_index import PgvectorIndex

pytestmark = pytest.mark.extra("pgvector")


@pytest.fixture(scope="module")
def server():
    with postgres("shared_buffers=16MB") as folder:
        yield folder


@pytest.fixture(autouse=True)
def database(server, monkeypatch):
    """The address of a database without anything of ours, which is set in the environment."""
    import psycopg  # only where it is installed

    with psycopg.connect(address(server)) as connection:
        connection.execute("DROP SCHEMA IF EXISTS ragsweep CASCADE")
        connection.execute("DROP EXTENSION IF EXISTS vector")
    monkeypatch.setenv("PGVECTOR_URL", address(server))
    return address(server)


def run_in(database, statement):
    import psycopg

    with psycopg.connect(database, autocommit=True) as connection:
        done = connection.execute(statement)
        return done.fetchall() if done.description else None


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


def opened(of, **settings):
    return PgvectorIndex(**settings).open(of, None)


def assert_exact(found, of, asked, depth):
    """The same passages as those of an exact search, in the same order, with the same scores."""
    expected = ExactSearch(of)(asked, depth)
    assert found.passages.tolist() == expected.passages.tolist()
    assert found.scores.tolist() == expected.scores.tolist()


@pytest.mark.parametrize("depth", [1, 10, 100])
@pytest.mark.parametrize(
    "of", [passages(), passages(40), passages(1), 1e3 * passages()], ids=["all", "40", "1", "long"]
)
def test_exact_search_finds_what_an_exact_search_finds(of, depth):
    assert_exact(opened(of, exact=True)(queries(passages(len(of))), depth), of, queries(passages(len(of))), depth)


def test_products_within_their_roundings_are_told_apart():
    of = np.full((40, 8), 1e4, np.float32) + np.random.default_rng(0).normal(scale=1e-3, size=(40, 8)).astype(
        np.float32
    )
    asked = np.full((1, 8), 1e4, np.float32)
    assert_exact(opened(of, exact=True)(asked, 5), of, asked, 5)


def test_a_table_is_built_once_and_those_of_other_passages_lie_beside_it(database):
    opened(passages(), exact=True)
    [table] = tables(database)
    before = run_in(database, f"SELECT 'ragsweep.{table}'::regclass::oid")
    searches = [(of, opened(of, exact=True)) for of in (passages(), passages(seed=1), passages(40))]
    assert run_in(database, f"SELECT 'ragsweep.{table}'::regclass::oid") == before
    assert len(tables(database)) == 3
    for of, search in searches:
        assert_exact(search(queries(of), 10), of, queries(of), 10)


@pytest.mark.parametrize(
    "change", ["DELETE FROM {table} WHERE row = 7", "UPDATE {table} SET row = 4000 WHERE row = 899"]
)
def test_a_table_that_somebody_has_changed_is_named_and_not_searched(database, change):
    opened(passages(), exact=True)
    [table] = tables(database)
    run_in(database, change.format(table=f"ragsweep.{table}"))
    with pytest.raises(RetrieverError, match=f"somebody has changed the table ragsweep.{table}; drop it"):
        opened(passages(), exact=True)


BUILD = """
import sys

import numpy as np

from ragsweep_engines.pgvector_index import PgvectorIndex

passages = np.load(sys.argv[1])
for number in range(int(sys.argv[2])):
    print(number, flush=True)
    PgvectorIndex(exact=True).open(np.roll(passages, number, axis=0), None)
"""


def building(folder, tables):
    """A process that builds a table of the same passages in another order, again and again."""
    np.save(folder / "passages.npy", passages())
    command = [sys.executable, "-c", BUILD, str(folder / "passages.npy"), str(tables)]
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
        of = np.roll(passages(), number, axis=0)
        assert_exact(opened(of, exact=True)(queries(of), 10), of, queries(of), 10)


@pytest.mark.usefixtures("processes")
def test_two_processes_build_a_table_once(database, tmp_path):
    both = [building(tmp_path, 1) for _ in range(2)]
    assert [process.communicate(timeout=60)[0] for process in both] == ["0\n"] * 2
    assert [process.returncode for process in both] == [0, 0]
    assert len(tables(database)) == 1
    assert_exact(opened(passages(), exact=True)(queries(passages()), 10), passages(), queries(passages()), 10)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"password": "a wrong secret"}, "it refuses the password"),
        ({"user": "nobody_here", "password": "a wrong secret"}, "it refuses the password"),
        ({"database": "nosuch"}, "it has no such database or user"),
        ({"folder": "/nonexistent"}, "nothing answers there"),
        ({"folder": "127.0.0.1&port=1"}, "nothing answers there"),
    ],
    ids=str,
)
def test_a_server_that_cannot_be_used_gets_one_line_without_a_secret(server, monkeypatch, change, expected):
    monkeypatch.setenv("PGVECTOR_URL", address(**{"folder": server, **change}))
    assert_refused(f"index=pgvector: the server of PGVECTOR_URL cannot be used: {expected}")


@pytest.mark.parametrize("wrong", ["postgresql://me:se%zzcret@host/db", "se cret", "mysql://me:secret@host/db"])
def test_an_address_that_is_none_is_not_repeated(monkeypatch, wrong):
    monkeypatch.setenv("PGVECTOR_URL", wrong)
    assert_refused(
        "index=pgvector: PGVECTOR_URL is not an address such as postgresql://user:password@host:5432/database"
    )


def test_a_missing_address_says_where_it_belongs(monkeypatch, tmp_path, server):
    monkeypatch.delenv("PGVECTOR_URL")
    monkeypatch.setenv("RAGSWEEP_PROJECT", str(tmp_path))
    assert_refused(
        "index=pgvector: PGVECTOR_URL is not set; set it in the environment or in the file .env of the project folder, "
        "such as postgresql://user:password@host:5432/database"
    )
    (tmp_path / ".env").write_text(f"PGVECTOR_URL={address(server)}\n")
    PgvectorIndex().check()


def test_rights_that_are_missing_are_found_before_anything_is_written(server, database, monkeypatch):
    run_in(database, "CREATE ROLE reader LOGIN PASSWORD 'of the reader'")
    monkeypatch.setenv("PGVECTOR_URL", address(server, "reader", "of the reader"))
    expected = "the user may not create the schema ragsweep or the extension vector in this database"
    assert_refused(f"index=pgvector: the server of PGVECTOR_URL cannot be used: {expected}")


def test_a_check_leaves_nothing_on_the_server(database):
    PgvectorIndex().check()
    assert run_in(database, "SELECT nspname FROM pg_namespace WHERE nspname = 'ragsweep'") == []
    assert run_in(database, "SELECT extname FROM pg_extension WHERE extname = 'vector'") == []


def test_a_server_that_goes_away_is_told_without_its_address(database):
    search = opened(passages(), exact=True)
    run_in(database, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'ragsweep'")
    with pytest.raises(ConfigError, match=r"^index=pgvector: the server of PGVECTOR_URL cannot be used: it has ended"):
        search(queries(passages()), 10)


def test_no_run_records_the_address(application, dataset, database):
    process = application.run(*dataset, "retriever=dense", "index=pgvector", PGVECTOR_URL=database)
    assert process.returncode == 0, process.stderr
    texts = [
        process.stdout,
        process.stderr,
        *(f.read_text("latin1") for f in application.home.rglob("*") if f.is_file()),
    ]
    assert not [text for text in texts if PASSWORD in text or PASSWORD.replace(" ", "%20") in text]
    assert tables(database)


def assert_refused(expected):
    """The check refuses with this line, and neither it nor its traceback has a secret."""
    with pytest.raises(ConfigError) as refused:
        PgvectorIndex().check()
    assert str(refused.value) == expected
    assert "secret" not in "".join(traceback.format_exception(refused.value)).replace("secret of", "")
