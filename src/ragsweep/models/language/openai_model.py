"""Language models behind OpenAI-compatible endpoints, which keep each response."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Annotated, Any, ClassVar, Literal
from urllib.parse import urlsplit

from ragsweep.config.run_settings import MOST_REPEATS, Seed
from ragsweep.core.limits import Between
from ragsweep.core.progress import progress
from ragsweep.core.terminal import counted
from ragsweep.models.language.chat import CHAT, TOKEN_LIMITS, is_response
from ragsweep.models.language.endpoint_model import EndpointModel, Fields, Response, response_format
from ragsweep.models.language.endpoint_user import EndpointUser, Price
from ragsweep.models.language.kept import KeptResponses
from ragsweep.models.language.language_model import Asking, Item, Message, Result, Work
from ragsweep.models.language.response import Cause
from ragsweep.models.language.sending import Endpoint
from ragsweep.models.language.unusable import Unusable
from ragsweep.models.language.writing import is_refusal
from ragsweep.store.stage_store import NO_STORE, Store

Request = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class OpenAIModel(EndpointUser):
    """A language model behind an OpenAI-compatible endpoint, such as OpenAI's own, vLLM or Ollama.

    Each response is kept before it is used, under everything that determines it. So neither a second start nor a
    resumed one asks for it again, and a killed one loses no response that has arrived. If a response cannot be kept,
    such as on a full disk, no further request starts. Endpoints do not tell how likely a given text is.

    Attributes:
        structured: Whether the endpoint returns JSON of a given schema. A reasoning method then gets an answer's
            fields instead of a text in which it has to find them.
        temperature: Of sampling; None leaves it to the endpoint.
        seed: Of sampling, where the endpoint has one; None sends none.
        repeat: Which of the repeats of a run this is, from 0. It is added to the seed, and each has responses of its
            own. The setting `repeats` sets it.
        max_tokens_as: The parameter that limits a response. Old servers know only `max_tokens`, and OpenAI's reasoning
            models only the other one.
        price_out: Price of a million tokens of responses, for the line of what was spent.
        store: Its folder keeps the responses.
    """

    group: ClassVar[str] = "language_model"

    structured: bool = True
    temperature: Annotated[float, Between(0, 2)] | None = 0
    seed: Seed | None = 0
    repeat: Annotated[int, Between(0, MOST_REPEATS)] = 0
    max_tokens_as: Literal["max_completion_tokens", "max_tokens"] = "max_completion_tokens"
    price_out: Price | None = None
    store: Store = NO_STORE

    @property
    def without_effect(self) -> tuple[str, ...]:
        """Settings that have no effect on the responses."""
        first = () if self.repeat else ("repeat",)
        return (*super().without_effect, "price_out", *first)

    @property
    def _price_out(self) -> float | None:
        return self.price_out

    @property
    def varies(self) -> bool:
        """Whether the same prompt can have another response."""
        return self.temperature != 0

    @property
    def own_fields(self) -> tuple[str, ...]:
        """The fields of a request that `extra_body` cannot set. The first of one whole response is read."""
        own = ("model", "messages", *TOKEN_LIMITS, "temperature", "seed", "stream", "n")
        return (*own, "response_format") if self.structured else own

    def has_kept(self, store: Store) -> bool:
        """Whether any response of this model and endpoint is kept."""
        return KeptResponses.of(self.store).has_any({"url": self.url}, {"model": self.model})

    def ask_each(self, items: Sequence[Item], work: Work[Item, Result], asking: Asking) -> list[Result]:
        """What `work` returns for each item, in the same order. What is kept already is not asked for.

        Args:
            items: What the model is asked about.
            work: Asks the model about one item. It runs in several threads.
            asking: How.

        Raises:
            ModelError: The endpoint cannot be used, the limit on tokens is reached, or responses cannot be kept.
        """
        kept, check = self._responses(asking), cache(self._responses(asking).check)
        unusable = asking.unusable or Unusable(asking.limit or f"{asking.group}.max_tokens", asking.max_tokens)
        where = f"the endpoint {urlsplit(self.url).hostname}"

        def of_item(item: Item, endpoint: Endpoint) -> Result:
            fields = partial(asking.fields, item) if asking.fields and self.structured else None

            def ask(messages: Sequence[Message], as_json: bool) -> Response:
                request, is_new = self._request(messages, fields if as_json else None, asking), False

                def send() -> Response:
                    nonlocal is_new
                    is_new = True
                    check()
                    response = endpoint.send(request)
                    response["machines"] = [where]
                    unusable.add(_cause(response, asking))
                    return response

                response = kept.get(self._key(request), send)
                if not is_new and _cause(response, asking) is None:
                    unusable.add_usable()
                return _read(response, asking)

            return work(item, EndpointModel(ask, fields))

        kind = CHAT._replace(item=asking.item)
        with progress(f"asking {self.model} {counted(len(items), asking.item)}", len(items)):
            results = self._send_each(dict(enumerate(items)), of_item, kind, self._after_failure(asking))
        if unusable.line:
            warnings.warn(f"{self.group}: {unusable.line}", stacklevel=2)
        return [results[number] for number in range(len(items))]

    def _after_failure(self, asking: Asking) -> str:
        """What became of the rest, and how to go on."""
        kept = f"what was answered is kept; {asking.go_on} to ask for no more than these"
        return kept if self.store.enabled else "and nothing was kept (store.enabled=false)"

    def _responses(self, asking: Asking) -> KeptResponses:
        valid = partial(is_response, start_will_do=asking.start_will_do)
        return replace(KeptResponses.of(self.store), paid=True, valid=valid)

    def _request(self, messages: Sequence[Message], fields: Fields | None, asking: Asking) -> Request:
        request = {
            **self.extra_body,
            "model": self.model,
            "messages": [message._asdict() for message in messages],
            self.max_tokens_as: asking.max_tokens,
            "temperature": self.temperature,
            "seed": None if self.seed is None else self.seed + self.repeat,
            "response_format": response_format(asking.returns, fields()) if fields else None,
        }
        return {name: value for name, value in request.items() if value is not None}

    def _key(self, request: Request) -> dict[str, Any]:
        """Everything that determines the response."""
        return {**self.asked, "request": request, **({"repeat": self.repeat} if self.repeat else {})}


def _read(response: Response, asking: Asking) -> Response:
    """A response as those who ask see it: what was cut off has no text, unless its start will do."""
    return response if response["cause"] != Cause.CUT_OFF or asking.start_will_do else {**response, "text": ""}


def _cause(response: Response, asking: Asking) -> Cause | None:
    """Why a response is of no use, also where it refuses in words."""
    if asking.start_will_do and response["cause"] == Cause.CUT_OFF and response["text"].strip():
        return None
    return response["cause"] or (Cause.REFUSED if is_refusal(response["text"]) else None)
