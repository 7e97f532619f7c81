"""An OpenAI-compatible endpoint: its settings, the official client that asks it, and the tokens that were paid for."""

from __future__ import annotations

import atexit
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.util import find_spec
from threading import Lock
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from ragsweep.core.errors import ConfigError, ModelError
from ragsweep.core.limits import Address, Between, Header, HostedModel, KeyName
from ragsweep.core.project import sweep_id, variable
from ragsweep.core.terminal import counted, say_once
from ragsweep.models.language.endpoint_access import ABOUT_KEYS, Access, KeyedServer, repeats_part, words_of
from ragsweep.store.stage_store import Store

if TYPE_CHECKING:
    from openai import OpenAI

Response = TypeVar("Response")

OPENAI = "https://api.openai.com/v1"
PLAIN_HEADERS = {"host", "accept", "connection", "content-type", "content-length", "user-agent"}

_spent: defaultdict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)  # by start, model and address
_printed: defaultdict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)  # what of it `say_spent` has printed
_lock = Lock()


@dataclass(frozen=True, kw_only=True)
class Endpoint(KeyedServer):
    """A model behind an OpenAI-compatible endpoint, such as OpenAI's own, vLLM or Ollama.

    The official client sends requests, and sends them again after 408, 409, 429, 500 and above, and broken connections.

    Attributes:
        model: The model's name at the endpoint.
        base_url: Address of the endpoint. None takes that in `OPENAI_BASE_URL`, or else OpenAI's. It must not contain a
            password or key.
        api_key_env, headers, headers_env: See `KeyedServer`.
        query: Parameters of the address, such as `api-version`, which Azure wants.
        extra_body: Further fields of every request, as the server has them.
        max_tokens_total: No further request is sent once this start of the program has paid for so many tokens, of
            prompts and responses, in this process; None sets no limit. Requests on their way may exceed it.
        concurrency: The most requests at a time, in each process.
        timeout_s: The most seconds that a server may be silent.
        retries: How often a request is sent again after a failure that may pass.
    """

    model: HostedModel
    base_url: Address | None = None
    api_key_env: KeyName | None = "OPENAI_API_KEY"
    query: Mapping[str, Header] = field(default_factory=dict)
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    max_tokens_total: Annotated[int, Between(1)] | None = None
    concurrency: Annotated[int, Between(1, 256)] = 8
    timeout_s: Annotated[float, Between(0.1, 3600)] = 60
    retries: Annotated[int, Between(0, 20)] = 6

    def __post_init__(self) -> None:
        if find_spec("openai") is None:
            raise ModelError(f"{self.group}: openai is not installed here; run pip install 'ragsweep[openai]'")
        if self.base_url is None and (address := variable("OPENAI_BASE_URL")):
            object.__setattr__(self, "base_url", address)
            self._check()
            say_once(f"{self.group}.base_url: {address}, from OPENAI_BASE_URL")
        self._check()

    @property
    def without_effect(self) -> tuple[str, ...]:
        """Settings that have no effect on the responses."""
        return ("api_key_env", "headers_env", "max_tokens_total", "concurrency", "timeout_s", "retries")

    @property
    def own_fields(self) -> tuple[str, ...]:
        """The fields of a request that `extra_body` cannot set."""
        return ()

    @property
    def url(self) -> str:
        """The address that requests go to."""
        return (self.base_url or OPENAI).rstrip("/")

    @property
    def asked(self) -> dict[str, Any]:
        """Everything that determines a response besides the fields of the request."""
        return {"url": self.url, "query": dict(self.query), "headers": dict(self.headers)}

    def has_kept(self, store: Store) -> bool:
        """Whether anything that the endpoint returned is kept."""
        raise NotImplementedError

    def check_keys(self, store: Store) -> None:
        """Raise `ModelError` if a key is missing, unless something is kept, which may be all that is needed."""
        try:
            _ = self.access
        except ModelError:
            if not self.has_kept(store):
                raise

    def call(self, send: Callable[[OpenAI], Response], most_tokens: int) -> Response:
        """Send a request, count its tokens, and raise its errors in one line without a key.

        Args:
            send: Sends a request with the client and returns the response, such as
                `lambda client: client.embeddings.create(...)`; None if there is nothing to pay for.
            most_tokens: What it may cost, where the server does not say what it did.

        Raises:
            ModelError: There is no response, or `max_tokens_total` is spent.
        """
        import openai

        if self.max_tokens_total is not None and (spent := spent_tokens()) >= self.max_tokens_total:
            limit = f"{self.group}.max_tokens_total"
            raise ModelError(f"{limit}: {spent:,} of {self.max_tokens_total:,} tokens are spent")
        access = self.access
        headers, query = tuple(access.headers.items()), tuple(self.query.items())
        client = _client(os.getpid(), self.url, headers, query, self.timeout_s)
        try:
            response = send(client.with_options(max_retries=self.retries))
        except openai.APITimeoutError:
            self._count(None, most_tokens)  # the server may have computed a response
            failure = f"no response within {self.timeout_s:g} s ({self.group}.timeout_s)"
        except openai.APIStatusError as error:
            failure = self._refusal(error, access)
        except openai.APIConnectionError as error:
            failure = f"cannot be reached ({type(error.__cause__ or error).__name__})"
        except (openai.OpenAIError, ValueError, RecursionError) as error:  # a body that is no JSON
            failure = f"the response cannot be read ({type(error).__name__})"
        else:
            flaw = response if isinstance(response, str) else getattr(response, "error", None)
            if not flaw:
                if response is not None:
                    self._count(getattr(response, "usage", None), most_tokens)
                return response
            failure = f"the response is an error: {words_of(flaw, access)}"
        raise ModelError(f"{self.url}: {failure}")  # not while handling one that carries the request with its key

    def _refusal(self, error: Any, access: Access) -> str:
        """An error message for a status of 300 or above, with the server's own words."""
        status, message = error.status_code, words_of(error.body, access)
        if status < 400:
            return f"{status} a redirect, which is not followed; set {self.group}.base_url to where it leads"
        if status not in ABOUT_KEYS:
            return f"{status} {message}".strip()
        refused = f"{status} {self.about_keys(status, access)}"
        return refused if not message or repeats_part(message, access) else f"{refused}: {message}"

    def _count(self, usage: Any, most_tokens: int) -> None:
        tokens_in, tokens_out = tokens_of(usage)
        with _lock:
            counts = _spent[sweep_id(), self.model, self.url]
            counts["requests"] += 1
            counts["tokens_in"] += most_tokens if tokens_in is None else tokens_in
            counts["tokens_out"] += tokens_out or 0

    def _check(self) -> None:
        """Refuse settings that hold a key, which every run would record, without repeating them."""
        sent = {"model": {"": self.model}, "query": self.query, "extra_body": self.extra_body}
        self.check_access(self.base_url, "base_url", sent)
        if taken := [name for name in self.extra_body if name in self.own_fields]:
            own = f"{self.group}.{taken[0]}" if hasattr(self, taken[0]) else "this request"
            raise ConfigError(f"{self.group}.extra_body: {taken[0]} belongs to {own}")


