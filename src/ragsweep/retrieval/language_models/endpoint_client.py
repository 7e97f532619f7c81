"""Asks a language model behind an OpenAI-compatible endpoint about many things, and keeps each response."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from ragsweep.core.constraints import Between
from ragsweep.core.progress import progress
from ragsweep.core.run_settings import Seed
from ragsweep.core.store import NO_STORE, Store
from ragsweep.core.terminal import counted
from ragsweep.retrieval.language_models.chat import CHAT, is_response, prompt_tokens
from ragsweep.retrieval.language_models.endpoint_model import Ask, EndpointModel, Response, response_format
from ragsweep.retrieval.language_models.endpoint_user import EndpointUser, Item, Price, Result
from ragsweep.retrieval.language_models.kept import KeptResponses
from ragsweep.retrieval.language_models.language_model import Message
from ragsweep.retrieval.language_models.sending import Endpoint

if TYPE_CHECKING:
    from pydantic import BaseModel

NOTHING = {"text": "", "refused": True, "tokens_in": None, "tokens_out": None, "time_ms": 0}  # stands for a response

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
                print(self._estimate(missing), file=sys.stderr)
            results |= self._ask(left, work)
        return [results[number] for number in range(len(items))]

    def estimate(self, items: Sequence[Item], work: Callable[[Item, EndpointModel], Result]) -> str:
        """What `ask_each` will ask and what that costs; empty if everything is kept."""
        missing = self._of_kept(items, work)[2]
        return self._estimate(missing) if missing else ""

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
            return NOTHING if found is None else found

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
        kept = self._responses
        kept.check()

        def of_item(item: Item, endpoint: Endpoint) -> Result:
            def ask(messages: Sequence[Message], as_json: bool) -> Response:
                request = self._request(messages, as_json)
                return kept.get(self._key(request), lambda: endpoint.send(request))

            return work(item, self._model(ask))

        with progress(f"asking {self.model} {counted(len(items), self.noun)}", len(items)):
            return self._send_each(items, of_item, CHAT)

    @property
    def after_failure(self) -> str:
        """What became of the rest, and how to go on."""
        kept = f"the others are kept; {self.kept_note}"
        return kept if self.store.enabled else "and nothing was kept (store.enabled=false)"

    @property
    def _responses(self) -> KeptResponses:
        return replace(KeptResponses.of(self.store), paid=True, valid=is_response)

    def _model(self, ask: Ask) -> EndpointModel:
        return EndpointModel(ask, structured=self.structured, fields=self.fields)

    def _request(self, messages: Sequence[Message], as_json: bool) -> Request:
        request = {
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
        return {"url": self.url, "request": request}

    def _estimate(self, requests: Sequence[Request]) -> str:
        """What requests will cost that are not kept yet. Later prompts of a reasoning method hold earlier responses."""
        tokens_in, tokens_out = sum(map(prompt_tokens, requests)), len(requests) * self.max_tokens
        line = f"{self.model}: about {counted(len(requests), 'request')} to {self.url}, {tokens_in:,} tokens in"
        line += f" and at most {tokens_out:,} out"
        if self.price_in is None or self.price_out is None:
            return line
        return (
            f"{line}, at the given prices at most {(tokens_in * self.price_in + tokens_out * self.price_out) / 1e6:.2f}"
        )
