"""What language models and encoders behind an OpenAI-compatible endpoint have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Annotated, ClassVar, TypeVar

from ragsweep.core.constraints import Between, Text
from ragsweep.core.errors import ModelError
from ragsweep.core.progress import advance
from ragsweep.core.project import sweep_id
from ragsweep.core.terminal import counted
from ragsweep.retrieval.language_models.access import api_key, check_access
from ragsweep.retrieval.language_models.budget import Budget, Spent, budget_of
from ragsweep.retrieval.language_models.sending import Endpoint, Kind, Stopped

OPENAI = "https://api.openai.com/v1"

Price = Annotated[float, Between(0)]
Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True, kw_only=True)
class EndpointUser:
    """Sends requests to an OpenAI-compatible endpoint, several at a time, within a limit on tokens.

    Attributes:
        group: The group of the settings, for messages.
        noun: What the model is asked about, for messages.
        model: The model's name at the endpoint.
        base_url: Address of the endpoint; None takes OpenAI's. It must not contain a password or key.
        api_key_env: Name of the variable that holds the key, in the environment or in `.env` of the project folder.
        max_tokens_total: The most tokens, of prompts and responses, that one start of the program may pay for in each
            of its processes; None sets no limit. A request starts only if its prompt and the longest response fit. The
            tokens of the prompt are estimated, as one for 4 characters of ASCII, and one for each byte of any other
            writing. What was spent may exceed the limit by the error of this estimate in the requests that are on
            their way, or if the endpoint states too few tokens.
        concurrency: The most requests at a time, in each process.
        timeout_s: The most seconds that a response may take.
        retries: How often a request is sent again after a failure that may pass.
        price_in: Price of a million tokens of prompts, for the estimate.
    """

    group: ClassVar[str]
    noun: ClassVar[str]

    model: Text
    base_url: Text | None = None
    api_key_env: Text = "OPENAI_API_KEY"
    max_tokens_total: Annotated[int, Between(1)] | None = None
    concurrency: Annotated[int, Between(1, 256)] = 8
    timeout_s: Annotated[float, Between(0.1, 3600)] = 60
    retries: Annotated[int, Between(0, 20)] = 6
    price_in: Price | None = None

    def __post_init__(self) -> None:
        if find_spec("openai") is None:
            raise ModelError(f"{self.group}: openai is not installed here; run pip install 'ragsweep[openai]'")
        check_access(self.base_url, self.api_key_env, self.model, self.group)

    @property
    def without_effect(self) -> tuple[str, ...]:
        """Settings that have no effect on the responses."""
        return ("api_key_env", "max_tokens_total", "concurrency", "timeout_s", "retries", "price_in")

    @property
    def url(self) -> str:
        """The address that requests go to."""
        return (self.base_url or OPENAI).rstrip("/")

    @property
    def spent(self) -> int:
        """The tokens that this start of the program has paid for, in this process."""
        return self._budget.spent

    @property
    def after_failure(self) -> str:
        """What happens to the rest, and how to go on; the end of an error message."""
        raise NotImplementedError

    @property
    def _budget(self) -> Budget:
        return budget_of(sweep_id(), self.max_tokens_total)

    def _send_each(
        self, items: Mapping[int, Item], work: Callable[[Item, Endpoint], Result], kind: Kind
    ) -> dict[int, Result]:
        """Results of the endpoint. If one fails, no further request starts, and those on their way are waited for.

        Args:
            items: What `work` is called with, in several threads.
            work: Sends the requests about one item.
            kind: Of the requests.
        """
        budget = self._budget
        key = api_key(self.api_key_env, self.group)
        endpoint = Endpoint(self.url, key, self.timeout_s, self.retries, budget, kind=kind, group=self.group)

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
        return ModelError(f"{reason}; {counted(left, self.noun)} left, {self.after_failure}")