def spent_tokens() -> int:
    """The tokens that this start of the program has paid for, in this process."""
    with _lock:
        counts = [counts for (start, *_), counts in _spent.items() if start == sweep_id()]
    return sum(count["tokens_in"] + count["tokens_out"] for count in counts)


def say_spent() -> None:
    """Print a line for each model that was paid for something since this was last called."""
    with _lock:
        for (start, model, url), counts in _spent.items():
            new = counts - _printed[start, model, url]
            _printed[start, model, url] = counts.copy()
            if new["requests"]:
                tokens = f"{new['tokens_in']:,} tokens in and {new['tokens_out']:,} out"
                print(f"{model}: {counted(new['requests'], 'request')} to {url}, {tokens}", file=sys.stderr)


def tokens_of(usage: object) -> list[int | None]:
    """The tokens of the prompt and of the response that a server states; None for what cannot be a number of them."""
    stated = [getattr(usage, name, None) for name in ("prompt_tokens", "completion_tokens")]
    return [value if type(value) is int and 0 <= value <= 10**9 else None for value in stated]


@lru_cache(maxsize=8)
def _client(
    process: int, url: str, headers: tuple[tuple[str, str], ...], query: tuple[tuple[str, str], ...], timeout_s: float
) -> OpenAI:
    """The client of a process. It follows no redirect, which would carry the prompt and the key to another server."""
    import openai

    del process  # a forked process must not share connections

    def set_headers(request: Any) -> None:
        """Leave the headers that the settings name: not those that the client finds in the environment."""
        for name in {*request.headers} - PLAIN_HEADERS:
            del request.headers[name]
        request.headers.update({**dict(headers), "Accept-Encoding": "identity"})

    http_client = openai.DefaultHttpxClient(follow_redirects=False, event_hooks={"request": [set_headers]})
    atexit.register(http_client.close)
    own = {"api_key": "none", "base_url": url, "default_query": dict(query)}  # `headers` has the key
    return openai.OpenAI(**own, timeout=timeout_s, http_client=http_client)
