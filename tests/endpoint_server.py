"""A real HTTP server that answers as OpenAI-compatible endpoints do, well or badly, and counts what it is asked."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TOKENS_IN, TOKENS_OUT = 100, 20  # that each completion claims


@dataclass(frozen=True)
class Reply:
    """What the server sends; `after_s` seconds late, and then its body or a header byte by byte."""

    body: bytes
    status: int = 200
    headers: Mapping[str, str] | None = None
    missing_bytes: int = 0  # that Content-Length announces, but that are not sent
    after_s: float = 0
    dripping: bool = False
    dripping_header: bool = False
    hangs_up: bool = False  # without a word


def completion(content: Any, *, usage: Any = None, finish: str = "stop", **message: Any) -> Reply:
    choice = {"index": 0, "message": {"role": "assistant", "content": content, **message}, "finish_reason": finish}
    usage = usage or {"prompt_tokens": TOKENS_IN, "completion_tokens": TOKENS_OUT}
    return Reply(json.dumps({"object": "chat.completion", "choices": [choice], "usage": usage}).encode())


def answer(letter: str = "B", **fields: Any) -> Reply:
    return completion(json.dumps({"answer": letter, "confidence": 0.75, "steps": ["so"], "cited": [1], **fields}))


def problem(status: int, message: str = "", code: str | None = None, **headers: str) -> Reply:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(json.dumps({"error": {"message": message, "code": code}}).encode(), status, named)


class EndpointServer(ThreadingHTTPServer):
    """Listens on a free port of this machine, or on a given one.

    Attributes:
        reply: Chooses the reply to a request: its last message, or its texts, and how often that was asked, from 1.
        requests: The bodies of all requests.
        times: When each came, in seconds.
        asked: How often each last message was asked.
        at_once: The most requests that were open at the same time.
        key: The key of the last request.
        path: Of the last request, with its parameters.
        headers: Of the last request.
    """

    daemon_threads = True

    def __init__(self, reply: Callable[[str, int], Reply] | None = None, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.reply = reply or (lambda prompt, time: answer())
        self.requests: list[dict[str, Any]] = []
        self.times: list[float] = []
        self.asked: Counter[str] = Counter()
        self.at_once = self._open = 0
        self.key = self.path = ""
        self.headers: Mapping[str, str] = {}
        self.lock = threading.Lock()
        self._thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def __enter__(self) -> EndpointServer:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.shutdown()
        self.server_close()

    def opened(self, request: dict[str, Any], key: str) -> Reply:
        prompt = request["messages"][-1]["content"] if "messages" in request else "\n".join(request["input"])
        with self.lock:
            self.requests.append(request)
            self.times.append(time.monotonic())
            self.asked[prompt] += 1
            self.key = key
            self._open += 1
            self.at_once = max(self.at_once, self._open)
            times = self.asked[prompt]
        return self.reply(prompt, times)

    def closed(self) -> None:
        with self.lock:
            self._open -= 1

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is nothing to report."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: EndpointServer

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        try:
            self.server.path, self.server.headers = self.path, self.headers
            reply = self.server.opened(request, (self.headers["Authorization"] or "").removeprefix("Bearer "))
            time.sleep(reply.after_s)
            if self.path.partition("?")[0] != ("/v1/chat/completions" if "messages" in request else "/v1/embeddings"):
                reply = problem(404, f"no {self.path}")
        finally:
            self.server.closed()  # before the reply: after it, the client may send its next request at once
        self.close_connection = reply.hangs_up or reply.missing_bytes > 0
        if reply.hangs_up:
            return
        self.send_response(reply.status)
        for name, value in (reply.headers or {}).items():
            self.send_header(name, value)
        if reply.dripping_header:
            self.flush_headers()
            self.wfile.write(b"X-Slow: ")
            self._drip(b"x" * 400)
            self.wfile.write(b"\r\n")
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(reply.body) + reply.missing_bytes))
        self.end_headers()
        (self._drip if reply.dripping else self.wfile.write)(reply.body)

    def _drip(self, content: bytes) -> None:
        for start in range(len(content)):
            self.wfile.write(content[start : start + 1])
            time.sleep(0.05)

    def log_message(self, *args: object) -> None:
        """Nothing is printed."""


def defaults_of(component: type) -> dict[str, Any]:
    """The settings of a component with their defaults; `MISSING` where there is none."""
    return {
        field.name: field.default if field.default_factory is MISSING else field.default_factory()
        for field in fields(component)
        if field.init
    }
