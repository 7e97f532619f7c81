"""retriever=http asks a real service on loopback, which searches, or replies as badly as services do."""

import gzip
import sqlite3
import tracemalloc
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
from application import succeeded
from composed_here import composed
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from endpoint_server import Reply
from hydra.utils import instantiate
from search_server import PAGES, SearchServer, json_of

from ragsweep.core.errors import ConfigError, UnansweredError
from ragsweep.core.parsing import MB
from ragsweep.models.language.endpoint_access import LONGEST_MESSAGE
from ragsweep.retrieval import ExternalRetriever, Matching
from ragsweep.retrieval.results import Result
from ragsweep_engines import asking
from ragsweep_engines.http_retriever import LARGEST_RESPONSE_MB, HttpRetriever

WORMS, TEA = "What clears worms?", "Why should iron not be taken with tea?"
KEY = "sk-nobody-may-ever-see-this-" + "0123456789"  # a run records the changes of a clone, which may have this line
ONE = {"results": [{"id": "a", "text": "A text.", "score": 1.5}]}


@pytest.fixture(scope="module")
def started():
    """A server for all tests: to start and stop one takes longer than most of them."""
    with SearchServer() as server:
        yield server


@pytest.fixture
def server(started, monkeypatch):
    """A service that searches, until it is told what to reply."""
    monkeypatch.setattr(asking, "FIRST_WAIT_S", 0.02)
    monkeypatch.setenv("SERVICE_KEY", KEY)
    return started.replies(lambda query, time: None)


def reply_with(server, *replies):
    """Reply so in turn, and then with the last one for ever."""
    return server.replies(lambda query, time: replies[min(time, len(replies)) - 1])


def ask(server, *queries, **settings):
    return HttpRetriever(**{"url": server.url, **settings}).answers(queries or [WORMS], 20)


def failure_of(server, *replies, **settings):
    """The only line of the error of one query."""
    with pytest.raises(UnansweredError, match=r"\A[^\n]+\Z") as raised:
        ask(reply_with(server, *replies) if replies else server, **settings)
    head, _, failure = str(raised.value).partition(f'"{WORMS}": ')
    assert head == f"{server.url}: query "
    return failure


def test_a_service_is_asked_for_depth_results_in_its_order(server):
    for verb, depth in (("POST", 2), ("GET", "2")):
        retriever = HttpRetriever(url=server.url, verb=verb, depth=2, first_page=0)
        assert isinstance(retriever, ExternalRetriever)
        assert retriever.matching == Matching(0, 0.9)
        answers = retriever.answers([TEA, WORMS], 20)
        tea, [worms] = answers.results
        assert [hit.source for hit in tea] == ["anaemia.pdf"] * 2
        assert (worms.source, worms.page, worms.text) == ("anaemia.pdf", "2", PAGES[5][2])
        assert tea[0].score >= tea[1].score
        assert (answers.latency_ms > 0).all()
        request = next(request for request in server.asked if (request.verb, TEA in str(request)) == (verb, True))
        assert (request.body if verb == "POST" else request.parameters) == {"query": TEA, "k": depth}


def test_a_query_is_data_whatever_is_in_it(server):
    reply_with(server, json_of(ONE))
    query = '{k}" , "k": 1} {query} \\ ☃ &k=9'
    body = {"query": "{query}", "text": "for {query}, {k} of them", "k": "{k}", "more": [{"deep": "{query}"}, 5, None]}
    ask(server, query, body=body, depth=7, parameters={"v": "1"})
    ask(server, query, verb="GET", body={"query": "{query}", "tags": ["a", "{k}"], "on": True})
    posted, got = server.asked
    more = [{"deep": query}, 5, None]
    assert posted.body == {"query": query, "text": f"for {query}, 7 of them", "k": 7, "more": more}
    assert posted.parameters == {"v": "1"}
    assert got.parameters == {"query": query, "tags": "20", "on": "true"}  # the last of the tags


