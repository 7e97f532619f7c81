"""PostgreSQL with pgvector: tables that somebody else has filled, which are never written, and our own index."""

import json
import random
import subprocess
import sys
import time
import traceback
from collections import Counter
from contextlib import contextmanager
from typing import ClassVar

import numpy as np
import pytest
import strangers
from application import succeeded
from composed_here import composed
from letters import LetterEncoder
from postgres import PASSWORD, address, postgres, run_in
from rankings import are_same

from ragsweep.core.errors import ConfigError, RagsweepError, RetrieverError
from ragsweep.evaluation import judge, ndcg
from ragsweep.retrieval import DenseRetriever, ExactIndex, Search, SentenceTransformerEncoder
from ragsweep.retrieval.indexes.exact import ExactSearch
from ragsweep.testing import RankerContract, SystemContract
from ragsweep_engines.pgvector_index import PgvectorIndex
from ragsweep_engines.postgres_retriever import PostgresRetriever

pytestmark = pytest.mark.extra("pgvector")

LANGCHAIN = {"table": "langchain_pg_embedding", "text": "document", "source": "cmetadata.source"}
LANGCHAIN |= {"page": "cmetadata.page", "first_page": 0}
LLAMA_INDEX = {"table": "Docs.data_Manuals", "id": "node_id"}
COLLECTIONS = [f"00000000-0000-0000-0000-00000000000{number}" for number in (1, 2)]
FIRST, SECOND = ({"collection_id": collection} for collection in COLLECTIONS)
OURS = "FROM pg_stat_activity WHERE application_name = 'ragsweep' AND datname = current_database()"


@pytest.fixture(scope="module")
def server(processes):
    """The folder of the socket of a server."""
    with postgres("shared_buffers=16MB") as folder:
        run_in(address(folder), TABLES)
        fill(address(folder))
        yield folder


@pytest.fixture(autouse=True)
def database(server, monkeypatch):
    monkeypatch.setenv("PGVECTOR_URL", address(server))
    return address(server)


@contextmanager
def created(database, name, definition, rows=()):
    """A table, view or index that is there within `with`, with these rows."""
    run_in(database, f"CREATE {definition}")
    try:
        for row in rows:
            run_in(database, f"INSERT INTO {name} VALUES ({', '.join(['%s'] * len(row))})", [*row])
        yield
    finally:
        run_in(database, f"DROP {definition.split()[0]} {name}")


# Tables as langchain-postgres 0.0.19 and LlamaIndex make them, and a few that nobody would make.
TABLES = """
CREATE EXTENSION vector;
CREATE TABLE langchain_pg_embedding
  (id varchar PRIMARY KEY, collection_id uuid, embedding vector, document varchar, cmetadata jsonb);
CREATE SCHEMA "Docs";
CREATE TABLE "Docs"."data_Manuals"
  (id bigserial PRIMARY KEY, text varchar NOT NULL, metadata_ json, node_id varchar, embedding vector(26),
   text_search_tsv tsvector GENERATED ALWAYS AS (to_tsvector('english', text)) STORED);
CREATE TABLE empty (id int, embedding vector(26));
CREATE TABLE bare (words text, a vector(26), b vector(3), "growth %s" int DEFAULT 7, row int, shown_fields int);
INSERT INTO bare (words) VALUES (NULL), ('iron tablets'), ('iron tablets');
CREATE TABLE written (at text);
CREATE FUNCTION writes() RETURNS text LANGUAGE plpgsql AS
  $$BEGIN INSERT INTO written VALUES ('now'); RETURN 'x'; END$$;
CREATE VIEW writing AS SELECT writes() AS id, embedding FROM langchain_pg_embedding;
"""


