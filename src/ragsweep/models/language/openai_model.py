"""Language models behind OpenAI-compatible endpoints, whose responses are kept."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal
from urllib.parse import urlsplit

from ragsweep.config.run_settings import MOST_REPEATS, Seed
from ragsweep.core.errors import ModelError
from ragsweep.core.limits import Between
from ragsweep.core.parsing import MalformedError
from ragsweep.models.language.endpoint import Endpoint, tokens_of
from ragsweep.models.language.endpoint_access import hidden
from ragsweep.models.language.kept_responses import KeptResponses
from ragsweep.models.language.language_model import Completion, Form, LanguageModel, Message
from ragsweep.models.language.response import Cause, read_choice
from ragsweep.store.stage_store import NO_STORE, Store

if TYPE_CHECKING:
    from openai import OpenAI
    from openai.types.chat import ChatCompletion

BYTES_PER_TOKEN = 4  # of English text, roughly
FILTERED = ("content_filter", "content_policy_violation", "data_inspection_failed")  # codes of refused prompts


@dataclass(frozen=True, kw_only=True)
class OpenAIModel(Endpoint, LanguageModel):
    """A language model behind an OpenAI-compatible endpoint, such as OpenAI's own, vLLM or Ollama.

    Each response is kept before it is used, under everything that determines it. So neither a second start nor a
    resumed one asks for it again, and a killed one loses no response that has arrived.

    Attributes:
        structured: Whether the endpoint returns JSON of a given schema. A reasoning method then gets an answer's
            fields instead of a text in which it has to find them.
        temperature: Of sampling; None leaves it to the endpoint.
        seed: Of sampling, where the endpoint has one; None sends none.
        repeat: Which of the repeats of a run this is, from 0. It is added to the seed, and each has responses of its
            own. The setting `repeats` sets it.
        max_tokens_as: The parameter that limits a response. Old servers know only `max_tokens`, and OpenAI's reasoning
            models only the other one.
        store: Its folder keeps the responses.
    """

    group: ClassVar[str] = "language_model"

    structured: bool = True
    temperature: Annotated[float, Between(0, 2)] | None = 0
    seed: Seed | None = 0
    repeat: Annotated[int, Between(0, MOST_REPEATS)] = 0
    max_tokens_as: Literal["max_completion_tokens", "max_tokens"] = "max_completion_tokens"
    store: Store = NO_STORE

    @property
    def without_effect(self) -> tuple[str, ...]:
        """Settings that have no effect on the responses."""
        return (*super().without_effect, *(() if self.repeat else ("repeat",)))

    @property
    def varies(self) -> bool:
        """Whether the same prompt can have another response."""
        return self.temperature != 0

    @property
    def own_fields(self) -> tuple[str, ...]:
        """The fields of a request that `extra_body` cannot set. The first of one whole response is read."""
        own = ("model", "messages", "max_completion_tokens", "max_tokens", "temperature", "seed", "stream", "n")
        return (*own, "response_format") if self.structured else own

    @property
    def at_once(self) -> int:
        """How many items it is asked about at a time."""
        return self.concurrency

    def has_kept(self, store: Store) -> bool:
        """Whether any response of this model and endpoint is kept."""
        return KeptResponses.of(self.store).has_any({"url": self.url}, {"model": self.model})

    def complete(self, messages: Sequence[Message], max_tokens: int, form: Form | None = None) -> Completion:
        """Continue a chat; what is kept is not asked for.

        Raises:
            ModelError: The endpoint cannot be used, the limit on tokens is reached, or the response cannot be kept.
        """
        request: dict[str, Any] = {
            "model": self.model,
            "messages": [message._asdict() for message in messages],
            self.max_tokens_as: max_tokens,
            "temperature": self.temperature,
            "seed": None if self.seed is None else self.seed + self.repeat,
        }
        if form is not None:
            schema = {"name": form.__name__, "strict": True, "schema": form.model_json_schema()}
            request["response_format"] = {"type": "json_schema", "json_schema": schema}
        request = {name: value for name, value in request.items() if value is not None}
        repeat = {"repeat": self.repeat} if self.repeat else {}
        key = {**self.asked, "request": {**self.extra_body, **request}, **repeat}
        return KeptResponses.of(self.store, Completion).get(key, lambda: self._asked(request, max_tokens))

    def _asked(self, request: dict[str, Any], max_tokens: int) -> Completion:
        started = time.perf_counter()
        length = sum(len(message["content"].encode(errors="replace")) for message in request["messages"])
        response = self.call(lambda client: self._sent(client, request), length // BYTES_PER_TOKEN + max_tokens)
        time_ms, where = 1000 * (time.perf_counter() - started), (f"the endpoint {urlsplit(self.url).hostname}",)
        if response is None:
            return Completion("", 0, 0, time_ms, where, Cause.REFUSED)
        tokens_in, tokens_out = tokens_of(response.usage)
        try:
            text, cause = read_choice(response.choices[0] if response.choices else None)
        except MalformedError as error:
            raise ModelError(f"{self.url}: the response {error}") from None
        text = hidden(text.encode(errors="replace").decode(), *self.access.secrets)
        return Completion(text, tokens_in, tokens_out, time_ms, where, cause)

    def _sent(self, client: OpenAI, request: dict[str, Any]) -> ChatCompletion | None:
        """The response; None where a filter refuses the prompt."""
        import openai

        try:
            response: ChatCompletion = client.chat.completions.create(**request, extra_body=dict(self.extra_body))
        except (openai.BadRequestError, openai.PermissionDeniedError) as error:
            if error.code in FILTERED:
                return None
            raise
        return response
