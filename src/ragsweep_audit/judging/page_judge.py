"""A judge who answers on a page in the browser, which this process serves to this machine alone.

The page is a plain form. An answer names the question that it is for, so that a second click, an old tab or the back
button never answers another one; whatever was sent, the browser is led to the question that is asked now.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import SimpleQueue
from threading import Condition, Thread
from typing import Any
from urllib.parse import parse_qs

from jinja2 import Environment

from ragsweep.core.errors import ConfigError
from ragsweep.core.terminal import printable
from ragsweep_audit.judging.judges import Answer, Judge, answers
from ragsweep_audit.judging.pool import LONGEST_SHOWN, Asked

PAGE = Path(__file__).with_name("judging_page.html")
HOST = "127.0.0.1"
OWN_NAMES = (HOST, "localhost")  # another name in a request is that of a site that was led to this address
LONGEST_ANSWER = 1000  # bytes
LONGEST_WAIT_S = 20.0  # seconds for an answer to be taken in
ENDS_WITHIN_S = 0.1
FAREWELL_S = 2.0  # seconds for the page to fetch the decision before this process ends
LEAST_MARKED = 4  # letters of a word of the query that is marked in the text


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    judge: PageJudge

    def handle_error(self, request: object, client_address: object) -> None:
        """A tab that was closed is no error."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        """Send the page with the question that is asked."""
        if self._is_own:
            self._send(200, self.server.judge.page())
        else:
            self._send(404)

    def do_POST(self) -> None:
        """Take an answer, unless it is for another question, and lead the browser to the page."""
        length = self.headers.get("Content-Length") or ""
        if not self._is_own or not length.isdecimal() or int(length) > LONGEST_ANSWER:
            self._send(404)
            return
        given = parse_qs(self.rfile.read(int(length)).decode(errors="replace"))
        self.server.judge.take(*(given.get(name, [""])[0] for name in ("asked", "answer")))
        self._send(303)

    @property
    def _is_own(self) -> bool:
        """Whether a request is for the page, by its secret path and by a name of this machine."""
        own = (self.headers.get("Host") or "").partition(":")[0] in OWN_NAMES
        return own and self.path == self.server.judge.path

    def _send(self, status: int, content: str = "") -> None:
        body = content.encode()
        self.send_response(status)
        headers = {"Content-Type": "text/html; charset=utf-8", "Content-Length": str(len(body))}
        headers |= {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY"}
        for name, value in {**headers, **({"Location": self.path} if status == 303 else {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        """Nothing is logged."""


@dataclass(eq=False)
class PageJudge(Judge):
    """Asks on a page, which is served as soon as the judge is made.

    Attributes:
        highest: The highest grade.
        port: Where the page is served; 0 takes a free one.
        path: The path of the page, which nobody can guess: other users of this machine, and pages of other sites,
            cannot answer.
    """

    highest: int
    port: int
    path: str = field(default_factory=lambda: f"/{secrets.token_urlsafe(16)}/")

    def __post_init__(self) -> None:
        self._changed = Condition()
        self._shown: dict[str, Any] | None = None  # what the page shows; None while an answer is taken in
        self._given: SimpleQueue[Answer] = SimpleQueue()
        self._has_sent_decision = False
        self._template = Environment(autoescape=True).from_string(PAGE.read_text(encoding="utf-8"))
        try:
            self._server = _Server((HOST, self.port), _Handler)
        except (OSError, OverflowError) as error:
            raise ConfigError(f"--port: {self.port} cannot be used ({error})") from error
        self._server.judge = self
        Thread(target=self._server.serve_forever, args=[ENDS_WITHIN_S], daemon=True).start()

    @property
    def address(self) -> str:
        """Where the page is."""
        return f"http://{HOST}:{self._server.server_address[1]}{self.path}"

    def answer(self, asked: Asked, state: str) -> Answer:
        """Show a question, and wait for its answer."""
        query, text = printable(asked.pair.query), asked.pair.read().cut(LONGEST_SHOWN)
        where = text.where + " (asked a second time)" * asked.again
        parts = [[*_marked(part, query)] for part in (text.before, text.match, text.after)]
        grades, name = range(self.highest, -1, -1), f"{asked.number}{' again' * asked.again}"
        self._show(state=state, query=query, where=where, parts=parts, asked=name, grades=grades)
        return self._given.get()

    def end(self, sentences: Sequence[str]) -> None:
        """Show what is decided, and stop serving."""
        self._show(sentences=sentences)
        with self._changed:
            self._changed.wait_for(lambda: self._has_sent_decision, FAREWELL_S)
        self._server.shutdown()
        self._server.server_close()

    def page(self) -> str:
        """The page with the question that is asked, once there is one, or with the decision."""
        with self._changed:
            self._changed.wait_for(lambda: self._shown, LONGEST_WAIT_S)
            shown = self._shown or {"sentences": ["The next question is being drawn: load this page again."]}
            self._has_sent_decision |= self._shown is not None and "sentences" in shown
            self._changed.notify_all()
        return self._template.render(nonce=secrets.token_urlsafe(16), **shown)

    def take(self, asked: str, answer: str) -> None:
        """Take an answer in, unless it is for another question than the one that is asked, or is none."""
        with self._changed:
            if self._shown and asked == self._shown.get("asked") and answer in answers(self.highest):
                self._shown = None
                self._given.put(answers(self.highest)[answer])

    def _show(self, **shown: Any) -> None:
        with self._changed:
            self._shown = shown
            self._changed.notify_all()


def _marked(text: str, query: str) -> Iterator[tuple[str, bool]]:
    """The parts of a text, and whether each is a word of the query."""
    words = {word.lower() for word in re.findall(rf"\w{{{LEAST_MARKED},}}", query)}
    for part in re.split(r"(\w+)", text):
        yield part, part.lower() in words
