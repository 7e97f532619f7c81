"""retriever=http asks a real service on loopback, which searches, or replies as badly as services do."""

import gzip
import json
import re
import sqlite3
import tracemalloc
from contextlib import ExitStack, closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import numpy as np
import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from endpoint_server import EndpointServer, Reply
from hydra import compose, initialize_config_dir
from search_server import PAGES, SearchServer, json_of

from ragsweep.config.walk import as_recorded
from ragsweep.core.errors import ConfigError, ModelError, RetrieverError, UnansweredError
from ragsweep.core.parsing import MB
from ragsweep.core.project import CONF, portable, register_resolvers
from ragsweep.models.language.endpoint_access import LONGEST_MESSAGE
from ragsweep.replay.trusted_record import trusted
from ragsweep.retrieval import ExternalRetriever, Matching
from ragsweep_engines import asking
from ragsweep_engines.http_retriever import LARGEST_RESPONSE_MB, HttpRetriever

WORMS, TEA, MALARIA = "What clears worms?", "Why should iron not be taken with tea?", "Which test finds malaria?"
KEY = "sk-nobody-may-ever-see-this-0123456789"
ONE = {"results": [{"id": "a", "text": "A text.", "score": 1.5}]}


@pytest.fixture(autouse=True)
def _soon_again(monkeypatch):
    monkeypatch.setattr(asking, "FIRST_WAIT_S", 0.02)


@pytest.fixture(scope="module")
def servers():
    """Three servers: to start and stop one takes longer than most tests."""
    with ExitStack() as started:
        yield [started.enter_context(SearchServer()) for _ in range(3)]


@pytest.fixture
def serve(servers):
    """A service that searches, or replies as it is told."""
    free = iter(servers)
    return lambda reply=lambda query, time: None: next(free).replies(reply)


def always(*replies):
    """The replies in turn, and then the last one for ever."""
    return lambda query, time: replies[min(time, len(replies)) - 1]


def failure_of(server, **settings):
    """The only line of the error of one query."""
    with pytest.raises(UnansweredError) as raised:
        HttpRetriever(url=server.url, **settings).answers([WORMS], 20)
    assert str(raised.value).startswith(f'{server.url}: query "{WORMS}": ')
    assert "\n" not in str(raised.value)
    return str(raised.value).partition(f'"{WORMS}": ')[2]


@pytest.mark.parametrize("of_index", [{"timed_out": True}, {"_shards": {"total": 5, "successful": 3, "failed": 2}}])
def test_results_of_a_part_of_the_index_are_asked_for_again(serve, of_index):
    server = serve(always(json_of({**ONE, **of_index}), json_of({**ONE, "timed_out": False, "_shards": {"failed": 0}})))
    assert len(HttpRetriever(url=server.url).answers([WORMS], 20).results[0]) == 1
    assert len(server.asked) == 2
    server = serve(always(json_of({**ONE, **of_index})))
    assert "only a part of the index answered" in failure_of(server, retries=0)


@pytest.mark.parametrize(
    "of_index",
    [
        {"timed_out": False, "_shards": {"total": 5, "successful": 5, "skipped": 4, "failed": 0}},
        {"results": [{"id": "a", "degraded": True, "timed_out": True}]},  # fields of a document
        {"errors": [], "error": None, "success": True, "status": "ok"},
        {"error": "the reranker failed; results are not reranked"},
    ],
    ids=range(4),
)
def test_results_of_the_whole_index_are_read(serve, of_index):
    server = serve(always(json_of({**ONE, **of_index})))
    assert len(HttpRetriever(url=server.url).answers([WORMS], 20).results[0]) == 1


@pytest.mark.parametrize(
    "fields",
    [
        {"error": "no such index"},
        {"data": None, "errors": [{"message": "no such index"}]},
        {"data": {"Get": {"Manual": [{"id": "a"}]}}, "errors": [{"message": "no such index"}]},  # GraphQL
        {"success": False, "message": "no such index", "results": []},
        {"status": "error", "message": "no such index", "documents": []},
    ],
)
def test_an_error_in_place_of_results_is_shown(serve, fields):
    failed = failure_of(serve(always(json_of(fields))))
    assert failed.startswith("the response is an error: ")
    assert "no such index" in failed


