"""A server on loopback that speaks as much of Qdrant's REST API as we use, and hands it to qdrant-client's local mode.

No package has the server itself. What is tested against this one is our client: paths, bodies, keys and errors. It is
not evidence that a real server answers in the same way.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from qdrant_client import QdrantClient, models


class QdrantServer(ThreadingHTTPServer):
    """Collections in memory; `key` is what it wants, and `log` the requests that it got."""

    def __init__(self, key: str = "", status: int = 403) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.key, self.status = key, status
        self.log: list[str] = []
        self.local = QdrantClient(":memory:")
        self.asked: list[Any] = []  # bodies of searches
        self.uploaded: list[bytes] = []
        self.one_at_a_time = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    @property
    def writes(self) -> list[str]:
        return [line for line in self.log if line.startswith(("PUT", "PATCH", "DELETE"))]

    def answer(self, method: str, path: str, body: Any) -> Any:
        name = re.fullmatch(r"/collections(?:/([^/?]+))?(.*)", path)
        collection, rest = name[1], name[2].partition("?")[0]
        if rest == "/snapshots/upload":
            self.uploaded.append(body)
            self.local.create_collection(collection, models.VectorParams(size=26, distance=models.Distance.DOT))
            return True
        if collection is None:
            return json.loads(self.local.get_collections().model_dump_json())
        if rest == "/exists":
            return {"exists": self.local.collection_exists(collection)}
        if not self.local.collection_exists(collection):
            raise KeyError(f"Not found: Collection `{collection}` doesn't exist!")
        if (method, rest) == ("GET", ""):
            return json.loads(self.local.get_collection(collection).model_dump_json())
        assert (method, rest) == ("POST", "/points/query/batch"), (method, path)
        self.asked.append(body)
        requests = models.QueryRequestBatch(**body).searches
        return [json.loads(answer.model_dump_json()) for answer in self.local.query_batch_points(collection, requests)]


class _Handler(BaseHTTPRequestHandler):
    server: QdrantServer
    protocol_version = "HTTP/1.1"

    def _do(self) -> None:
        given = self.headers.get("api-key") or ""
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.log.append(f"{self.command} {self.path}")
        if given != self.server.key:  # a careless server repeats the key
            return self._send(self.server.status, {"status": {"error": f"Invalid API key or JWT: {given}"}})
        is_json = self.headers.get("Content-Type", "").startswith("application/json")
        try:
            with self.server.one_at_a_time:
                result = self.server.answer(self.command, self.path, json.loads(content) if is_json else content)
        except (ValueError, KeyError) as error:
            status = 404 if isinstance(error, KeyError) else 400
            return self._send(status, {"status": {"error": str(error)}})
        return self._send(200, {"result": result, "status": "ok", "time": 0.0})

    do_GET = do_PUT = do_POST = do_PATCH = do_DELETE = _do  # noqa: N815

    def _send(self, status: int, answer: Any) -> None:
        content = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Print nothing."""


@contextmanager
def qdrant_server(key: str = "", status: int = 403) -> Iterator[QdrantServer]:
    """A server that runs in a thread of this process."""
    server = QdrantServer(key, status)
    thread = threading.Thread(target=lambda: server.serve_forever(poll_interval=0.02), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
