"""Asks a language model behind an OpenAI-compatible endpoint about many things, and keeps each response."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from ragsweep.config.run_settings import Seed
from ragsweep.core.digest import digest
from ragsweep.core.limits import Between
from ragsweep.core.progress import progress
from ragsweep.core.terminal import counted
from ragsweep.models.language.chat import CHAT, TOKEN_LIMITS, is_response, prompt_tokens
from ragsweep.models.language.cost import Cost, PlannedRequest, sent
from ragsweep.models.language.endpoint_model import Ask, EndpointModel, Response, response_format
from ragsweep.models.language.endpoint_user import EndpointUser, Item, Price, Result
from ragsweep.models.language.kept import KeptResponses
from ragsweep.models.language.language_model import Message
from ragsweep.models.language.response import Cause
from ragsweep.models.language.sending import Endpoint
from ragsweep.models.language.unusable import Unusable
from ragsweep.store.store import NO_STORE, Store

if TYPE_CHECKING:
    from pydantic import BaseModel

NOTHING = {
    "text": "",
    "refused": True,
    "cause": Cause.REFUSED,
    "tokens_in": None,
    "tokens_out": None,
    "time_ms": 0,
}  # stands for a response
Request = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class EndpointClient(EndpointUser):
    """Asks a language model behind an OpenAI-compatible endpoint, such as OpenAI's own, vLLM or Ollama.

    Each response is kept before it is used, under everything that determines it. So neither a second start nor a
    resumed one asks for it again, and a killed one loses no response that has arrived. If a response cannot be kept,
    such as on a full disk, no further request starts.

    Attributes:
        returns: What the returned JSON is called.
        kept_note: How to go on after a failure.
        start_will_do: Whether a text that was cut off can be used.
        structured: Whether the endpoint returns JSON of a given schema. A reasoning method then gets an answer's
            fields instead of a text in which it has to find them.
        temperature: Of sampling; None leaves it to the endpoint.
        seed: Of sampling, where the endpoint has one; None sends none.
        max_tokens: The most tokens of one response.
        max_tokens_as: The parameter that says so. Old servers know only `max_tokens`, and OpenAI's reasoning models
            only the other one.
        price_out: Price of a million tokens of responses, for the estimate.
        store: Its folder keeps the responses.
    """

    returns: ClassVar[str]
    kept_note: ClassVar[str] = "start again to ask for no more than these"
    start_will_do: ClassVar[bool] = False

    structured: bool = True
    temperature: Annotated[float, Between(0, 2)] | None = 0
    seed: Seed | None = 0
    max_tokens: Annotated[int, Between(1, 1_000_000)] = 1024
    max_tokens_as: Literal["max_completion_tokens", "max_tokens"] = "max_completion_tokens"
    price_out: Price | None = None
    store: Store = NO_STORE

    @property
    def without_effect(self) -> tuple[str, ...]:
        """Settings that have no effect on the responses."""
        return (*super().without_effect, "price_out")

    @property
    def own_fields(self) -> tuple[str, ...]:
        """The fields of a request that `extra_body` cannot set. The first of one whole response is read."""
        own = ("model", "messages", *TOKEN_LIMITS, "temperature", "seed", "stream", "n")
        return (*own, "response_format") if self.structured else own

    @classmethod
    def fields(cls) -> type[BaseModel]:
        """The fields of the JSON that the model returns if it is `structured`."""
        raise NotImplementedError

    def ask_each(
        self, items: Sequence[Item], work: Callable[[Item, EndpointModel], Result], *, announce: bool = True
    ) -> list[Result]:
        """What `work` returns for each item, in the same order. What is kept already is not asked for.

        Args:
            items: What the model is asked about.
            work: Asks the model about one item. It runs in several threads, and twice for an item of which something
                is not kept; the first time, what is missing is a refusal.
            announce: Whether to print what will be asked, and what that costs.

        Raises:
            ModelError: The endpoint cannot be used, the limit on tokens is reached, or responses cannot be kept.
        """
        results, left, missing = self._of_kept(items, work)
        if left:
            if announce:
                print(self._cost(missing).line, file=sys.stderr)
            results |= self._ask(left, work)
        return [results[number] for number in range(len(items))]

    def estimate(self, items: Sequence[Item], work: Callable[[Item, EndpointModel], Result]) -> Cost:
        """What `ask_each` will ask and what that costs; nothing is planned if everything is kept."""
        return self._cost(self._of_kept(items, work)[2])

    def _of_kept(
        self, items: Sequence[Item], work: Callable[[Item, EndpointModel], Result]
    ) -> tuple[dict[int, Result], dict[int, Item], list[Request]]:
        """Results for which everything is kept, the other items, and the requests of those that are not kept."""
        kept = self._responses
        missing: list[Request] = []

        def find(messages: Sequence[Message], as_json: bool) -> Response:
            request = self._request(messages, as_json)
            found = kept.find(self._key(request))
            if found is None:
                missing.append(request)
            return NOTHING if found is None else self._read(found)

        results, left = {}, {}
        for number, item in enumerate(items):
            before = len(missing)
            result = work(item, self._model(find))
            if len(missing) == before:
                results[number] = result
            else:
                left[number] = item
        return results, left, missing

    def _ask(self, items: Mapping[int, Item], work: Callable[[Item, EndpointModel], Result]) -> dict[int, Result]:
        """Results of the endpoint."""
        kept, unusable = self._responses, Unusable(self.group, self.max_tokens)
        kept.check()

        def of_item(item: Item, endpoint: Endpoint) -> Result:
            def ask(messages: Sequence[Message], as_json: bool) -> Response:
                request = self._request(messages, as_json)

                def send() -> Response:
                    response = endpoint.send(request)
                    usable = self.start_will_do and response["cause"] is Cause.CUT_OFF and response["text"].strip()
                    unusable.add(None if usable else response["cause"])
                    return response

                return self._read(kept.get(self._key(request), send))

            return work(item, self._model(ask))

        with progress(f"asking {self.model} {counted(len(items), self.noun)}", len(items)):
            results = self._send_each(items, of_item, CHAT)
        if unusable.line:
            warnings.warn(f"{self.group}: {unusable.line}", stacklevel=2)
        return results

    def _read(self, response: Response) -> Response:
        """A response as those who ask see it: what was cut off has no text, unless its start will do."""
        return response if response["cause"] != Cause.CUT_OFF or self.start_will_do else {**response, "text": ""}

    @property
    def after_failure(self) -> str:
        """What became of the rest, and how to go on."""
        kept = f"the others are kept; {self.kept_note}"
        return kept if self.store.enabled else "and nothing was kept (store.enabled=false)"

    @property
    def _responses(self) -> KeptResponses:
        return replace(
            KeptResponses.of(self.store), paid=True, valid=partial(is_response, start_will_do=self.start_will_do)
        )

    def _model(self, ask: Ask) -> EndpointModel:
        return EndpointModel(ask, structured=self.structured, fields=self.fields)

    def _request(self, messages: Sequence[Message], as_json: bool) -> Request:
        request = {
            **self.extra_body,
            "model": self.model,
            "messages": [message._asdict() for message in messages],
            self.max_tokens_as: self.max_tokens,
            "temperature": self.temperature,
            "seed": self.seed,
            "response_format": response_format(self.returns, self.fields()) if as_json else None,
        }
        return {name: value for name, value in request.items() if value is not None}

    def _key(self, request: Request) -> dict[str, Any]:
        """Everything that determines the response."""
        return {**self.asked, "request": request}

    def _cost(self, requests: Sequence[Request]) -> Cost:
        """What requests will cost that are not kept yet."""
        planned = [
            PlannedRequest(
                digest(self._key(each)) if self.store.enabled else "", prompt_tokens(each), "response_format" in each
            )
            for each in requests
        ]
        return Cost(self.model, self.url, self.max_tokens, self.price_in, self.price_out, sent(planned))