@pytest.mark.parametrize("verb", ["POST", "GET"])
def test_a_service_is_asked_for_depth_results_in_its_order(serve, verb):
    server = serve()
    retriever = HttpRetriever(url=server.url, verb=verb, depth=2, first_page=0)
    assert isinstance(retriever, ExternalRetriever)
    assert retriever.matching == Matching(0, 0.9)
    found = retriever.answers([TEA, WORMS], 20)
    assert [len(each) for each in found.results] == [2, 1]
    assert [each.source for each in found.results[0]].count("anaemia.pdf") == 2
    [worms] = found.results[1]
    assert (worms.source, worms.page, worms.text) == ("anaemia.pdf", "2", PAGES[5][2])
    assert (np.diff([each.score for each in found.results[0]]) <= 0).all()
    assert (found.latency_ms > 0).all()
    expected = {"query": TEA, "k": 2} if verb == "POST" else {"query": TEA, "k": "2"}
    assert (server.asked[0].body if verb == "POST" else server.asked[0].parameters) == expected


def test_several_queries_at_once_bring_the_same(serve):
    url = serve().url
    queries = [text for _, _, text in PAGES]
    one, four = (HttpRetriever(url=url, at_once=number).answers(queries, 20).results for number in (1, 4))
    assert one == four


def test_a_query_is_data_whatever_is_in_it(serve):
    server = serve(always(json_of(ONE)))
    query = '{k}" , "k": 1} {query} \\ ☃ &k=9'
    body = {"query": "{query}", "text": "for {query}, {k} of them", "k": "{k}", "more": [{"deep": "{query}"}, 5, None]}
    HttpRetriever(url=server.url, body=body, depth=7, parameters={"v": "1"}).answers([query], 20)
    HttpRetriever(url=server.url, verb="GET", body={"query": "{query}", "tags": ["a", "{k}"], "on": True}).answers(
        [query], 20
    )
    assert server.asked[0].body == {
        "query": query,
        "text": f"for {query}, 7 of them",
        "k": 7,
        "more": [{"deep": query}, 5, None],
    }
    assert server.asked[0].parameters == {"v": "1"}
    assert server.asked[1].parameters == {"query": query, "tags": "20", "on": "true"}  # the last of the tags


def test_what_a_service_may_leave_out_or_say_twice(serve):
    passage = {"source": "fever.pdf", "text": "Malaria is found with a rapid test"}
    found = [passage, {**passage, "page": 1}, passage, {**passage, "score": float("nan")}, {"id": 10**400}]
    server = serve(always(Reply(json.dumps({"hits": found}).encode())))
    assert b"NaN" in server.reply("", 1).body
    [results] = HttpRetriever(url=server.url).answers([MALARIA], 20).results
    assert [each.page for each in results] == ["", "1", "", "", ""]
    assert [each.score for each in results] == [None] * 5
    assert results[0] == results[2]
    assert results[4].ids == (str(10**400),)


def test_an_empty_answer_and_one_that_is_longer_than_asked_for(serve):
    many = [{"id": str(number)} for number in range(50)]
    server = serve(lambda query, time: json_of({"results": many if query == TEA else []}))
    results = HttpRetriever(url=server.url).answers([TEA, WORMS], 30).results
    assert [len(each) for each in results] == [30, 0]


@pytest.mark.parametrize("status", [408, 425, 429, 500, 503])
def test_a_failure_that_may_pass_is_asked_again(serve, status):
    server = serve(always(json_of({"detail": "busy"}, status), json_of(ONE)))
    assert HttpRetriever(url=server.url).answers([WORMS], 20).results[0][0].ids == ("a",)
    assert len(server.asked) == 2


