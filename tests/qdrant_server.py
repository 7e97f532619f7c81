"""A server on loopback that speaks as much of Qdrant's REST API as we use, and hands it to qdrant-client's local mode.

No package has the server itself. What is tested against this one is our client: paths, bodies, keys and errors. It is
not evidence that a real server answers in the same way. In place of BM25 it counts the letters of texts.
"""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from letters import LetterEncoder
from qdrant_client import QdrantClient, models

EMBEDS = "qdrant/bm25"


def sparse(text: str) -> models.SparseVector:
    """A sparse vector in place of that of BM25."""
    counts = Counter(ord(letter) for letter in text.lower() if letter.isalpha())
    return models.SparseVector(indices=[*counts], values=[*map(float, counts.values())])


class QdrantServer(ThreadingHTTPServer):
    """Collections in memory; `key` is what it wants, and `log` the requests that it got."""

    def __init__(self, key: str = "", status: int = 403) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.key, self.status = key, status
        self.log: list[str] = []
        self.local = QdrantClient(":memory:")
        self.asked: list[Any] = []  # bodies of searches
        self.uploaded: list[bytes] = []
        self.indexed: list[Any] = []  # bodies of requests for an index of a field
        self.yellow = 0  # how often a collection is said to be yellow
        self.one_at_a_time = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    @property
    def writes(self) -> list[str]:
        return [line for line in self.log if line.startswith(("PUT", "PATCH", "DELETE"))]

    def fill(self, name: str, payloads: list[dict[str, Any]], texts: list[str], vectors: Any = None) -> None:
        """A collection as somebody else makes it: with a dense vector without a name, and a sparse one, `words`."""
        vectors = LetterEncoder().encode(texts, "passage") if vectors is None else vectors
        dense = models.VectorParams(size=vectors.shape[1], distance=models.Distance.COSINE)
        self.local.create_collection(name, {"": dense}, {"words": models.SparseVectorParams()})
        self.local.upsert(
            name,
            [
                models.PointStruct(id=at, vector={"": vector, "words": sparse(text)}, payload=payload)
                for at, (text, vector, payload) in enumerate(zip(texts, vectors.tolist(), payloads, strict=True), 10)
            ],
        )

    def answer(self, method: str, path: str, body: Any) -> Any:
        name = re.fullmatch(r"/collections(?:/([^/?]+))?(.*)", path)
        collection, rest = name[1], name[2].partition("?")[0]
        if rest == "/snapshots/upload":
            self.uploaded.append(body)
            texts = ["iron tablets", "zinc for a child"]
            self.fill(
                collection, [{"metadata": {"file_path": f"{text}.pdf"}, "content": text} for text in texts], texts
            )
            return True
        if collection is None:
            return json.loads(self.local.get_collections().model_dump_json())
        if rest == "/exists":
            return {"exists": self.local.collection_exists(collection)}
        if not self.local.collection_exists(collection):
            raise KeyError(f"Not found: Collection `{collection}` doesn't exist!")
        if (method, rest) == ("GET", ""):
            self.yellow -= 1
            info = json.loads(self.local.get_collection(collection).model_dump_json())
            return {**info, "status": "yellow" if self.yellow >= 0 else "green"}
        if (method, rest) == ("POST", "/points/scroll"):
            chosen = models.Filter(**body["filter"]) if body.get("filter") else None
            page = {"limit": body["limit"], "offset": body.get("offset"), "with_payload": True}
            points, after = self.local.scroll(collection, chosen, **page)
            return {"points": [json.loads(point.model_dump_json()) for point in points], "next_page_offset": after}
        if (method, rest) == ("PUT", "/index"):
            self.indexed.append(body)
            return {"operation_id": 1, "status": "completed"}
        assert (method, rest) == ("POST", "/points/query"), (method, path)
        self.asked.append(body)
        return json.loads(self.local.query_points(collection, **_as_arguments(body)).model_dump_json())


def _as_arguments(body: Any) -> dict[str, Any]:
    """The arguments of the client, of the body of a request; texts are embedded as a server does."""
    body = json.loads(json.dumps(body), object_hook=lambda one: _embedded(one) if one.get("model") == EMBEDS else one)
    request = models.QueryRequest(**body)
    return {
        "query": request.query.nearest if isinstance(request.query, models.NearestQuery) else request.query,
        "using": request.using,
        "prefetch": request.prefetch,
        "query_filter": request.filter,
        "search_params": request.params,
        "limit": request.limit,
        "with_payload": request.with_payload,
        "score_threshold": request.score_threshold,
    }


def _embedded(document: dict[str, Any]) -> dict[str, Any]:
    return json.loads(sparse(document["text"]).model_dump_json())


class _Handler(BaseHTTPRequestHandler):
    server: QdrantServer
    protocol_version = "HTTP/1.1"

    def _do(self) -> None:
        given = self.headers.get("api-key") or ""
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.headers.get("Transfer-Encoding") == "chunked":
            while size := int(self.rfile.readline(), 16):
                content += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
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
