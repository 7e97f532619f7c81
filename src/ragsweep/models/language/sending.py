"""Sends requests to an OpenAI-compatible endpoint, again if that may help, and reads what comes back."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from email.utils import parsedate_to_datetime
from math import isfinite
from random import SystemRandom
from threading import Event, Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from ragsweep.core.errors import ModelError
from ragsweep.core.parsing import MB, MalformedError, unzipped
from ragsweep.core.terminal import duration, one_line, shortened
from ragsweep.models.language.budget import Bill, Budget
from ragsweep.models.language.endpoint_access import Access, hidden
from ragsweep.models.language.language_model import Stopped
from ragsweep.models.language.refusals import (
    ABOUT_KEYS,
    Refusal,
    about_keys,
    help_of,
    is_filtered,
    is_too_long,
    read_error,
    read_refusal,
)
from ragsweep.models.language.response import Cause

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal

CHARACTERS_PER_TOKEN = 4  # of English text, roughly; other writing has at most one token for each byte
LARGEST_RESPONSE_MB = 1
LONGEST_MESSAGE = 200  # characters of what a server says
FIRST_WAIT_S, LONGEST_WAIT_S = 0.5, 60  # before a request is sent again
LONGEST_RETRY_AFTER_S = 600  # that a server may ask for
AGAIN = (408, 409, 425, 429)  # and 500 or above, other than these
NEVER = (501, 505)
LEAST_PART = 4  # characters of a key that a server may repeat in a message that is not shown then
NO_CREDIT = "insufficient_quota"  # comes with 429, but waiting does not help

_chance = SystemRandom()  # leaves the random numbers of a seeded run alone


class Failure(NamedTuple):
    """Why a request brought no response. It is returned, as an exception would carry the request with its key."""

    reason: str
    may_pass: bool = True
    wait_s: float | None = None
    billed: bool = False  # whether the server may have computed an answer


class Reply(NamedTuple):
    """What a server has sent.

    Attributes:
        status: 0 if it has sent none.
        headers: In lower case.
        body: At most a little more than `LARGEST_RESPONSE_MB`.
        flaw: Why the body is not whole; None if it is.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    flaw: Failure | None


class Kind(NamedTuple):
    """A kind of request.

    Attributes:
        path: Below the address of the endpoint.
        most_tokens: Returns how many tokens a prompt has, roughly, and the most that its response may have.
        read: Returns what counts of the body of a response to a request: a mapping with `tokens_in` and `tokens_out`
            (None if not known). Raises `MalformedError` with what is wrong with the response.
        largest_mb: Of a response.
        filters: Whether a refused prompt is a response.
        again: Whether to send a request again if its response is malformed.
        item: What requests are about, for messages.
    """

    path: str
    most_tokens: Callable[[Mapping[str, Any]], tuple[int, int]]
    read: Callable[[bytes, Mapping[str, Any], tuple[str, ...]], dict[str, Any]]
    largest_mb: int = LARGEST_RESPONSE_MB
    filters: bool = False
    again: bool = False
    item: str = "request"