def test_a_failure_that_lasts_is_one_line_after_all_retries(serve):
    server = serve(always(json_of({"detail": "the index is gone\nTraceback: line 1"}, 500)))
    assert failure_of(server, retries=2) == "status 500: the index is gone Traceback: line 1 (3 tries)"
    assert len(server.asked) == 3
    assert failure_of(server, retries=0) == "status 500: the index is gone Traceback: line 1"


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (json_of({"error": {"type": "parsing_exception", "reason": "unknown query"}}, 400), "unknown query"),
        (json_of({"message": "Could not find a field named `txt`."}, 404), "named `txt`"),
        (json_of({"root": {"errors": [{"message": "no schema"}]}}, 400), "no schema"),
        (Reply(b"<html>\n<b>not here</b></html>", 410), "<html>"),
        (Reply(b"", 422), "status 422"),
    ],
)  # fmt: skip
def test_a_refusal_is_final_and_says_why(serve, reply, expected):
    server = serve(always(reply))
    failed = failure_of(server)
    assert failed.startswith(f"status {reply.status}")
    assert expected in failed
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b'{"a": 1, "a": 2}', "an object has the field 'a' twice: {"),
        (b"9" * 5000, "a number has thousands of digits: 9"),
        (b"<html>", "not JSON ("),
        (b"", "it is empty"),
    ],
)  # fmt: skip
def test_a_response_that_cannot_be_read_says_why(serve, body, expected):
    failed = failure_of(serve(always(Reply(body))))
    assert failed.startswith("the response cannot be read: ")
    assert expected in failed


def test_fields_that_a_service_does_not_know_are_named(serve):
    assert '["body", "q"]' in failure_of(serve(), body={"q": "{query}", "query": "a", "k": 1})


def test_a_service_says_how_long_to_wait(serve):
    server = serve(always(json_of({}, 429, Retry_After="0.3"), json_of(ONE)))
    HttpRetriever(url=server.url).answers([WORMS], 20)
    first, second = (each.at_s for each in server.asked)
    assert 0.3 <= second - first < 5


def test_a_service_that_asks_for_hours_is_not_waited_for(serve):
    server = serve(always(json_of({"detail": "quota"}, 429, Retry_After="7200")))
    assert failure_of(server) == "status 429: quota, and asks to wait 2 h 0 min"
    assert len(server.asked) == 1
    server = serve(always(Reply(b"", 503, {"Retry-After": "9" * 25})))
    assert failure_of(server) == "status 503, and asks to wait more than 1,000 h"


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize("reply", [Reply(b"{}", after_s=2), Reply(b"[" + b" " * 40 + b"]", dripping=True)])
def test_a_slow_answer_ends_at_its_time_limit_and_is_asked_again(serve, reply):
    server = serve(always(reply, json_of(ONE)))
    found = HttpRetriever(url=server.url, timeout_s=0.5).answers([WORMS], 20)
    assert found.results[0][0].ids == ("a",)
    assert found.latency_ms[0] < 500
    with pytest.raises(UnansweredError, match=r"no .*within|no answer after 0\.5 s"):
        HttpRetriever(url=server.url, timeout_s=0.5, retries=0, version="2").answers([WORMS + "!"], 20)


def test_a_service_that_is_not_there_is_one_line():
    with pytest.raises(UnansweredError, match=r'^http://127\.0\.0\.1:9/search: query "a": cannot be reached .*2 tries'):
        HttpRetriever(url="http://127.0.0.1:9/search", retries=1).answers(["a"], 20)


def test_an_answer_that_breaks_off_is_asked_for_again():
    whole = Reply(b'{"results": []}')
    with EndpointServer(always(replace(whole, missing_bytes=5), whole)) as server:
        url, body = f"{server.url}/embeddings", {"input": ["{query}"]}
        assert HttpRetriever(url=url, body=body).answers([WORMS], 20).results == [()]
    assert len(server.requests) == 2


def test_no_redirect_is_followed(serve):
    other = serve()
    server = serve(always(Reply(b"", 307, {"Location": other.url})))
    assert "a redirect, which is not followed" in failure_of(server)
    assert other.asked == []


@pytest.mark.usefixtures("long_work")
def test_a_large_answer_and_one_that_unpacks_to_a_large_one_are_refused(serve):
    large = Reply(b"[" + b" " * (LARGEST_RESPONSE_MB * MB) + b"]")
    bomb = Reply(gzip.compress(b"[" + b" " * (100 * MB) + b"]"), headers={"Content-Encoding": "gzip"})
    assert len(bomb.body) < MB
    for reply in (large, bomb, Reply(bomb.body, 500, bomb.headers)):
        failed = failure_of(serve(always(reply)), retries=0)
        assert failed == (
            "status 500" if reply.status == 500 else f"the response is larger than {LARGEST_RESPONSE_MB} MB"
        )