PASSING = [json_of({"detail": "busy"}, status) for status in (408, 425, 429, 500, 503)]
PARTS = [{"timed_out": True}, {"_shards": {"total": 5, "successful": 3, "failed": 2}}]
CAUSE = {"type": "index_not_found_exception", "reason": "no such index [manual]"}
REFUSALS = [
    (json_of({"error": {"root_cause": [CAUSE], **CAUSE}, "status": 404}, 404), "no such index [manual]"),
    (json_of({"message": "Could not find a field named `txt`."}, 404), "named `txt`"),
    (json_of({"root": {"errors": [{"message": "no schema"}]}}, 400), "no schema"),
    (Reply(b"<html>\n<b>not here</b></html>", 410), "<html>"),
    (Reply(b"", 422), "status 422"),
    (Reply(b"", 307, {"Location": "/search"}), "a redirect, which is not followed"),
    (Reply(b'{"results": ['), "not JSON"),
    (Reply(b""), "it is empty"),
    (Reply(b"[" * 100 + b"]" * 100), "deep"),
    (Reply(b"null"), "returned None"),
    (Reply(b'{"took": "5 ms"}'), "'took'"),
    (Reply(b'{"results": [5, null]}'), "NoneType"),
]


def test_a_failure_that_may_pass_and_a_part_of_the_index_are_asked_for_again(server):
    whole = json_of({**ONE, "timed_out": False, "_shards": {"failed": 0}})
    for reply in [*PASSING, *(json_of({**ONE, **part}) for part in PARTS)]:
        assert ask(reply_with(server, reply, whole)).results[0][0].ids == ("a",)
        assert len(server.asked) == 2
    assert "only a part of the index answered" in failure_of(server, reply, retries=0)


def test_a_refusal_and_an_answer_without_results_are_final_and_say_why_in_one_line(server):
    for reply, message in REFUSALS:
        failure = failure_of(server, reply)
        assert message in failure
        assert failure.startswith(f"status {reply.status}") == (reply.status != 200)
        assert len(failure) < LONGEST_MESSAGE + 100
        assert len(server.asked) == 1


def test_a_service_says_how_long_to_wait_and_is_not_waited_for_hours(server):
    ask(reply_with(server, json_of({}, 429, Retry_After="0.3"), json_of(ONE)))
    first, second = server.asked
    assert 0.3 <= second.at_s - first.at_s < 5
    long = json_of({"detail": "quota"}, 429, Retry_After="7200")
    assert failure_of(server, long) == "status 429: quota, and asks to wait 2 h 0 min"
    assert len(server.asked) == 1
    endless = Reply(b"", 503, {"Retry-After": "9" * 25})
    assert failure_of(server, endless) == "status 503, and asks to wait more than 1,000 h"


@pytest.mark.usefixtures("long_work")
def test_a_slow_answer_ends_at_its_time_limit_and_is_asked_again(server):
    for reply in (Reply(b"{}", after_s=1), Reply(b"[" + b" " * 40 + b"]", dripping=True)):
        answers = ask(reply_with(server, reply, json_of(ONE)), timeout_s=0.5)
        assert answers.results[0][0].ids == ("a",)
        assert answers.latency_ms[0] < 500
        with pytest.raises(UnansweredError, match=r"no .*within|no answer after 0\.5 s"):
            ask(server, WORMS + "!", timeout_s=0.5, retries=0)


@pytest.mark.usefixtures("long_work")
def test_a_large_answer_and_one_that_unpacks_to_a_large_one_are_refused_and_never_held(server):
    packed, bomb = {"Content-Encoding": "gzip"}, gzip.compress(b"[" + b" " * (200 * MB) + b"]")
    assert len(bomb) < MB
    too_large = f"the response is larger than {LARGEST_RESPONSE_MB} MB"
    for reply, failure in [
        (Reply(b"[" + b" " * (LARGEST_RESPONSE_MB * MB) + b"]"), too_large),
        (Reply(bomb, headers=packed), too_large),
        (Reply(bomb, 500, packed), "status 500"),
    ]:
        tracemalloc.start()
        try:
            assert failure_of(server, reply, retries=0) == failure
            assert tracemalloc.get_traced_memory()[1] < 5 * LARGEST_RESPONSE_MB * MB
        finally:
            tracemalloc.stop()