def fill(database):
    """Fill the tables of frameworks."""
    of_langchain = "INSERT INTO langchain_pg_embedding VALUES (%s, %s, %s, %s, %s)"
    of_llama = 'INSERT INTO "Docs"."data_Manuals" (node_id, embedding, text, metadata_) VALUES (%s, %s, %s, %s)'
    metadatas, vectors = map(json.dumps, strangers.metadatas()), map(str, strangers.vectors().tolist())
    for name, vector, *described in zip(strangers.ids(), vectors, strangers.texts(), metadatas, strict=True):
        run_in(database, of_langchain, [name, COLLECTIONS[0], vector, *described])
        run_in(database, of_langchain, [f"{name}/other", COLLECTIONS[1], "[1, 2, 3]", *described])
        run_in(database, of_llama, [name, vector, *described])


def made(**settings):
    return PostgresRetriever(**{"encoder": LetterEncoder(), "depth": strangers.DEPTH, **settings})


def answers(**settings):
    return made(**settings).answers(strangers.QUERIES, 100)


class TestPostgres(SystemContract):
    component = PostgresRetriever
    settings: ClassVar = {"encoder": LetterEncoder(), **LANGCHAIN, "filter": FIRST}


class TestPostgresOfBoth(TestPostgres):
    settings: ClassVar = {"encoder": LetterEncoder(), **LLAMA_INDEX, "text": "text", "search": "both"}


def test_the_nearest_rows_come_back_in_their_order_by_the_distance_of_the_index(database):
    for distance in ("cosine", "l2", "ip", None):
        strangers.assert_nearest(answers(**LANGCHAIN, filter=FIRST, distance=distance), distance or "cosine")
    for distance in ("cosine", "l2", "ip"):
        index = f'INDEX made ON "Docs"."data_Manuals" USING hnsw (embedding vector_{distance}_ops)'
        with created(database, '"Docs".made', index):
            of_index = answers(**LLAMA_INDEX)
        assert strangers.named(of_index) == [strangers.nearest(query, distance)[0][:5] for query in strangers.QUERIES]


def test_presets_are_the_tables_of_frameworks(letters, store):
    presets = {
        "langchain_pgvector": [f"+retriever.filter.collection_id={COLLECTIONS[0]}"],
        "llama_index_pgvector": ["retriever.table=Docs.data_Manuals", "retriever.source=metadata_.source"],
    }
    for preset, settings in presets.items():
        node = composed(f"retriever={preset}", "retriever.page=null", *settings).retriever
        given = {name: node[name] for name in node if name not in ("_target_", "encoder", "store")}
        retriever = PostgresRetriever(**given, encoder=letters, store=store)
        [[first, *_], *_] = retriever.answers(strangers.QUERIES, 5).results
        source, _, text = strangers.PASSAGES[strangers.ids().index(first.ids[0])]
        assert (first.source, first.text) == (f"/docs/{source}", text)


def test_full_text_is_that_of_the_server(database):
    select = (
        'SELECT node_id, ts_rank(text_search_tsv, to_tsquery(\'english\', %s)) rank FROM "Docs"."data_Manuals" '
        "WHERE text_search_tsv @@ to_tsquery('english', %s) ORDER BY rank DESC"
    )
    for settings in ({"text": "text"}, {"tsvector": "text_search_tsv"}):
        of_words = answers(**LLAMA_INDEX, **settings, search="text").results
        for query, hits in zip(strangers.QUERIES, of_words, strict=True):
            words = " | ".join(word.strip("?,:").lower() for word in query.split())
            expected = run_in(database, select, [words, words])
            assert {hit.ids[0]: hit.score for hit in hits} == dict(expected)
            assert [hit.score for hit in hits] == [rank for _, rank in expected]
        assert any(of_words)