@pytest.mark.usefixtures("long_work")
def test_what_a_bomb_unpacks_to_is_never_held(serve):
    bomb = gzip.compress(b"[" + b" " * (200 * MB) + b"]")
    server = serve(always(Reply(bomb, headers={"Content-Encoding": "gzip"})))
    tracemalloc.start()
    try:
        failure_of(server)
        assert tracemalloc.get_traced_memory()[1] < 5 * LARGEST_RESPONSE_MB * MB
    finally:
        tracemalloc.stop()


def test_a_packed_answer_is_read_although_none_was_asked_for(serve):
    packed = Reply(gzip.compress(json.dumps(ONE).encode()), headers={"Content-Encoding": "gzip"})
    server = serve(always(packed))
    assert len(HttpRetriever(url=server.url).answers([WORMS], 20).results[0]) == 1
    assert server.asked[0].headers["accept-encoding"] == "identity"
    assert "'br'" in failure_of(serve(always(Reply(b"x", headers={"Content-Encoding": "br"}))))
    assert "unzipped" in failure_of(serve(always(Reply(b"x", headers={"Content-Encoding": "gzip"}))))


def test_an_answer_that_is_packed_in_several_streams_is_not_read_in_part(serve):
    streams = gzip.compress(b'{"results": []}') + gzip.compress(b"{}")
    assert "to its end" in failure_of(serve(always(Reply(streams, headers={"Content-Encoding": "gzip"}))))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b'{"results": [', "not JSON"),
        (b"<!DOCTYPE html>\n<html>Sign in</html>", "<!DOCTYPE html>"),
        (b"", "it is empty"),
        (b"[" * 100 + b"]" * 100, "deep"),
        (b"<" + b"a" * 5000, "..."),
        (b"null", "returned None"),
        (b"7", "int"),
        (b'{"took": "5 ms"}', "'took'"),
        (b'{"results": [5, null]}', "NoneType"),
    ],
)
def test_an_answer_without_results_is_one_line(serve, body, expected):
    server = serve(always(Reply(body)))
    failed = failure_of(server)
    assert expected in failed
    assert len(failed) < LONGEST_MESSAGE + 100
    assert len(server.asked) == 1


def test_hits_say_where_the_results_are(serve):
    url = serve(always(json_of({"data": {"found": ONE["results"]}, "results": []}))).url
    assert len(HttpRetriever(url=url, hits="data.found").answers([WORMS], 20).results[0]) == 1
    assert HttpRetriever(url=url).answers([WORMS], 20).results[0] == ()
    for hits in ("data.list", "length(data.found[0])"):
        with pytest.raises(UnansweredError, match=r"retriever\.hits: .*data"):
            HttpRetriever(url=url, hits=hits).answers([WORMS], 20)


def test_a_key_is_sent_and_is_nowhere_else(serve, secret_key, monkeypatch, store, caplog):
    monkeypatch.setenv("SERVICE_KEY", KEY)
    echo = [{"id": "a", "text": f"You sent {KEY}", f"x{KEY}": f"{KEY}"}]
    for reply in (json_of(echo), json_of({"detail": f"not {KEY}"}, 400), json_of([{f"x{KEY}": [KEY]}])):
        server = serve(always(reply))
        settings = {"api_key_env": "OPENAI_API_KEY", "headers_env": {"X-Key": "SERVICE_KEY"}, "headers": {"X-A": "b"}}
        retriever = HttpRetriever(url=server.url, store=store, **settings)
        try:
            said = str(retriever.answers([WORMS], 20).results)
        except UnansweredError as error:
            said = str(error)
        assert KEY not in said + repr(retriever)
        headers = server.asked[0].headers
        assert (headers["authorization"], headers["x-key"], headers["x-a"]) == (f"Bearer {secret_key}", KEY, "b")
    kept = store_file(store).read_bytes()
    assert b"You sent ***" in kept
    assert KEY.encode() not in kept
    assert KEY not in caplog.text


@pytest.mark.parametrize("status", [401, 403])
def test_a_wrong_key_is_said_by_its_variable(serve, monkeypatch, status):
    monkeypatch.setenv("SERVICE_KEY", KEY)
    server = serve(always(json_of({"detail": KEY[:12]}, status)))
    failed = failure_of(server, api_key_env="SERVICE_KEY")
    assert "retriever.api_key_env" in failed
    assert KEY[:12] not in failed
    assert "no key was sent" in failure_of(server)


