"""A server of Qdrant: its address and key in the environment, and errors that never repeat the key."""

import importlib.util
import re
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress

import pytest
from letters import LetterEncoder

from ragsweep.core.errors import ConfigError, RetrieverError
from ragsweep.retrieval import Names, Search
from ragsweep_engines.qdrant import QdrantRetriever

with suppress(ImportError):  # where they are not installed, the mark skips the tests
    from qdrant_server import qdrant_server

pytestmark = pytest.mark.extra("qdrant")
KEY = "a-key-that-nobody-may-see"
SEARCH = Search(("iron",), ("zinc",), Names(("q",), ("chunk",), ("1.pdf",), ("1.pdf",)))


def collection(**settings):
    return QdrantRetriever("manuals", LetterEncoder(), **settings)


@pytest.fixture(autouse=True)
def no_server(monkeypatch, tmp_path):
    monkeypatch.delenv("QDRANT_URL", raising=False)
    monkeypatch.delenv("QDRANT_API_KEY", raising=False)
    monkeypatch.setenv("RAGSWEEP_PROJECT", str(tmp_path))


@pytest.fixture
def server(monkeypatch):
    with qdrant_server(KEY) as running:
        monkeypatch.setenv("QDRANT_URL", running.url)
        monkeypatch.setenv("QDRANT_API_KEY", KEY)
        yield running


def test_the_address_may_be_in_the_project_s_env_file(server, monkeypatch, tmp_path):
    monkeypatch.delenv("QDRANT_URL")
    monkeypatch.delenv("QDRANT_API_KEY")
    assert collection().server is False
    (tmp_path / ".env").write_text(f"QDRANT_URL={server.url}\nQDRANT_API_KEY={KEY}\n")
    assert collection().server is True
    with pytest.raises(RetrieverError, match="has no collection 'manuals'"):
        collection().check(SEARCH)


@pytest.mark.parametrize(
    ("url", "key", "said"),
    [
        ("http://127.0.0.1:1", KEY, "http://127.0.0.1:1 cannot be reached"),
        (None, "another-key-nobody-may-see", "refuses the key in QDRANT_API_KEY (403"),
        (None, "", "wants a key; set QDRANT_API_KEY"),
        ("https://127.0.0.1:PORT", KEY, "does not speak TLS"),
    ],
    ids=["nobody there", "wrong key", "no key", "no TLS"],
)
def test_a_server_that_cannot_be_used_is_said_in_one_line_without_the_key(server, monkeypatch, url, key, said):
    monkeypatch.setenv("QDRANT_URL", (url or server.url).replace("PORT", str(server.server_port)))
    monkeypatch.setenv("QDRANT_API_KEY", key)
    with pytest.raises(RetrieverError) as error:
        collection().check(SEARCH)
    assert str(error.value).startswith("QDRANT_URL: ")
    assert said in str(error.value)
    assert "\n" not in str(error.value)
    assert "key-" not in str(error.value)
    assert server.writes == []


@contextmanager
def listening(answers):
    """The port of a server that does something else with whoever connects."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=lambda: answers(server.accept()[0]), daemon=True)
        thread.start()
        yield server.getsockname()[1]


def silent(connection):
    time.sleep(5)
    connection.close()


def hangs_up(connection):
    connection.recv(10_000)
    connection.close()


@pytest.mark.parametrize(
    ("answers", "said"), [(silent, "does not answer within 1 s"), (hangs_up, "hangs up; does it expect https://?")]
)
def test_a_server_that_does_not_answer_is_said(monkeypatch, answers, said):
    monkeypatch.setattr("ragsweep_engines.qdrant.qdrant_access.TIMEOUT_S", 1)
    with listening(answers) as port:
        monkeypatch.setenv("QDRANT_URL", f"http://127.0.0.1:{port}")
        with pytest.raises(RetrieverError, match=f"QDRANT_URL: http://127.0.0.1:{port} {re.escape(said)}"):
            collection().check(SEARCH)


def test_a_key_does_not_follow_a_redirection(server, monkeypatch):
    def elsewhere(connection):
        connection.recv(10_000)
        connection.sendall(
            f"HTTP/1.1 307 x\r\nLocation: {server.url}/collections\r\nContent-Length: 0\r\n\r\n".encode()
        )

    with listening(elsewhere) as port:
        monkeypatch.setenv("QDRANT_URL", f"http://127.0.0.1:{port}")
        with pytest.raises(RetrieverError, match="307"):
            collection().check(SEARCH)
    assert server.log == []


def test_a_key_that_goes_out_without_encryption_is_said(monkeypatch, capsys):
    from ragsweep_engines.qdrant.qdrant_access import connect

    monkeypatch.setenv("QDRANT_URL", "http://qdrant.example.org:6333")
    monkeypatch.setenv("QDRANT_API_KEY", KEY)
    connect()
    assert capsys.readouterr().err.startswith("QDRANT_URL: qdrant.example.org gets the key without encryption")


def test_an_error_of_a_server_is_read_with_limits(monkeypatch):
    from httpx import Headers
    from qdrant_client.http.exceptions import UnexpectedResponse

    from ragsweep_engines.qdrant.qdrant_access import explained

    monkeypatch.setenv("QDRANT_URL", "http://127.0.0.1:1")
    with pytest.raises(RetrieverError, match=r"refuses this \(500: \[\["), explained("this"):
        raise UnexpectedResponse(500, "", b"[" * 100_000, Headers())


def test_an_address_without_a_port_has_that_of_qdrant(monkeypatch):
    from ragsweep_engines.qdrant.qdrant_access import host

    monkeypatch.setenv("QDRANT_URL", "https://xyz.cloud.qdrant.io")
    assert host() == "https://xyz.cloud.qdrant.io:6333"


def test_a_package_that_is_missing_is_named(monkeypatch):
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        "ragsweep_engines.qdrant.qdrant_collection.find_spec",
        lambda name: None if name == "qdrant_edge" else find_spec(name),
    )
    with pytest.raises(ConfigError, match=r"retriever=qdrant: needs qdrant-edge-py, .* 'ragsweep\[qdrant\]'"):
        collection()


def test_nothing_of_qdrant_is_loaded_before_it_is_used():
    code = "import sys, ragsweep.retrieval; assert not [name for name in sys.modules if name.startswith('qdrant_')]"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    "url", [f"https://me:{KEY}@host:6333", f"https://host:6333?api-key={KEY}", f"https://{KEY}.example", "host:6333"]
)
def test_an_address_with_a_key_in_it_is_not_repeated(monkeypatch, url):
    monkeypatch.setenv("QDRANT_URL", url)
    monkeypatch.setenv("QDRANT_API_KEY", KEY)
    with pytest.raises(ConfigError, match="QDRANT_URL: expected an address") as error:
        collection().check(SEARCH)
    assert KEY not in str(error.value)


def test_a_server_that_is_not_set_is_missed(tmp_path):
    with pytest.raises(ConfigError, match="QDRANT_URL: is not set"):
        collection(server=True).check(SEARCH)