def test_both_searches_are_fused_and_a_vector_that_has_no_cosine_is_no_result(database):
    def ranking(**settings):
        return strangers.named(answers(**LLAMA_INDEX, text="text", distance="cosine", **settings))

    by_vector, by_words, both = ranking(), ranking(search="text"), ranking(search="both")
    for vector, words, fused in zip(by_vector, by_words, both, strict=True):
        points = Counter()  # of reciprocal ranks, whose constant is 60
        for rank, name in [*enumerate(vector, 1), *enumerate(words, 1)]:
            points[name] += 1 / (60 + rank)
        assert points[fused[0]] == max(points.values())
    assert both not in (by_vector, by_words)
    assert ranking(search="both", candidates=1) != both
    vectors = {text: LetterEncoder().encode([text], "passage")[0] * (text != "0") for text in ("worms", "iron", "0")}
    rows = [(text, text, str(vector.tolist())) for text, vector in vectors.items()]
    with created(database, "zero", "TABLE zero (id text, text text, embedding vector(26))", rows):
        retriever = made(table="zero", text="text", search="both", distance="cosine")
        assert strangers.named(retriever.answers(["worms"], 5)) == [["worms", "iron"]]


def test_a_filter_leaves_other_rows_out_and_a_query_is_no_part_of_a_statement():
    pages = answers(**LANGCHAIN, filter={**FIRST, "cmetadata.page": [0, 1]}).results
    assert {result.page for results in pages for result in results} == {"0", "1"}
    fewer = answers(**LANGCHAIN, filter={**FIRST, "cmetadata.source": "/docs/anaemia.pdf"}).results
    assert {result.source for results in fewer for result in results} == {"/docs/anaemia.pdf"}
    [results] = made(**LLAMA_INDEX, text="text", search="both").answers(["'); DROP TABLE empty; -- %s {x}"], 5).results
    assert len(results) == 5


REFUSED = [  # settings, and what the refusal names
    ({"table": "nothing"}, r"retriever.table: .* has no 'nothing' \(there is 'Docs.data_Manuals', 'bare', "),
    ({**LANGCHAIN, "text": "documnt"}, "retriever.text: no result has 'documnt' .*'cmetadata.page'"),
    ({**LANGCHAIN, "filter": {"lang": "en"}}, "retriever.filter.lang: .* has no column 'lang' .*document"),
    ({**LANGCHAIN, "filter": {"id": "x"}}, "table 'langchain_pg_embedding' with this filter is empty"),
    ({"table": "bare", "search": "text", "text": "word"}, r"has no column 'word' \(there is words, a, b, growth %s, "),
    ({**LANGCHAIN, "search": "text", "language": "klingon"}, "retriever.language: .*'klingon' .*english"),
    ({"table": 'x"; DROP TABLE empty; --'}, "retriever.table"),
]


def test_what_is_not_there_is_said_before_anything_is_asked():
    for settings, message in REFUSED:
        with pytest.raises((ConfigError, RetrieverError), match=rf"\A[^\n]*{message}[^\n]*\Z"):
            made(**settings).check()
    with pytest.raises(ConfigError, match=r"encoder: embeds in 26 dimensions, and table .* with this filter has 3"):
        answers(**LANGCHAIN, filter=SECOND)


def test_nothing_is_written_even_by_what_a_view_calls(database):
    before = run_in(database, "SELECT sum(n_tup_ins + n_tup_upd + n_tup_del) FROM pg_stat_xact_user_tables")
    with pytest.raises(ConfigError, match=r"a view or a function .* writes"):
        made(table="writing").check()
    assert run_in(database, "SELECT count(*) FROM written") == [(0,)]
    assert run_in(database, "SELECT sum(n_tup_ins + n_tup_upd + n_tup_del) FROM pg_stat_xact_user_tables") == before
    run_in(database, "SELECT * FROM writing")  # the user who may write can
    assert run_in(database, "SELECT count(*) > 0 FROM written") == [(True,)]
    run_in(database, "TRUNCATE written")


def test_a_reader_needs_no_other_right_and_a_wrong_password_is_said_without_it(server, database, monkeypatch):
    run_in(database, "CREATE ROLE reader LOGIN PASSWORD 'of the reader'")
    monkeypatch.setenv("PGVECTOR_URL", address(server, "reader", "of the reader"))
    with pytest.raises(ConfigError, match="the user may not read it"):
        made(**LANGCHAIN).check()
    run_in(database, "GRANT SELECT ON langchain_pg_embedding TO reader")
    strangers.assert_nearest(answers(**LANGCHAIN, filter=FIRST), "cosine")
    monkeypatch.setenv("PGVECTOR_URL", address(server, password="a wrong secret"))
    for attempt in (made(**LANGCHAIN).check, lambda: made(**LANGCHAIN, retries=1).answers(["one"], 5)):
        with pytest.raises(RagsweepError, match="PGVECTOR_URL cannot be used: it refuses the password") as refused:
            attempt()
        assert "secret" not in str(refused.value)