def test_a_variable_that_is_not_set_is_named_before_anything_is_sent(serve, monkeypatch):
    monkeypatch.delenv("SERVICE_KEY", raising=False)
    server = serve()
    with pytest.raises(ModelError, match=r"^retriever\.api_key_env: SERVICE_KEY is not set"):
        HttpRetriever(url=server.url, api_key_env="SERVICE_KEY").answers([WORMS], 20)
    assert server.asked == []


def test_a_certificate_is_verified(tmp_path, monkeypatch):
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "ours")])
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), 1, now - timedelta(days=1), now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    secret = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (tmp_path / "both.pem").write_bytes(secret + certificate.public_bytes(pem))
    (tmp_path / "trusted.pem").write_bytes(certificate.public_bytes(pem))
    with SearchServer(always(json_of(ONE)), certificate=str(tmp_path / "both.pem")) as server:
        assert "certificate is not trusted" in failure_of(server)
        assert server.asked == []
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(tmp_path / "trusted.pem"))
        assert len(HttpRetriever(url=server.url).answers([WORMS], 20).results[0]) == 1


def test_no_password_of_a_netrc_and_no_cookie_is_sent(serve, tmp_path, monkeypatch):
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login me password topsecret\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    server = serve(always(json_of(ONE, Set_Cookie="user=1")))
    HttpRetriever(url=server.url).answers([TEA, WORMS], 20)
    assert [{"authorization", "cookie"} & {*each.headers} for each in server.asked] == [set(), set()]


REFUSED = {
    "url": [{"url": url} for url in (f"http://me:{KEY}@host/s", f"http://host/s?key={KEY}", "ftp://host", "host")],
    "api_key_env": [{"api_key_env": KEY}],
    "headers": [{"headers": {"Authorization": f"Bearer {KEY}"}}, {"headers": {"X-A": KEY}},
                {"headers": {"X-A": "my own key 1"}, "api_key_env": "SERVICE_KEY"}],
    "headers_env.X-A": [{"headers_env": {"X-A": KEY}}],
    "parameters": [{"parameters": {"api_key": "a"}}, {"parameters": {"a": f"Bearer {KEY}"}}],
    "body": [{"body": {"q": "all"}}, {"body": {"q": "{query}", "token": "a"}}],
    "hits": [{"hits": "a["}],
    "text": [{"text": "a["}],
}  # fmt: skip


@pytest.mark.parametrize(("setting", "given"), [(name, one) for name, each in REFUSED.items() for one in each])
def test_a_setting_that_cannot_be_or_would_record_a_key_is_refused(monkeypatch, setting, given):
    monkeypatch.setenv("SERVICE_KEY", "my own key 1")
    with pytest.raises(ConfigError) as raised:
        HttpRetriever(**{"url": "http://127.0.0.1:9/search", **given})
    assert str(raised.value).startswith(f"retriever.{setting}")
    assert KEY not in str(raised.value)


def test_a_field_with_fields_of_its_own_is_no_parameter():
    body = {"q": {"text": "{query}"}}
    HttpRetriever(url="http://127.0.0.1:9/search", body=body)
    with pytest.raises(ConfigError, match=r"verb=POST"):
        HttpRetriever(url="http://127.0.0.1:9/search", body=body, verb="GET")


def store_file(store):
    return Path(store.path) / asking.FILE


def test_answers_are_kept_for_what_decides_them(serve, store, monkeypatch):
    monkeypatch.setenv("SERVICE_KEY", KEY)
    server = serve(always(json_of(ONE)))
    first = HttpRetriever(url=server.url, store=store).answers([TEA, WORMS], 20)
    assert len(server.asked) == 2
    same = HttpRetriever(url=server.url, store=store, api_key_env="NOT_SET", retries=0, timeout_s=5, at_once=2)
    assert same.answers([WORMS, TEA], 20).results == first.results[::-1]
    assert len(server.asked) == 2
    others = (
        {"depth": 5},
        {"verb": "GET"},
        {"body": {"q": "{query}"}},
        {"parameters": {"a": "b"}},
        {"headers": {"A": "b"}},
    )
    others += ({"hits": "results"}, {"version": "2"}, {"id": "id"})
    for number, other in enumerate(others, start=3):
        HttpRetriever(url=server.url, store=store, **other).answers([WORMS], 20)
        assert len(server.asked) == number, other
    with closing(sqlite3.connect(store_file(store))) as kept:
        assert kept.execute("SELECT count(*) FROM responses").fetchone() == (len(server.asked),)


