"""A search service with FastAPI: it ranks the pages of the small dataset by BM25, or replies as a test says."""

import asyncio
import json
import re
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import small
import uvicorn
from endpoint_server import Reply
from fastapi import FastAPI, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict
from rank_bm25 import BM25Okapi

PAGES = [(name, page, text) for name, pages in small.PAGES.items() for page, text in enumerate(pages) if text]


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


class Wanted(BaseModel):
    """What a client may send, and nothing else."""

    model_config = ConfigDict(extra="forbid")

    query: str
    k: int


@dataclass(frozen=True)
class Asked:
    """A request that came."""

    verb: str
    path: str
    parameters: Mapping[str, str]
    headers: Mapping[str, str]
    body: Any
    at_s: float


def json_of(value: Any, status: int = 200, **headers: str) -> Reply:
    named = {name.replace("_", "-"): header for name, header in headers.items()}
    return Reply(json.dumps(value).encode(), status, named)


class SearchServer:
    """Listens on a free port of this machine, within `with`; with TLS, if it has a certificate.

    Attributes:
        reply: Chooses the reply to a query, by how often it was asked, from 1; None searches.
        asked: The requests that came.
    """

    def __init__(
        self, reply: Callable[[str, int], Reply | None] = lambda query, time: None, certificate: str | None = None
    ) -> None:
        self.replies(reply)
        self._scheme = "https" if certificate else "http"
        config = uvicorn.Config(
            self._app(), port=0, log_level="error", timeout_graceful_shutdown=1, ssl_certfile=certificate
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, daemon=True)

    @property
    def url(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self.port}/search"

    def __enter__(self) -> "SearchServer":
        self._thread.start()
        while not self._server.started:
            time.sleep(0.01)
        self.port = self._server.servers[0].sockets[0].getsockname()[1]
        return self

    def __exit__(self, *error: object) -> None:
        self._server.should_exit = True
        self._thread.join()

    def replies(self, reply: Callable[[str, int], Reply | None]) -> "SearchServer":
        """Reply in this way from now on, as if nothing had been asked before."""
        self.reply, self.asked, self._times = reply, [], Counter()
        return self

    def _app(self) -> FastAPI:
        app, bm25 = FastAPI(), BM25Okapi([words(text) for _, _, text in PAGES])

        @app.middleware("http")
        async def reply_or_search(request: Request, search: Any) -> Response:
            content = await request.body()
            body = json.loads(content) if content else None
            self.asked.append(
                Asked(
                    *(request.method, request.url.path, dict(request.query_params), request.headers),
                    *(body, time.monotonic()),
                )
            )
            query = str({**request.query_params, **(body or {})}.get("query", ""))
            self._times[query] += 1
            reply = self.reply(query, self._times[query])
            if reply is None:
                return await search(request)
            await asyncio.sleep(reply.after_s)
            kind = StreamingResponse(_drip(reply.body)) if reply.dripping else Response(reply.body)
            kind.status_code = reply.status
            kind.headers.update({"Content-Type": "application/json", **(reply.headers or {})})
            return kind

        def results(query: str, k: int) -> dict[str, Any]:
            scores = bm25.get_scores(words(query))
            best = sorted(range(len(PAGES)), key=lambda row: -scores[row])[:k]
            hits = [(*PAGES[row], scores[row]) for row in best if scores[row] > 0]
            return {"results": [dict(zip(("source", "page", "text", "score"), hit, strict=True)) for hit in hits]}

        @app.post("/search")
        def posted(wanted: Wanted) -> dict[str, Any]:
            return results(wanted.query, wanted.k)

        @app.get("/search")
        def got(query: str, k: int) -> dict[str, Any]:
            return results(query, k)

        return app


async def _drip(content: bytes) -> AsyncIterator[bytes]:
    for start in range(len(content)):
        yield content[start : start + 1]
        await asyncio.sleep(0.05)
