"""A judge who answers on a page in the browser, which this process serves to this machine alone.

Every tab shows the same question. An answer names the question that it is for, so that a second click, a tab that was
left behind or the back button never answers another one.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Condition, Thread
from typing import Any

from ragsweep.core.errors import ConfigError
from ragsweep.core.parsing import MalformedError, from_json
from ragsweep.core.terminal import printable
from ragsweep_audit.judging.judges import Answer, answers
from ragsweep_audit.judging.pool import Asked
from ragsweep_audit.judging.shown_text import LONGEST_SHOWN

PAGE = Path(__file__).with_name("judging_page.html")
HOST = "127.0.0.1"
OWN_NAMES = (HOST, "localhost")  # another name in a request is that of a site that was led to this address
LONGEST_ANSWER = 1000  # bytes
LONGEST_WAIT_S = 20.0  # seconds until a page that waits for news is told that there are none
ENDS_WITHIN_S = 0.1
FAREWELL_S = 2.0  # seconds for pages to fetch the decision before this process ends


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 100  # connections that wait; more are refused
    judge: PageJudge

    def handle_error(self, request: object, client_address: object) -> None:
        """A tab that was closed is no error."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        """Send the page, or what it shows as soon as that is another version than the one that the page has."""
        place, _, seen = self._place.partition("?")
        if place == "":
            self._send(200, PAGE.read_bytes(), "text/html; charset=utf-8")
        elif place == "state":
            with self.server.judge.news(seen) as state:
                self._send(200, json.dumps(state).encode(), "application/json")
        else:
            self._send(404)

    def do_POST(self) -> None:
        """Take an answer; 409 if it is for a question that is not asked any more."""
        length = self.headers.get("Content-Length") or ""
        if self._place != "answer" or not length.isdecimal() or int(length) > LONGEST_ANSWER:
            self._send(404)
            return
        try:
            given = from_json(self.rfile.read(int(length)).decode())
        except (MalformedError, UnicodeDecodeError):
            given = None
        self._send(200 if isinstance(given, dict) and self.server.judge.take(given) else 409)

    @property
    def _place(self) -> str:
        """The path below the secret folder; `/` of a request that is not for this page."""
        own = (self.headers.get("Host") or "").partition(":")[0] in OWN_NAMES
        folder = self.server.judge.folder
        return self.path.removeprefix(folder) if own and self.path.startswith(folder) else "/"

    def _send(self, status: int, content: bytes = b"", kind: str = "text/plain") -> None:
        self.send_response(status)
        headers = {"Content-Type": kind, "Content-Length": str(len(content)), "Cache-Control": "no-store"}
        for name, value in {
            **headers,
            "Referrer-Policy": "no-referrer",
            "X-Frame-Options": "DENY",
            "X-Content-Type-Options": "nosniff",
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *arguments: object) -> None:
        """Nothing is logged."""


@dataclass(eq=False)
class PageJudge:
    """Asks on a page, from when it is made.

    Attributes:
        highest: The highest grade.
        port: Where the page is served; 0 takes a free one.
        folder: The path of the page, which nobody can guess: other users of this machine, and pages of other sites,
            cannot answer.
    """

    highest: int
    port: int
    folder: str = field(default_factory=lambda: f"/{secrets.token_urlsafe(16)}/")

    def __post_init__(self) -> None:
        self._changed = Condition()
        self._state: Mapping[str, Any] = {"version": "0", "state": ""}
        self._asked: Asked | None = None  # None while an answer is taken in
        self._given: list[Answer] = []
        self._waiting, self._said_goodbye = 0, False
        try:
            self._server = _Server((HOST, self.port), _Handler)
        except (OSError, OverflowError) as error:
            raise ConfigError(f"--port: {self.port} cannot be used ({error})") from error
        self._server.judge = self
        Thread(target=self._server.serve_forever, args=[ENDS_WITHIN_S], daemon=True).start()

    @property
    def address(self) -> str:
        """Where the page is."""
        return f"http://{HOST}:{self._server.server_address[1]}{self.folder}"

    def answer(self, asked: Asked, state: str) -> Answer:
        """Show a question, and wait for its answer."""
        shown = asked.pair.read().cut(LONGEST_SHOWN)._asdict()
        question = {"number": asked.number, "again": asked.again, "query": printable(asked.pair.query), **shown}
        with self._changed:
            self._show(state=state, question=question)
            self._asked = asked
            self._changed.wait_for(lambda: self._given)
            return self._given.pop()

    def end(self, sentences: Sequence[str]) -> None:
        """Show what is decided on every page that is open, and stop serving."""
        with self._changed:
            self._show(state="", end=sentences)
            self._changed.wait_for(lambda: self._said_goodbye and not self._waiting, FAREWELL_S)
        self._server.shutdown()
        self._server.server_close()

    @contextmanager
    def news(self, seen: str) -> Iterator[Mapping[str, Any]]:
        """What a page shows that has seen this version: the next one, or the same if there is none for a while."""
        with self._changed:
            self._waiting += 1
            self._changed.wait_for(lambda: self._state["version"] != seen, LONGEST_WAIT_S)
            state = self._state
        try:
            yield state
        finally:
            with self._changed:
                self._waiting -= 1
                self._said_goodbye |= "end" in state
                self._changed.notify_all()

    def take(self, given: Mapping[str, Any]) -> bool:
        """Take an answer in; False if it is for another question than the one that is asked, or is none."""
        text, allowed = str(given.get("answer")), answers(self.highest)
        with self._changed:
            asked = self._asked
            if asked is None or (given.get("number"), given.get("again")) != (asked.number, asked.again):
                return False
            if text not in allowed:
                return False
            self._asked = None
            self._given.append(allowed[text])
            self._changed.notify_all()
            return True

    def _show(self, **state: Any) -> None:
        version = str(int(self._state["version"]) + 1)
        self._state = {"version": version, "highest": self.highest, **state}
        self._changed.notify_all()