def test_what_came_before_a_failure_is_kept(serve, store):
    broken = [WORMS]
    server = serve(lambda query, time: json_of(ONE, 500 if query in broken else 200))
    retriever = HttpRetriever(url=server.url, store=store, retries=0)
    with pytest.raises(UnansweredError, match=f'"{re.escape(WORMS)}": status 500'):
        retriever.answers([TEA, WORMS, MALARIA], 20)
    broken.clear()
    assert len(retriever.answers([TEA, WORMS, MALARIA], 20).results) == 3
    assert [each.body["query"] for each in server.asked].count(TEA) == 1


def test_a_service_that_changed_is_noticed(serve, store):
    server = serve(lambda query, time: json_of({"results": [{"id": f"{query} {time}"}]}))
    HttpRetriever(url=server.url, store=store).answers([TEA, WORMS], 20)
    HttpRetriever(url=server.url, store=store, recheck=0).answers([TEA, WORMS], 20)
    with pytest.raises(RetrieverError, match=r"2 of 2 queries .*retriever\.version"):
        HttpRetriever(url=server.url, store=store, recheck=5).answers([TEA, WORMS], 20)


def test_a_record_names_no_service_and_no_key():
    register_resolvers()
    with initialize_config_dir(str(CONF), version_base="1.3"):
        today = compose("config", ["retriever=http", "retriever.url=http://127.0.0.1:9/s"])
    recorded = portable(as_recorded(today))
    url = {"retriever.url": "http://127.0.0.1:9/s"}
    assert trusted(yaml.safe_dump(recorded), today, url, ()).retriever.api_key_env is None
    with pytest.raises(ConfigError, match=r"^retriever\.url: .*a record names no server"):
        trusted(yaml.safe_dump(recorded), today, {}, ())
    for name in ("OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY"):
        recorded["retriever"]["api_key_env"] = name
        with pytest.raises(ConfigError, match=rf"^retriever\.api_key_env: found '{name}'"):
            trusted(yaml.safe_dump(recorded), today, url, ())


def test_a_run_measures_a_service_and_a_second_one_asks_nothing(application, dataset):
    with SearchServer() as server:
        choice = ["retriever=http", f"retriever.url={server.url}", "retriever.verb=GET", *dataset, "k=5"]
        choice += ["retriever.api_key_env=SERVICE_KEY"]
        shifted = application.run(*choice, SERVICE_KEY=KEY)
        assert shifted.returncode == 0, shifted.stderr
        asked = len(server.asked)
        assert asked == 5
        right = application.run(*choice, "retriever.first_page=0", SERVICE_KEY=KEY)
        assert right.returncode == 0, right.stderr
        assert len(server.asked) == asked
    first, second = application.runs()
    assert first.data.metrics["hit_rate"] < 1
    assert second.data.metrics["hit_rate"] == 1
    assert second.data.params["retriever.url"] == server.url
    files = [path for folder in (application.home, application.cache) for path in folder.rglob("*") if path.is_file()]
    assert [path for path in files if KEY.encode() in path.read_bytes()] == []


def test_a_run_of_a_service_that_always_answers_with_an_empty_list_has_failed(application, dataset):
    with SearchServer(always(json_of({"results": []}))) as server:
        process = application.run("retriever=http", f"retriever.url={server.url}", *dataset)
    assert process.returncode == 1
    assert "URL" in process.stderr
    assert [run.info.status for run in application.runs()] == ["FAILED"]


def test_a_setting_that_only_one_option_of_a_sweep_has_applies_to_that(application):
    given = ("retriever=http,hybrid", "retriever.url=http://127.0.0.1:9/search")
    process = application.run("-m", *given, "+dry_run=true")
    assert process.stdout.startswith("retriever=http: would run\nretriever=hybrid: would run\n"), process.stderr