def test_hits_say_where_the_results_are(server):
    reply_with(server, json_of({"data": {"found": ONE["results"]}, "results": []}))
    assert [len(ask(server, **settings).results[0]) for settings in ({"hits": "data.found"}, {})] == [1, 0]
    for hits in ("data.list", "length(data.found[0])"):
        with pytest.raises(UnansweredError, match=r"retriever\.hits: .*data"):
            ask(server, hits=hits)


def test_a_key_is_sent_and_is_nowhere_else(server, secret_key, store, caplog):
    echo = [{"id": "a", "text": f"You sent {KEY}", f"x{KEY}": f"{KEY}"}]
    settings = {"api_key_env": "OPENAI_API_KEY", "headers_env": {"X-Key": "SERVICE_KEY"}, "headers": {"X-A": "b"}}
    retriever, printed = HttpRetriever(url=server.url, store=store, **settings), ""
    for reply in (json_of(echo), json_of({"detail": f"not {KEY}"}, 400), json_of([{f"x{KEY}": [KEY]}])):
        reply_with(server, reply)
        try:
            printed += f"{retriever}{retriever.answers([str(reply.body)[:30]], 20).results}"
        except UnansweredError as error:
            printed += str(error)
        headers = server.asked[0].headers
        assert (headers["authorization"], headers["x-key"], headers["x-a"]) == (f"Bearer {secret_key}", KEY, "b")
    kept = store_file(store).read_text("latin1")
    assert "You sent ***" in kept
    assert KEY not in kept + printed + caplog.text
    for status in (401, 403):  # a wrong key is said by its variable
        failure = failure_of(server, json_of({"detail": KEY[:12]}, status), api_key_env="SERVICE_KEY")
        assert "retriever.api_key_env" in failure
        assert KEY[:12] not in failure
        assert "no key was sent" in failure_of(server)


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
    with SearchServer(lambda query, time: json_of(ONE), certificate=str(tmp_path / "both.pem")) as server:
        assert "certificate is not trusted" in failure_of(server)
        assert server.asked == []
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(tmp_path / "trusted.pem"))
        assert len(ask(server).results[0]) == 1


def test_no_password_of_a_netrc_and_no_cookie_is_sent(server, tmp_path, monkeypatch):
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login me password topsecret\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    ask(reply_with(server, json_of(ONE, Set_Cookie="user=1")), TEA, WORMS)
    assert [{"authorization", "cookie"} & {*request.headers} for request in server.asked] == [set(), set()]


OWN = {"X-A": "my own key 1"}
REFUSED = [  # the setting, and what is given
    *(
        ("url", {"url": f"{url}"})
        for url in (f"http://me:{KEY}@host/s", f"http://host/s?key={KEY}", "ftp://host", "host")
    ),
    ("api_key_env", {"api_key_env": KEY}),
    ("headers", {"headers": {"Authorization": f"Bearer {KEY}"}}),
    ("headers", {"headers": {"X-A": KEY}}),
    ("headers", {"headers": OWN, "api_key_env": "OWN_KEY"}),
    ("headers_env.X-A", {"headers_env": {"X-A": KEY}}),
    ("parameters", {"parameters": {"api_key": "a"}}),
    ("parameters", {"parameters": {"a": f"Bearer {KEY}"}}),
    ("body", {"body": {"q": "all"}}),
    ("body", {"body": {"q": "{query}", "token": "a"}}),
    ("hits", {"hits": "a["}),
    ("text", {"text": "a["}),
]


def test_a_setting_that_cannot_be_or_would_record_a_key_is_refused(monkeypatch):
    monkeypatch.setenv("OWN_KEY", OWN["X-A"])
    for setting, given in REFUSED:
        with pytest.raises(ConfigError) as raised:
            HttpRetriever(**{"url": "http://127.0.0.1:9/search", **given})
        assert str(raised.value).startswith(f"retriever.{setting}"), given
        assert KEY not in str(raised.value)
    body = {"q": {"text": "{query}"}}  # a field with fields of its own is no parameter
    HttpRetriever(url="http://127.0.0.1:9/search", body=body)
    with pytest.raises(ConfigError, match=r"verb=POST"):
        HttpRetriever(url="http://127.0.0.1:9/search", body=body, verb="GET")


