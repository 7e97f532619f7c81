"""pgvector: the conformance suite on a real PostgreSQL, what its settings do, and errors that repeat no secret."""

import os
import traceback

import numpy as np
import pytest
from postgres import PASSWORD, address, postgres

from ragsweep.core.errors import ConfigError, RetrieverError
from ragsweep.retrieval import DenseRetriever, Search, rank
from ragsweep_engines.pgvector import PgvectorIndex
from ragsweep_engines.testing import EngineContract, corpus, queries

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


class TestPgvector(EngineContract):
    component = PgvectorIndex

    def damage(self, engine, store):
        database = os.environ["PGVECTOR_URL"]
        for table in tables(database):
            run_in(database, f"DELETE FROM ragsweep.{table} WHERE row % 2 = 0")

    def put_foreign(self, engine, store):
        database = os.environ["PGVECTOR_URL"]
        names = ["public.corpus", "ragsweep.notes", "ragsweep.corpus_of_theirs"]
        run_in(database, "CREATE SCHEMA ragsweep")
        for name in names:
            run_in(database, f"CREATE TABLE {name} AS SELECT 'not ours' AS text")
        run_in(database, "COMMENT ON TABLE ragsweep.notes IS 'the notes of somebody else'")
        return lambda: [run_in(database, f"SELECT xmin::text, text FROM {name}") for name in names]


@pytest.mark.parametrize("setting", [{"m": 16}, {"ef_construction": 100}, {"ef_search": 200}], ids=str)
def test_every_setting_of_the_graph_changes_what_is_found(setting):
    of, settings = corpus(), {"m": 2, "ef_construction": 32, "ef_search": 12}
    found = [PgvectorIndex(**each).open_corpus(of)(queries(of), 12) for each in (settings, settings | setting)]
    assert not np.array_equal(found[0].passages, found[1].passages)


COMMENT = "COMMENT ON TABLE {table} IS 'ragsweep corpus"


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM {table} WHERE row = 7",
        "UPDATE {table} SET embedding = '[" + ",".join(["1"] * 32) + "]' WHERE row = 0",
        "DROP INDEX {index}",
        COMMENT + " of the attic'",
    ],
)
def test_a_table_that_is_not_as_it_was_written_is_built_again(database, capsys, damage):
    first = PgvectorIndex().open_corpus(corpus())(queries(corpus()), 10).passages
    [table] = tables(database)
    [index] = run_in(
        database, f"SELECT indexrelid::regclass FROM pg_index WHERE indrelid = 'ragsweep.{table}'::regclass"
    )
    run_in(database, damage.format(table=f"ragsweep.{table}", index=index[0]))
    assert np.array_equal(PgvectorIndex().open_corpus(corpus())(queries(corpus()), 10).passages, first)
    [line] = capsys.readouterr().err.splitlines()
    assert f"ragsweep.{table} is damaged" in line
    PgvectorIndex().open_corpus(corpus())
    assert capsys.readouterr().err == ""


def test_a_table_of_somebody_else_is_refused_and_left_as_it_is(database):
    PgvectorIndex().open_corpus(corpus())
    [table] = tables(database)
    run_in(database, f"COMMENT ON TABLE ragsweep.{table} IS 'of somebody else'")
    run_in(database, f"DELETE FROM ragsweep.{table} WHERE row > 3")
    with pytest.raises(RetrieverError, match=f"ragsweep.{table} was not made by ragsweep"):
        PgvectorIndex().open_corpus(corpus())
    assert run_in(database, f"SELECT count(*) FROM ragsweep.{table}") == [(4,)]


def test_no_more_passages_come_back_than_the_graph_search_holds():
    assert PgvectorIndex(ef_search=3).open_corpus(corpus())(queries(corpus()), 10).passages.shape == (9, 3)


def test_a_setting_of_the_search_builds_no_other_table(database):
    for engine in (PgvectorIndex(ef_search=10), PgvectorIndex(ef_search=20)):
        engine.open_corpus(corpus())
    assert len(tables(database)) == 1
    for engine in (PgvectorIndex(m=4), PgvectorIndex(exact=True)):
        engine.open_corpus(corpus())
    assert len(tables(database)) == 3
    PgvectorIndex().delete(corpus().digest)  # of whatever settings
    assert tables(database) == []


def test_a_ranker_is_told_the_recall_and_the_size_on_the_server(letters, store):
    search = Search(tuple(f"passage {'abcdefgh'[row % 8] * row}" for row in range(60)), ("passage abc", "h"))
    found = rank(DenseRetriever(letters, store, PgvectorIndex()), search, 10)
    assert found.recall_of_exact.shape == (2,)
    assert found.index_bytes > 60 * 4 * 26


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
    search = PgvectorIndex(exact=True).open_corpus(corpus())
    run_in(database, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'ragsweep'")
    with pytest.raises(ConfigError, match=r"^index=pgvector: the server of PGVECTOR_URL cannot be used: it has ended"):
        search(queries(corpus()), 10)


def test_a_run_is_refused_before_it_is_recorded(application, dataset, server):
    wrong = address(server, password="a wrong secret")
    process = application.run(*dataset, "retriever=dense", "index=pgvector", PGVECTOR_URL=wrong)
    assert process.returncode == 2, process.stderr
    assert process.stderr.splitlines()[-1].endswith("it refuses the password")
    assert not (application.home / "artifacts").exists()
    texts = [
        process.stdout,
        process.stderr,
        *(f.read_text("latin1") for f in application.home.rglob("*") if f.is_file()),
    ]
    assert not [text for text in texts if "a wrong secret" in text or "a%20wrong%20secret" in text]


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


def assert_nowhere(secret, application, process):
    """Neither the output of a process nor a file of the application has a secret."""
    files = [file.read_text("latin1") for file in application.home.rglob("*") if file.is_file()]
    for text in (process.stdout, process.stderr, *files):
        assert secret not in text
        assert secret.replace(" ", "%20") not in text


def assert_refused(expected):
    """The check refuses with this line, and neither it nor its traceback has a secret."""
    with pytest.raises(ConfigError) as refused:
        PgvectorIndex().check()
    assert str(refused.value) == expected
    assert "secret" not in "".join(traceback.format_exception(refused.value)).replace("secret of", "")
