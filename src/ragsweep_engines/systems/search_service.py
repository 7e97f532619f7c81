"""Sends queries to a search service over HTTP, and reads what comes back within limits of size and time."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from http.cookiejar import DefaultCookiePolicy
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

from ragsweep.core.errors import RetrieverError
from ragsweep.core.parsing import MB, MalformedError, from_json, unzipped
from ragsweep.core.terminal import one_line, shortened
from ragsweep.models.language.endpoint_access import ABOUT_KEYS, LONGEST_MESSAGE, Access, about_keys, hidden, words_of
from ragsweep_engines.systems.asking import PassingError, passes

if TYPE_CHECKING:
    import requests

LARGEST_RESPONSE_MB = 10  # also of what is unzipped


class _Reply(NamedTuple):
    """What a service has sent; of a body that is too large, a little more than may be."""

    status: int
    headers: Mapping[str, str]
    content: bytes


@dataclass(frozen=True)
class SearchService:
    """A service that answers requests with JSON.

    Attributes:
        verb: GET or POST.
        url: Its address.
        access: The headers of every request, with the keys.
        timeout_s: How long a response may take, in seconds.
        session: Keeps connections open.
    """

    verb: str
    url: str
    access: Access
    timeout_s: float
    session: requests.Session

    def answer(self, parameters: Mapping[str, Any], body: Mapping[str, Any] | None) -> Any:
        """The value of the JSON that a request is answered with, without the keys that a service may repeat.

        Args:
            parameters: Those of the address.
            body: What is sent as JSON; None sends none.

        Raises:
            PassingError: There is no answer; there may be one later.
            RetrieverError: The service refuses, or its answer is too large or is no JSON.
        """
        reply = self._reply(parameters, body)
        if reply.status >= 300:
            raise self._refused(reply)
        text = _unzipped(reply).decode("utf-8-sig", errors="replace")
        try:
            return _without_keys(from_json(text, allow_nan=True), self.access.secrets)
        except MalformedError as error:
            shown = self._shown(text) or "it is empty"
            raise RetrieverError(f"the response cannot be read: {error}: {shown}") from None

    def said(self, answer: object) -> str:
        """The error in an answer of status 200, as GraphQL sends it, after a colon; empty if it has none."""
        error = answer.get("error") or answer.get("errors") if isinstance(answer, dict) else None
        return f": {words_of(error, self.access)}" if error else ""

    def _reply(self, parameters: Mapping[str, Any], body: Mapping[str, Any] | None) -> _Reply:
        """Send a request and read the reply: a service may send it byte by byte, or without end."""
        ends = time.monotonic() + self.timeout_s
        status, content = 0, bytearray()
        try:
            with self.session.request(
                *(self.verb, self.url),
                params=parameters,
                json=body,
                headers=self.access.headers,
                timeout=self.timeout_s,
                allow_redirects=False,  # it would carry the query to a server that the configuration does not name
                stream=True,
            ) as response:
                status = response.status_code
                while chunk := response.raw.read1(MB, decode_content=False):
                    content += chunk
                    if len(content) > LARGEST_RESPONSE_MB * MB:
                        break
                    if time.monotonic() > ends:
                        raise TimeoutError(f"no whole response within {self.timeout_s:g} s (retriever.timeout_s)")
        except TimeoutError:
            raise
        except Exception as error:  # of requests, or of what is below it; its text may have the query in an address
            what = "the response broke off" if status else "cannot be reached"
            if "SSL" in type(error).__name__:
                raise RetrieverError(
                    "does not speak TLS as https:// expects, or its certificate is not trusted (REQUESTS_CA_BUNDLE "
                    "names a file with those that are)"
                ) from None
            if not status and any(type(each).__name__ == "ProtocolError" for each in error.args):  # once connected
                what = "closed the connection without an answer to what retriever.body says (are its names right?)"
            raise PassingError(f"{what} ({type(error).__name__})") from None
        return _Reply(status, response.headers, bytes(content))

    def _refused(self, reply: _Reply) -> RetrieverError:
        """What a status of 300 or above means."""
        status = reply.status
        if status in ABOUT_KEYS:
            return RetrieverError(f"status {status}: {about_keys(status, self.access, 'retriever')}")
        if status < 400:
            return RetrieverError(f"status {status}, a redirect, which is not followed; set retriever.url to its end")
        try:
            text = _unzipped(reply).decode("utf-8-sig", errors="replace")
            shown = words_of(_from_json_or_text(text), self.access)
            said = f": {shown}" if shown else ""
        except RetrieverError:  # too large, and so cut off, maybe within a key
            said = ""
        reason = f"status {status}{said}"
        return PassingError(reason, retry_after_s(reply.headers)) if passes(status) else RetrieverError(reason)

    def _shown(self, text: str) -> str:
        """The first line of what a service says, without the keys that it may repeat."""
        line = next(iter(hidden(text, *self.access.secrets).strip().splitlines()), "")
        return shortened(one_line(line), LONGEST_MESSAGE)


@contextmanager
def connections(number: int) -> Iterator[requests.Session]:
    """Connections that stay open; without cookies, and without the passwords of a file `.netrc`."""
    import requests

    with requests.Session() as session:
        session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=()))
        session.auth = lambda request: request
        session.headers.update({"Accept": "application/json", "Accept-Encoding": "identity"})
        for scheme in ("http://", "https://"):
            session.mount(scheme, requests.adapters.HTTPAdapter(pool_maxsize=2 * number))  # some wait for late answers
        yield session


def _unzipped(reply: _Reply) -> bytes:
    """The content of a reply. Raises `RetrieverError` if it is too large, or packed as nobody has asked for."""
    try:
        return unzipped(reply.content, reply.headers.get("Content-Encoding"), LARGEST_RESPONSE_MB)
    except MalformedError as error:
        raise RetrieverError(f"the response {error}") from None


def _without_keys(value: Any, secrets: tuple[str, ...]) -> Any:
    """A value of JSON whose texts do not have the keys."""
    if isinstance(value, str):
        return hidden(value, *secrets)
    if isinstance(value, list):
        return [_without_keys(each, secrets) for each in value]
    if isinstance(value, dict):
        return {hidden(name, *secrets): _without_keys(each, secrets) for name, each in value.items()}
    return value


def _from_json_or_text(text: str) -> Any:
    try:
        return from_json(text)
    except MalformedError:
        return text


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """The seconds that a server asks to wait: a number or a date to come (RFC 9110, 10.2.3); None if it does not."""
    text = headers.get("retry-after", "")
    try:
        seconds = float(text)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(text).timestamp() - time.time()
        except (ValueError, TypeError, OverflowError):
            return None
    return seconds if isfinite(seconds) and seconds > 0 else None
