"""What language models and encoders behind an OpenAI-compatible endpoint have in common."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Annotated, Any, ClassVar

from ragsweep.core.errors import ConfigError, ModelError, UnusableError
from ragsweep.core.limits import Address, Between, Header, HostedModel, KeyName, Text
from ragsweep.core.progress import advance
from ragsweep.core.project import sweep_id
from ragsweep.core.terminal import counted
from ragsweep.models.language.budget import Bill, Budget, Spent, bill_of, budget_of
from ragsweep.models.language.endpoint_access import Access, access_of, check_access, check_headers
from ragsweep.models.language.language_model import Item, Result, Stopped
from ragsweep.models.language.likely_keys import likely_key, texts_in
from ragsweep.models.language.sending import Endpoint, Kind
from ragsweep.store.stage_store import Store

OPENAI = "https://api.openai.com/v1"
VERSION = r"v?\d[\w.-]{,20}|preview|latest"  # of an API; keys are longer

Price = Annotated[float, Between(0)]


@dataclass(frozen=True, kw_only=True)
class EndpointUser:
    """Sends requests to an OpenAI-compatible endpoint, several at a time, within a limit on tokens.

    Attributes:
        group: The group of the settings, for messages.
        model: The model's name at the endpoint.
        base_url: Address of the endpoint; None takes OpenAI's. It must not contain a password or key.
        api_key_env: Name of the variable that holds the key, in the environment or in `.env` of the project folder.
            It is sent as `Authorization: Bearer`. None sends none, as for a server that takes it in another header.
        headers: Further headers, which change no response.
        headers_in_digest: Further headers that do: with others, everything is asked for again.
        headers_env: Names of the variables that hold further headers, by the header, such as `api-key`.
        api_version: The parameter `api-version` of every request, which Azure wants; None sends none.
        extra_body: Further fields of every request, as the server has them. They change the responses.
        max_tokens_total: The most tokens, of prompts and responses, that one start of the program may pay for in each
            of its processes; None sets no limit. A request starts only if its prompt and the longest response fit. The
            tokens of the prompt are estimated, as one for 4 characters of ASCII, and one for each byte of any other
            writing. What was spent may exceed the limit by the error of this estimate in the requests that are on
            their way, or if the endpoint states too few tokens.
        concurrency: The most requests at a time, in each process.
        timeout_s: The most seconds that a response may take.
        retries: How often a request is sent again after a failure that may pass.
        price_in: Price of a million tokens of prompts, for the line of what was spent.
    """

    group: ClassVar[str]

    model: HostedModel
    base_url: Address | None = None
    api_key_env: KeyName | None = "OPENAI_API_KEY"
    headers: Mapping[str, Header] = field(default_factory=dict)
    headers_in_digest: Mapping[str, Header] = field(default_factory=dict)
    headers_env: Mapping[str, KeyName] = field(default_factory=dict)
    api_version: Text | None = None
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    max_tokens_total: Annotated[int, Between(1)] | None = None
    concurrency: Annotated[int, Between(1, 256)] = 8
    timeout_s: Annotated[float, Between(0.1, 3600)] = 60
    retries: Annotated[int, Between(0, 20)] = 6
    price_in: Price | None = None

    def __post_init__(self) -> None:
        if find_spec("openai") is None:
            raise ModelError(f"{self.group}: openai is not installed here; run pip install 'ragsweep[openai]'")
        variables = {"api_key_env": self.api_key_env} if self.api_key_env else {}
        variables |= {f"headers_env.{name}": value for name, value in self.headers_env.items()}
        texts = {"model": self.model, "api_version": self.api_version or ""}
        texts |= {f"headers.{name}": value for name, value in self.headers.items()}
        texts |= {f"headers_in_digest.{name}": value for name, value in self.headers_in_digest.items()}
        texts["extra_body"] = "\n".join(texts_in(self.extra_body))
        check_access(self.base_url, variables, texts, self.group)
        for name in ("headers", "headers_in_digest", "headers_env"):
            check_headers(getattr(self, name), f"{self.group}.{name}", named=name == "headers_env")
        if self.api_version is not None and not re.fullmatch(VERSION, self.api_version, re.ASCII):
            raise ConfigError(f"{self.group}.api_version: expected a version, such as 2024-10-21 or v1")
        if taken := [name for name in self.extra_body if name in self.own_fields]:
            own = f"{self.group}.{taken[0]}" if hasattr(self, taken[0]) else "this request"
            raise ConfigError(f"{self.group}.extra_body: {taken[0]} belongs to {own}")
        if secret := likely_key(self.extra_body):
            raise ConfigError(
                f"{self.group}.extra_body: {secret} may be a key, and every run records it; send keys as headers, by "
                "headers_env"
            )

    @property
    def without_effect(self) -> tuple[str, ...]:
        """Settings that have no effect on the responses."""
        access = ("api_key_env", "headers", "headers_env")
        return (*access, "max_tokens_total", "concurrency", "timeout_s", "retries", "price_in")

    @property
    def own_fields(self) -> tuple[str, ...]:
        """The fields of a request that `extra_body` cannot set."""
        raise NotImplementedError

    @property
    def asked(self) -> dict[str, Any]:
        """What determines a response besides the request."""
        return {"url": self.url, "api_version": self.api_version, "headers": dict(self.headers_in_digest)}

    @property
    def url(self) -> str:
        """The address that requests go to."""
        return (self.base_url or OPENAI).rstrip("/")

    @property
    def spent(self) -> int:
        """The tokens that this start of the program has paid for, in this process."""
        return self._budget.spent

    @property
    def _budget(self) -> Budget:
        return budget_of(sweep_id(), self.max_tokens_total)

    @property
    def _bill(self) -> Bill:
        prices = None if self.price_in is None or self._price_out is None else (self.price_in, self._price_out)
        return bill_of(self.model, self.url, prices)

    @property
    def _price_out(self) -> float | None:
        """Price of a million tokens of responses; of embeddings there are none."""
        return 0.0

    def check_keys(self, store: Store) -> None:
        """Raise `ModelError` if a key is missing, unless something is kept, which may be all that is needed."""
        try:
            self._access()
        except ModelError:
            if not self.has_kept(store):
                raise

    def has_kept(self, store: Store) -> bool:
        """Whether anything that the endpoint returned is kept."""
        raise NotImplementedError

    def _access(self) -> Access:
        headers = {**self.headers, **self.headers_in_digest}
        return access_of(self.api_key_env, headers, self.headers_env, self.group)

    def _send_each(
        self, items: Mapping[int, Item], work: Callable[[Item, Endpoint], Result], kind: Kind, after_failure: str
    ) -> dict[int, Result]:
        """Results of the endpoint. If one fails, no further request starts, and those on their way are waited for.

        Args:
            items: What `work` is called with, in several threads.
            work: Sends the requests about one item.
            kind: Of the requests.
            after_failure: What becomes of the rest, and how to go on; the end of an error message.
        """
        endpoint = Endpoint(
            self.url,
            *(self._access, self.timeout_s, self.retries, self._budget),
            bill=self._bill,
            kind=kind,
            group=self.group,
            api_version=self.api_version,
        )

        def result(item: Item) -> Result:
            try:
                return work(item, endpoint)
            except BaseException:
                endpoint.stopped.set()
                raise

        with endpoint, ThreadPoolExecutor(self.concurrency) as pool:
            try:  # from the first one on: the pool waits for all that were handed to it
                futures = {pool.submit(result, item): number for number, item in items.items()}
                for future in as_completed(futures):
                    if future.exception() is not None:
                        break
                    advance(1)
            finally:  # also at an interruption
                endpoint.stopped.set()
        errors = [error for future in futures if (error := future.exception()) is not None]
        if errors:
            first = next(each for each in errors if not isinstance(each, Stopped))
            raise self._failure(first, f"{counted(len(errors), kind.item)} left, {after_failure}")
        return {number: future.result() for future, number in futures.items()}

    def _failure(self, error: BaseException, left: str) -> BaseException:
        """The error to raise: what happened, and how to go on if the user can do something about it."""
        if not isinstance(error, ModelError | Spent):
            return error
        reason = str(error)
        if isinstance(error, Spent):
            budget = self._budget
            spent = f"{budget.spent:,} of {budget.limit:,} tokens are spent"
            reason = f"{self.group}.max_tokens_total: {spent}, and the next request could exceed them"
        kind = UnusableError if isinstance(error, UnusableError) else ModelError
        return kind(f"{reason}; {left}")
