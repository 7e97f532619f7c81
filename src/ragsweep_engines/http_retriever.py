"""The retriever that runs already as a search service over HTTP."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.cookiejar import DefaultCookiePolicy
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import jmespath
from jmespath.exceptions import JMESPathError

from ragsweep.core.errors import ConfigError, RetrieverError, first_line
from ragsweep.core.limits import Address, Text
from ragsweep.core.parsing import MB, MalformedError, from_json, unzipped
from ragsweep.core.terminal import some_of
from ragsweep.models.language.endpoint_access import ABOUT_KEYS, Access, KeyedServer, hidden, texts_in, words_of
from ragsweep_engines.asking import PassingError, RunningRetriever, passes
from ragsweep_engines.result_reading import check_path, listing

if TYPE_CHECKING:
    import requests

GROUP = "retriever"
QUERY, NUMBER = "{query}", "{k}"
BODY = {"query": QUERY, "k": NUMBER}
LARGEST_RESPONSE_MB = 10  # also of what is unzipped


@dataclass(frozen=True)
class HttpRetriever(RunningRetriever, KeyedServer):
    """A search service: one request a query, answered with JSON that has a list of results.

    Attributes:
        url: Its address, without user, password and parameters.
        verb: GET sends the fields of `body` as parameters of the address, POST as JSON.
        parameters: Further parameters of the address, such as `api-version`.
        body: The fields of a request. Texts in it, and in `parameters`, may have `{query}` and `{k}` in them; a text
            that is `{k}` becomes the number. Empty, it is `query` and `k`.
        hits: Where the list of results is in an answer, as a JMESPath; None finds it by the documented names.
        api_key_env, headers, headers_env: See `KeyedServer`.
    """

    group: ClassVar[str] = GROUP
    without_effect: ClassVar[tuple[str, ...]] = (*RunningRetriever.without_effect, "api_key_env", "headers_env")

    url: Address
    verb: Literal["GET", "POST"] = "POST"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    body: Mapping[str, Any] = field(default_factory=dict)
    hits: Text | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_path("hits", self.hits)
        if not self.body:  # what is used is what is logged
            object.__setattr__(self, "body", BODY)
        fields = {"parameters": self.parameters, "body": self.body}
        if not any(QUERY in text for text in texts_in(fields)):
            raise ConfigError(f"{GROUP}.body: no text in it has {QUERY}, so that all queries would ask the same")
        self.check_access(self.url, "url", fields)
        for name, value in self._in_address.items():
            if isinstance(value, Mapping):
                raise ConfigError(f"{GROUP}.body: {name} has fields of its own, which no address has; use verb=POST")

    @property
    def _in_address(self) -> Mapping[str, Any]:
        return {**self.parameters, **self.body} if self.verb == "GET" else self.parameters

    @property
    def _name(self) -> str:
        return self.url

    @contextmanager
    def _opened(self) -> Iterator[Callable[[str], Any]]:
        with _connections(self.at_once) as session:
            yield lambda query: self._answer(query, session)

    def _answer(self, query: str, session: requests.Session) -> list[Any]:
        """The list of results in the response to a query, without the keys that a service may repeat."""
        access = self.access
        reply = self._reply(query, session, access)
        if reply.status >= 300:
            raise self._refused(reply, access)
        text = _unzipped(reply).decode("utf-8-sig", errors="replace")
        try:
            answer = _without_keys(from_json(text, allow_nan=True), access)
        except MalformedError as error:
            shown = words_of(text, access) or "it is empty"
            raise RetrieverError(f"the response cannot be read: {error}: {shown}") from None
        message = _error_in(answer, access)
        try:
            results = jmespath.search(self.hits, answer) if self.hits else listing(answer)
        except JMESPathError as error:
            raise RetrieverError(f"{GROUP}.hits: {self.hits!r} fails on the response ({first_line(error)})") from None
        except RetrieverError as error:
            reason = f"the response is an error{message}" if message else f"{error}; {GROUP}.hits=PATH says where it is"
            raise RetrieverError(reason) from None
        if message and not results:
            raise RetrieverError(f"the response is an error{message}")
        if not isinstance(results, list):
            names = some_of(map(str, answer)) if isinstance(answer, dict) else type(answer).__name__
            raise RetrieverError(f"{GROUP}.hits: {self.hits!r} is no list in the response (there is {names})")
        return results

    def _reply(self, query: str, session: requests.Session, access: Access) -> _Reply:
        """Send a request and read the reply, of which a service may send more than there is memory for."""
        status, content = 0, bytearray()
        try:
            with session.request(
                *(self.verb, self.url),
                params={
                    name: _in_url(fill_template(value, query, self.depth)) for name, value in self._in_address.items()
                },
                json=fill_template(self.body, query, self.depth) if self.verb == "POST" else None,
                headers=access.headers,
                timeout=self.timeout_s + 1,  # after that of the query, which is told
                allow_redirects=False,  # it would carry the query to a server that the configuration does not name
                stream=True,
            ) as response:
                status = response.status_code
                while len(content) <= LARGEST_RESPONSE_MB * MB and (
                    chunk := response.raw.read1(MB, decode_content=False)
                ):
                    content += chunk
        except Exception as error:  # of requests, or of what is below it; its text may have the query in an address
            failure = "the response broke off" if status else "cannot be reached"
            if "SSL" in type(error).__name__:
                raise RetrieverError(
                    "does not speak TLS as https:// expects, or its certificate is not trusted (REQUESTS_CA_BUNDLE "
                    "names a file with those that are)"
                ) from None
            raise PassingError(f"{failure} ({type(error).__name__})") from None
        return _Reply(status, response.headers, bytes(content))

    def _refused(self, reply: _Reply, access: Access) -> RetrieverError:
        """The error for a status of 300 or above."""
        status = reply.status
        if status in ABOUT_KEYS:
            return RetrieverError(f"status {status}: {self.about_keys(status, access)}")
        if status < 400:
            return RetrieverError(f"status {status}, a redirect, which is not followed; set {GROUP}.url to its end")
        try:
            text: Any = _unzipped(reply).decode("utf-8-sig", errors="replace")
            with suppress(MalformedError):
                text = from_json(text)
            shown = words_of(text, access)
        except RetrieverError:  # too large, and so cut off, maybe within a key
            shown = ""
        reason = f"status {status}{f': {shown}' if shown else ''}"
        if not passes(status):
            return RetrieverError(reason)
        wait = reply.headers.get("Retry-After", "")  # in seconds; a date is not read
        return PassingError(reason, float(wait) if re.fullmatch(r"\d+(\.\d+)?", wait) else None)


class _Reply(NamedTuple):
    """The response of a service; a body that is too large is cut off just above the limit."""

    status: int
    headers: Mapping[str, str]
    content: bytes


@contextmanager
def _connections(number: int) -> Iterator[requests.Session]:
    """Connections that stay open; without cookies, and without the passwords of a file `.netrc`."""
    import requests

    with requests.Session() as session:
        session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=()))
        session.auth = lambda request: request
        session.headers.update({"Accept": "application/json", "Accept-Encoding": "identity"})
        for scheme in ("http://", "https://"):
            session.mount(scheme, requests.adapters.HTTPAdapter(pool_maxsize=2 * number))  # some wait for late answers
        yield session


def _error_in(answer: object, access: Access) -> str:
    """The error that a response of status 200 has, after a colon; empty if it has none.

    Raises:
        PassingError: A part of an index of OpenSearch did not answer.
    """
    if not isinstance(answer, dict):
        return ""
    shards = answer.get("_shards")
    if answer.get("timed_out") is True or (isinstance(shards, dict) and shards.get("failed")):
        raise PassingError("only a part of the index answered (timed_out, _shards.failed)")
    error = answer.get("error") or answer.get("errors")
    failed = answer.get("success") is False or answer.get("status") == "error"
    return f": {words_of(error or answer, access)}" if error or failed else ""


def _unzipped(reply: _Reply) -> bytes:
    """The content of a reply. Raises `RetrieverError` if it is too large, or packed as nobody has asked for."""
    try:
        return unzipped(reply.content, reply.headers.get("Content-Encoding"), LARGEST_RESPONSE_MB)
    except MalformedError as error:
        raise RetrieverError(f"the response {error}") from None


def _without_keys(value: Any, access: Access) -> Any:
    """A value of JSON whose texts do not have the keys."""
    if isinstance(value, list):
        return [_without_keys(one, access) for one in value]
    if isinstance(value, dict):
        return {hidden(name, *access.secrets): _without_keys(one, access) for name, one in value.items()}
    return hidden(value, *access.secrets) if isinstance(value, str) else value


def fill_template(template: Any, query: str, k: int) -> Any:
    """A template with the query and the number in its texts, each as a value: no query can become a field."""
    if isinstance(template, Mapping):
        return {name: fill_template(value, query, k) for name, value in template.items()}
    if isinstance(template, list | tuple):
        return [fill_template(value, query, k) for value in template]
    if template == NUMBER:
        return k
    if isinstance(template, str):
        return re.sub(r"\{(query|k)\}", lambda match: query if match[1] == "query" else str(k), template)
    return template


def _in_url(value: Any) -> Any:
    """A value as a parameter of an address: a text, or several; None sends none."""
    if isinstance(value, list):
        return [_in_url(one) for one in value]
    return value if value is None or isinstance(value, str) else json.dumps(value)