def store_file(store):
    return Path(store.path) / asking.FILE


def test_answers_are_kept_for_what_decides_them(server, store):
    first = ask(reply_with(server, json_of(ONE)), TEA, WORMS, store=store)
    same = ask(server, WORMS, TEA, store=store, api_key_env="NOT_SET", retries=0, timeout_s=5, at_once=2)
    assert same.results == first.results[::-1]
    assert len(server.asked) == 2
    deciding = {"depth": 5, "verb": "GET", "body": {"q": "{query}"}, "parameters": {"a": "b"}, "headers": {"A": "b"}}
    deciding |= {"hits": "results", "version": "2", "id": "id"}
    for number, (setting, value) in enumerate(deciding.items(), start=3):
        ask(server, store=store, **{setting: value})
        assert len(server.asked) == number, setting
    with closing(sqlite3.connect(store_file(store))) as kept:
        assert kept.execute("SELECT count(*) FROM responses").fetchone() == (len(server.asked),)


def test_a_run_measures_a_service_and_a_second_one_asks_nothing(application, dataset, server):
    choice = ["retriever=http", f"retriever.url={server.url}", "retriever.verb=GET", *dataset, "k=5"]
    choice += ["retriever.api_key_env=SERVICE_KEY"]
    for first_page in (1, 0):
        shown = application.arguments(*choice, f"retriever.first_page={first_page}")
        succeeded(application.script_here("run", *shown))
        assert len(server.asked) == 5
    first, second = application.runs()
    assert first.data.metrics["hit_rate"] < 1
    assert second.data.metrics["hit_rate"] == 1
    assert second.data.params["retriever.url"] == server.url
    files = [path for folder in (application.home, application.cache) for path in folder.rglob("*") if path.is_file()]
    assert [path for path in files if KEY.encode() in path.read_bytes()] == []


SOURCES = [("The records are locked away.", "manual.pdf", 12), ("Only the keeper may see them.", "manual.pdf", 3)]
HITS = [
    {"_index": "manual", "_id": name, "_score": score, "_source": {"text": text, "source": source, "page": page}}
    for name, score, (text, source, page) in zip("ab", (1.5, 0.25), SOURCES, strict=True)
]
SHARDS = {"timed_out": False, "_shards": {"total": 1, "successful": 1, "skipped": 0, "failed": 0}}
ANSWER = {"took": 5, **SHARDS, "hits": {"total": {"value": 2, "relation": "eq"}, "max_score": 1.5, "hits": HITS}}
EMPTY = {"took": 1, "hits": {"total": {"value": 0, "relation": "eq"}, "max_score": None, "hits": []}}


def test_the_preset_of_opensearch_asks_and_reads_as_it_documents(server):
    """The engine does not run here: its documentation says what it is sent and answers."""
    preset = ["retriever=opensearch", "retriever.url=http://127.0.0.1:9", "retriever.depth=7"]
    node = composed(*preset, "retriever.api_key_env=SERVICE_KEY").retriever
    query = 'Who "may" see {it}?'
    reply_with(server, json_of(ANSWER))
    built = instantiate({key: value for key, value in node.items() if key != "store"}, _convert_="all")
    retriever = replace(built, url=server.url.removesuffix("/search") + "/manual/_search")
    assert type(retriever) is HttpRetriever
    [hits] = retriever.answers([query], 20).results
    [request] = server.asked
    body = {"size": 7, "query": {"multi_match": {"query": query}}}
    assert (request.verb, request.path, request.parameters, request.body) == ("POST", "/manual/_search", {}, body)
    assert request.headers["authorization"] == f"Bearer {KEY}"
    for hit, name, score, (text, source, page) in zip(hits, "ab", (1.5, 0.25), SOURCES, strict=True):
        assert name in hit.ids
        assert hit._replace(ids=()) == Result((), source, str(page), text, score)
    reply_with(server, json_of(EMPTY))
    assert retriever.answers([query], 20).results == [()]