class Endpoint:
    """Sends requests, also from several threads at once, within `with`. The first one reads the key.

    Only the HTTP client of the package openai is used. The package's own client has no limit on the time of a whole
    response, none on what it reads of an error, and its retries cannot be stopped.

    Attributes:
        stopped: Set it, and no further request starts.
    """

    def __init__(
        self,
        url: str,
        access: Callable[[], Access],
        timeout_s: float,
        retries: int,
        budget: Budget,
        *,
        bill: Bill,
        kind: Kind,
        group: str,
        api_version: str | None = None,
    ) -> None:
        self._url, self._access, self._timeout_s, self._retries = url, access, timeout_s, retries
        self._budget, self._bill = budget, bill
        self._address = f"{url}/{kind.path}{f'?api-version={api_version}' if api_version else ''}"
        self._kind, self._group = kind, group  # group: of the settings, for error messages
        self._portal: BlockingPortal | None = None
        self._opening, self._opened = Lock(), ExitStack()
        self.stopped = Event()

    def __enter__(self) -> Endpoint:
        return self

    def _open(self) -> BlockingPortal:
        with self._opening:
            if self._portal is None:
                import openai
                from anyio.from_thread import start_blocking_portal

                access = self._access()
                self._secrets, self._key_settings = access.secrets, access.settings
                # A redirected request would carry the prompt to a server that the configuration does not name. A
                # compressed response could fill the memory.
                headers = {**access.headers, "Content-Type": "application/json", "Accept-Encoding": "identity"}
                self._http = openai.DefaultAsyncHttpxClient(follow_redirects=False, timeout=None, headers=headers)
                self._portal = self._opened.enter_context(start_blocking_portal())  # a thread with an event loop
                self._opened.callback(self._portal.call, self._http.aclose)
            return self._portal

    def __exit__(self, *error: object) -> None:
        self._opened.close()

    def send(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """The response to a request.

        Returns:
            What the kind reads of it, and `time_ms`; of a chat, `text`, `refused`, `tokens_in` and `tokens_out`.

        Raises:
            ModelError: There is none, also after all retries.
            Spent: The request could exceed the budget.
            Stopped: No further request may start.
        """
        portal, attempt = self._open(), 0
        while isinstance(outcome := self._attempt(request, portal), Failure):
            reason, wait_s = outcome.reason, outcome.wait_s
            if wait_s is None:
                wait_s = min(FIRST_WAIT_S * 2**attempt, LONGEST_WAIT_S)
            too_long = wait_s > LONGEST_RETRY_AFTER_S
            if too_long or not outcome.may_pass or attempt == self._retries:
                reason += f", asks to wait {duration(wait_s)}" * too_long
                tries = f" ({attempt + 1} tries)" * (attempt > 0)
                raise ModelError(f"{self._url}: {reason}{tries}")
            # The jitter keeps threads that failed together from asking together again.
            if self.stopped.wait(wait_s * (1 + _chance.random())):
                raise Stopped
            attempt += 1
        return outcome

    def _attempt(self, request: Mapping[str, Any], portal: BlockingPortal) -> dict[str, Any] | Failure:
        most_in, most_out = self._kind.most_tokens(request)
        most, used = most_in + most_out, 0
        self._budget.take(most)
        started = time.perf_counter()
        try:
            if self.stopped.is_set():
                raise Stopped
            outcome = self._outcome(request, portal)
            tokens_in, tokens_out = most_in, most_out  # where the server does not say
            if isinstance(outcome, Failure):
                if not outcome.billed:
                    return outcome
            else:
                tokens_in = most_in if outcome["tokens_in"] is None else outcome["tokens_in"]
                tokens_out = most_out if outcome["tokens_out"] is None else outcome["tokens_out"]
            used = tokens_in + tokens_out
            self._bill.add(tokens_in, tokens_out)
            if isinstance(outcome, Failure):
                return outcome
            return {**outcome, "time_ms": 1000 * (time.perf_counter() - started)}
        finally:
            self._budget.settle(most, used)

    def _outcome(self, request: Mapping[str, Any], portal: BlockingPortal) -> dict[str, Any] | Failure:
        reply = portal.call(self._reply, json.dumps(request).encode())
        if reply.status >= 300:
            return self._refused(reply, request)
        if reply.flaw:
            return reply.flaw
        try:
            return self._kind.read(reply.body, request, self._secrets)
        except MalformedError as error:
            refusal = read_error(reply.body)
            said = f": {self._shown(refusal)}" if refusal else ""
            return Failure(f"the response {error}{said}", may_pass=self._kind.again, billed=True)

    async def _reply(self, content: bytes) -> Reply:
        """Send a request and read the reply, within the limits of size and time: a server may send it byte by byte."""
        from anyio import fail_after

        status, headers, body, flaw = 0, {}, bytearray(), None
        try:
            with fail_after(self._timeout_s):
                async with self._http.stream("POST", self._address, content=content) as response:
                    status, headers = response.status_code, response.headers
                    async for chunk in response.aiter_raw():
                        body += chunk
                        if len(body) > self._kind.largest_mb * MB:
                            flaw = Failure(
                                f"the response is larger than {self._kind.largest_mb} MB", may_pass=False, billed=True
                            )
                            break
        except TimeoutError:
            flaw = Failure(f"no whole response within {self._timeout_s:g} s ({self._group}.timeout_s)", billed=True)
        except Exception as error:  # of the HTTP library below the client, which versions of the client exchange
            what = "the response broke off" if status else "cannot be reached"
            flaw = Failure(f"{what} ({type(error).__name__})", billed=status > 0)
        try:
            plain = b"" if flaw else unzipped(bytes(body), headers.get("content-encoding"), self._kind.largest_mb)
        except MalformedError as error:
            plain, flaw = b"", Failure(f"the response {error}", may_pass=False, billed=True)
        return Reply(status, headers, plain, flaw)

    def _refused(self, reply: Reply, request: Mapping[str, Any]) -> dict[str, Any] | Failure:
        """What a status of 300 or above means."""
        status = reply.status
        refusal = Refusal("", None, "") if reply.flaw else read_refusal(reply.body)  # a part may end within the key
        if self._kind.filters and is_filtered(refusal, status):
            return {"text": "", "refused": True, "cause": Cause.REFUSED, "tokens_in": 0, "tokens_out": 0}
        what, too_long = self._shown(refusal), False
        if status in ABOUT_KEYS:
            parts = (each[start : start + LEAST_PART] for each in self._secrets for start in range(len(each)))
            shown = what and not any(len(part) == LEAST_PART and part in what for part in parts)
            what = about_keys(status, self._key_settings, self._group) + f": {what}" * bool(shown)
        elif status < 400:
            what = f"a redirect, which is not followed; set {self._group}.base_url to where it leads"
        elif status not in AGAIN:
            too_long = is_too_long(refusal, status)
            what += help_of(refusal, status, request, self._group)
        may_pass = (
            (status in AGAIN or (status >= 500 and status not in NEVER)) and refusal.code != NO_CREDIT and not too_long
        )
        return Failure(f"{status} {what}".strip(), may_pass, retry_after_s(reply.headers))

    def _shown(self, refusal: Refusal) -> str:
        """The words of a server, without the keys that it may repeat."""
        return shortened(one_line(hidden(refusal.message, *self._secrets)), LONGEST_MESSAGE)


def tokens_of(text: str) -> int:
    """Tokens of a text, roughly; for writing other than ASCII, the most that they may be."""
    ascii_characters = len(text.encode("ascii", errors="ignore"))
    return ascii_characters // CHARACTERS_PER_TOKEN + len(text.encode(errors="replace")) - ascii_characters


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