def test_a_connection_that_was_ended_is_opened_again_and_none_is_left_open_or_waits_too_long(database):
    retriever = made(**LANGCHAIN, filter=FIRST, recheck=5, at_once=4)
    retriever.check()
    time.sleep(0.2)  # a server takes a moment to see that one was closed
    assert run_in(database, f"SELECT count(*) {OURS}") == [(0,)]
    run_in(database, f"SELECT pg_terminate_backend(pid) {OURS}")
    strangers.assert_nearest(retriever.answers(strangers.QUERIES, 100), "cosine")
    time.sleep(0.2)
    assert run_in(database, f"SELECT count(*) {OURS}") == [(0,)]
    late = pytest.raises(RetrieverError, match=r"no answer after|does not answer in time")
    slow = "VIEW slow AS SELECT id, embedding, pg_sleep(3)::text FROM langchain_pg_embedding"
    with created(database, "slow", slow), late:
        made(table="slow", timeout_s=0.2, retries=0).answers(["one"], 5)


LEADS_TO = [  # an address, variables, and whether they lead to the same rows
    ("postgresql://me:other@host/data", {}, True),
    ("postgresql://me@host/data", {"PGPASSWORD": "secret"}, True),
    ("postgresql://you:secret@host/data", {}, False),
    ("postgresql://me:secret@host/data?options=-csearch_path%3Dother", {}, False),
    ("postgresql://me:secret@host/data?hostaddr=127.0.0.1", {}, False),
    ("postgresql://me:secret@host/data?service=another", {}, False),
    ("postgresql://me:secret@host/data", {"PGOPTIONS": "-csearch_path=other"}, False),
    ("postgresql://me:secret@host/data", {"PGPORT": "5433"}, False),
]


def test_whatever_leads_to_other_rows_is_in_the_fingerprint(monkeypatch):
    monkeypatch.setenv("PGVECTOR_URL", "postgresql://me:secret@host/data")
    fingerprint = made(**LANGCHAIN).fingerprint
    for url, variables, is_same in LEADS_TO:
        with monkeypatch.context() as patch:
            for name, value in {"PGVECTOR_URL": url, **variables}.items():
                patch.setenv(name, value)
            assert (made(**LANGCHAIN).fingerprint == fingerprint) == is_same, (url, variables)


@pytest.fixture
def indexes(server, monkeypatch):
    """The address of a database without anything of ours, which is set in the environment."""
    if not run_in(address(server), "SELECT 1 FROM pg_database WHERE datname = 'indexes'"):
        run_in(address(server), "CREATE DATABASE indexes")
    url = address(server, database="indexes")
    run_in(url, "DROP SCHEMA IF EXISTS ragsweep CASCADE")
    run_in(url, "DROP EXTENSION IF EXISTS vector")
    monkeypatch.setenv("PGVECTOR_URL", url)
    return url


def tables(indexes):
    return [name for (name,) in run_in(indexes, "SELECT tablename FROM pg_tables WHERE schemaname = 'ragsweep'")]


@pytest.mark.usefixtures("indexes")
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
    """The ranking is that of an exact search."""
    embeddings = queries(of) if embeddings is None else embeddings
    assert are_same(opened(of)(embeddings, depth), ExactSearch(of)(embeddings, depth))


@pytest.mark.usefixtures("indexes")
def test_exact_search_ranks_as_an_exact_search_does():
    for of in (passages(), passages(40), passages(1), 1e3 * passages()):
        for depth in (1, 10, 100):
            assert_exact(of, queries(passages(len(of))), depth)
    noise = np.random.default_rng(0).normal(scale=1e-3, size=(40, 8))  # products are told apart within their roundings
    assert_exact(np.full((40, 8), 1e4, np.float32) + noise.astype(np.float32), np.full((1, 8), 1e4, np.float32), 5)


