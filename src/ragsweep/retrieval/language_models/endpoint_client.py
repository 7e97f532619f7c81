"""Asks a language model behind an OpenAI-compatible endpoint about many things, and keeps each response."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeVar

from ragsweep.core.constraints import Between, Text
from ragsweep.core.errors import ModelError
from ragsweep.core.progress import advance, progress
from ragsweep.core.project import sweep_id
from ragsweep.core.run_settings import Seed
from ragsweep.core.store import NO_STORE, Store
from ragsweep.core.terminal import counted
from ragsweep.retrieval.language_models.access import api_key, check_access
from ragsweep.retrieval.language_models.budget import Budget, Spent, budget_of
from ragsweep.retrieval.language_models.endpoint_model import Ask, EndpointModel, Response, response_format
from ragsweep.retrieval.language_models.kept import KeptResponses
from ragsweep.retrieval.language_models.language_model import Message
from ragsweep.retrieval.language_models.sending import Endpoint, Stopped, is_response, prompt_tokens

if TYPE_CHECKING:
    from pydantic import BaseModel

OPENAI = "https://api.openai.com/v1"
NOTHING = {"text": "", "refused": True, "tokens_in": None, "tokens_out": None, "time_ms": 0}  # stands for a response

Request = dict[str, Any]
Price = Annotated[float, Between(0)]
Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True, kw_only=True)
class EndpointClient:
    """Asks a language model behind an OpenAI-compatible endpoint, such as OpenAI's own, vLLM or Ollama.

    Each response is kept before it is used, under everything that determines it. So neither a second start nor a
    resumed one asks for it again, and a killed one loses no response that has arrived. If a response cannot be kept,
    such as on a full disk, no further request starts.

    Attributes:
        group: The group of the settings, for messages.
        noun: What the model is asked for, for messages.
        returns: What the returned JSON is called.
        kept_note: How to go on after a failure.
        model: The model's name at the endpoint.
        base_url: Address of the endpoint; None takes OpenAI's. It must not contain a password or key.
        api_key_env: Name of the variable that holds the key, in the environment or in `.env` of the project folder.
        structured: Whether the endpoint returns JSON of a given schema. A reasoning method then gets an answer's
            fields instead of a text in which it has to find them.
        temperature: Of sampling; None leaves it to the endpoint.
        seed: Of sampling, where the endpoint has one; None sends none.
        max_tokens: The most tokens of one response.
        max_tokens_as: The parameter that says so. Old servers know only `max_tokens`, and OpenAI's reasoning models
            only the other one.
        max_tokens_total: The most tokens, of prompts and responses, that one start of the program may pay for in each
            of its processes; None sets no limit. A request starts only if its prompt and the longest response fit. The
            tokens of the prompt are estimated, as one for 4 characters of ASCII, and one for each byte of any other
            writing. What was spent may exceed the limit by the error of this estimate in the requests that are on
            their way, or if the endpoint states too few tokens.
        concurrency: The most requests at a time, in each process.
        timeout_s: The most seconds that a response may take.
        retries: How often a request is sent again after a failure that may pass.
        price_in: Price of a million tokens of prompts, for the estimate.
        price_out: Price of a million tokens of responses, for the estimate.
        store: Its folder keeps the responses.
    """

    group: ClassVar[str]
    noun: ClassVar[str]
    returns: ClassVar[str]
    kept_note: ClassVar[str] = "start again to ask for no more than these"

    model: Text
    base_url: Text | None = None
    api_key_env: Text = "OPENAI_API_KEY"
    structured: bool = True
    temperature: Annotated[float, Between(0, 2)] | None = 0
    seed: Seed | None = 0
    max_tokens: Annotated[int, Between(1, 1_000_000)] = 1024
    max_tokens_as: Literal["max_completion_tokens", "max_tokens"] = "max_completion_tokens"
    max_tokens_total: Annotated[int, Between(1)] | None = None
    concurrency: Annotated[int, Between(1, 256)] = 8
    timeout_s: Annotated[float, Between(0.1, 3600)] = 60
    retries: Annotated[int, Between(0, 20)] = 6
    price_in: Price | None = None
    price_out: Price | None = None
    store: Store = NO_STORE

    def __post_init__(self) -> None:
        if find_spec("openai") is None:
            raise ModelError(f"{self.group}: openai is not installed here; run pip install 'ragsweep[openai]'")
        check_access(self.base_url, self.api_key_env, self.model, self.group)

    @property
    def without_effect(self) -> tuple[str, ...]:
        """Settings that have no effect on the responses."""
        return ("api_key_env", "max_tokens_total", "concurrency", "timeout_s", "retries", "price_in", "price_out")

    @property
    def url(self) -> str:
        """The address that requests go to."""
        return (self.base_url or OPENAI).rstrip("/")

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

    @property
    def spent(self) -> int:
        """The tokens that this start of the program has paid for, in this process."""
        return budget_of(sweep_id(), self.max_tokens_total).spent

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
        """Results of the endpoint. If one fails, no further request starts, and those on their way are waited for."""
        kept, budget = self._responses, budget_of(sweep_id(), self.max_tokens_total)
        key = api_key(self.api_key_env, self.group)
        endpoint = Endpoint(self.url, key, self.timeout_s, self.retries, budget, group=self.group)
        kept.check()

        def ask(messages: Sequence[Message], as_json: bool) -> Response:
            request = self._request(messages, as_json)
            try:
                return kept.get(self._key(request), lambda: endpoint.send(request))
            except BaseException:
                endpoint.stopped.set()
                raise

        shown = progress(f"asking {self.model} {counted(len(items), self.noun)}", len(items))
        with endpoint, ThreadPoolExecutor(self.concurrency) as pool, shown:
            futures = {pool.submit(work, item, self._model(ask)): number for number, item in items.items()}
            try:
                for future in as_completed(futures):
                    if future.exception() is not None:
                        break
                    advance(1)
            finally:  # also at an interruption
                endpoint.stopped.set()
        errors = [error for future in futures if (error := future.exception()) is not None]
        if errors:
            raise self._failure(next(each for each in errors if not isinstance(each, Stopped)), len(errors), budget)
        return {number: future.result() for future, number in futures.items()}

    def _failure(self, error: BaseException, left: int, budget: Budget) -> BaseException:
        """The error to raise: what happened, and how to go on if the user can do something about it."""
        if not isinstance(error, ModelError | Spent):
            return error
        reason = str(error)
        if isinstance(error, Spent):
            spent = f"{budget.spent:,} of {budget.limit:,} tokens are spent"
            reason = f"{self.group}.max_tokens_total: {spent}, and the next request could exceed them"
        kept = f"the others are kept; {self.kept_note}"
        rest = kept if self.store.enabled else "and nothing was kept (store.enabled=false)"
        return ModelError(f"{reason}; {counted(left, self.noun)} left, {rest}")

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