def test_a_table_is_built_once_and_one_that_somebody_has_changed_is_named_and_not_searched(indexes):
    search = opened(passages())
    [table] = tables(indexes)
    before = run_in(indexes, f"SELECT 'ragsweep.{table}'::regclass::oid")
    for of in (passages(), passages(seed=1), passages(40)):  # those of other passages lie beside it
        assert_exact(of)
    assert run_in(indexes, f"SELECT 'ragsweep.{table}'::regclass::oid") == before
    assert len(tables(indexes)) == 3
    run_in(indexes, f"SELECT pg_terminate_backend(pid) {OURS}")
    with pytest.raises(ConfigError, match=r"^index=pgvector: the server of PGVECTOR_URL cannot be used: it has ended"):
        search(queries(passages()), 10)
    for change in ("UPDATE {} SET row = 4000 WHERE row = 899", "DELETE FROM {} WHERE row = 7"):
        opened(passages())
        run_in(indexes, change.format(f"ragsweep.{table}"))
        with pytest.raises(RetrieverError, match=f"somebody has changed the table ragsweep.{table}; drop it"):
            opened(passages())
        run_in(indexes, f"DROP TABLE ragsweep.{table}")


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


@pytest.mark.usefixtures("indexes", "processes")
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
def test_two_processes_build_a_table_once(indexes, tmp_path):
    both = [building(tmp_path, 1) for _ in range(2)]
    assert [process.communicate(timeout=60)[0] for process in both] == ["0\n"] * 2
    assert [process.returncode for process in both] == [0, 0]
    assert len(tables(indexes)) == 1
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


def test_what_cannot_be_used_gets_one_line_that_tells_no_password_and_a_check_leaves_nothing(
    server, indexes, monkeypatch, tmp_path
):
    run_in(indexes, "CREATE ROLE maker LOGIN PASSWORD 'secret of the maker'")
    expected = {
        address(**{"folder": server, **change}): f"the server of PGVECTOR_URL cannot be used: {message}"
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
    (tmp_path / ".env").write_text(f"PGVECTOR_URL={indexes}\n")
    PgvectorIndex().check()
    assert run_in(indexes, "SELECT nspname FROM pg_namespace WHERE nspname = 'ragsweep'") == []
    assert run_in(indexes, "SELECT extname FROM pg_extension WHERE extname = 'vector'") == []


def test_no_run_records_the_address(application, dataset, indexes):
    settings = ["retriever=dense", "index=pgvector", "encoder=wordllama"]
    process = succeeded(application.script_here("run", *application.arguments(*dataset, *settings)))
    files = [file.read_text("latin1") for file in application.home.rglob("*") if file.is_file()]
    texts = [process.stdout, process.stderr, *files]
    assert not [text for text in texts if PASSWORD in text or PASSWORD.replace(" ", "%20") in text]
    assert tables(indexes)


@pytest.mark.usefixtures("indexes")
@pytest.mark.real_data
@pytest.mark.soak  # the embeddings of SciFact take minutes
@pytest.mark.timeout(900)
def test_exact_search_ranks_scifact_as_our_exact_search(scifact, scifact_store):
    search = Search(scifact.texts, tuple(query.text for query in scifact.queries))
    ranking, expected = (
        DenseRetriever(SentenceTransformerEncoder(), scifact_store, index).rank(search, 100)
        for index in (PgvectorIndex(exact=True), ExactIndex())
    )
    assert ranking.passages.tolist() == expected.passages.tolist()
    assert ranking.recall_of_exact.min() == 1
    qrels = scifact.qrels
    judged = judge(scifact.passage_units[ranking.passages], qrels.query, qrels.unit, qrels.grade)
    assert ndcg(judged, 10).mean() == pytest.approx(0.6451, abs=0.0005)
