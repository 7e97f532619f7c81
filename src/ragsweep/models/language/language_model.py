"""What is asked of a language model, what it returns, and what it may offer besides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, Protocol, TypeVar, runtime_checkable

from ragsweep.core.capability import Capability, offered_with
from ragsweep.core.errors import ConfigError, ModelError
from ragsweep.core.limits import Between
from ragsweep.core.timing import UNKNOWN, Machines
from ragsweep.models.language.response import Cause
from ragsweep.models.language.unusable import Unusable

if TYPE_CHECKING:
    from pydantic import BaseModel

Item = TypeVar("Item")
Result = TypeVar("Result")
MaxTokens = Annotated[int, Between(1, 1_000_000)]  # of one response


class TooLongError(ModelError):
    """A prompt and its response do not fit into what a model reads; says how long that is."""


class Stopped(Exception):  # noqa: N818 - another request has failed, or the user has stopped the run
    """No further prompt is answered."""


class Message(NamedTuple):
    """A message of a chat."""

    role: Literal["system", "user", "assistant"]
    content: str


class Completion(NamedTuple):
    """What a model returned for a prompt.

    Attributes:
        text: The text, empty if the model refused.
        tokens_in: Tokens of the prompt; None if not known.
        tokens_out: Tokens of the text; None if not known.
        time_ms: How long it took, in milliseconds, when it was computed; a kept completion has the time of its first
            computation.
        machines: What it was computed with.
    """

    text: str
    tokens_in: int | None
    tokens_out: int | None
    time_ms: float
    machines: Machines = UNKNOWN


class Exchange(NamedTuple):
    """A prompt that was sent to a model, and the text that it returned."""

    prompt: str
    response: str


class OptionScores(NamedTuple):
    """How likely a model finds each of several continuations of a prompt.

    Attributes:
        log_likelihoods: Sum of the log probabilities of the tokens of each continuation, shape [continuations].
        tokens_in: Tokens of the prompt.
        time_ms: How long it took, in milliseconds, when it was computed.
        machines: What it was computed with.
    """

    log_likelihoods: tuple[float, ...]
    tokens_in: int
    time_ms: float
    machines: Machines = UNKNOWN


@dataclass(frozen=True)
class Asking:
    """How a component asks a model, the same for all items.

    Attributes:
        group: The group of the component's settings, for messages.
        max_tokens: The most tokens of one response.
        returns: What the JSON is called that the model returns.
        fields: Returns the fields of the JSON about an item, as pydantic is slow to import; None to get texts only.
        start_will_do: Whether a text that was cut off can be used.
        go_on: How to go on after a failure.
        item: What an item is, for messages.
        limit: The setting of `max_tokens`, for messages; empty is that of the group.
        unusable: Counts the responses without usable text over several calls; None counts those of each call.
    """

    group: str
    max_tokens: int
    returns: str = ""
    fields: Callable[[Any], type[BaseModel]] | None = None
    start_will_do: bool = False
    go_on: str = "start again"
    item: str = "question"
    limit: str = ""
    unusable: Unusable | None = None


class LanguageModel(Protocol):
    """A language model that is asked about one item. It may be `ScoresOptions` and `NotesFailures`, too.

    `structured`: whether `complete` returns JSON when it is asked to.
    """

    structured: bool

    def complete(self, messages: Sequence[Message], *, as_json: bool = False) -> Completion:
        """Continue a chat, always in the same way for the same messages.

        Args:
            messages: The chat.
            as_json: Whether to return JSON of the fields that whoever asks expects; only if the model is `structured`.
        """
        ...


Work = Callable[[Item, LanguageModel], Result]  # asks a model about one item


@offered_with("complete")
@runtime_checkable
class ScoresOptions(Capability, Protocol):
    """A language model that tells how likely a given text is, as most servers cannot."""

    def option_scores(self, messages: Sequence[Message], continuations: Sequence[str]) -> OptionScores:
        """How likely each continuation of the chat is; a last message of the assistant is what it continues."""
        ...


@offered_with("complete")
@runtime_checkable
class NotesFailures(Capability, Protocol):
    """A language model that notes what `complete` does not return.

    `asked_again`: requests for valid JSON, of which whoever asks does not know. `causes`: why responses have no usable
    text.
    """

    asked_again: list[Exchange]
    causes: list[Cause]


@runtime_checkable
class Model(Protocol):
    """A language model that can be asked about many things; write your own as one class with these members.

    It may be a `LocalModel` or a `PaidModel`, too.
    """

    @property
    def structured(self) -> bool:
        """Whether it returns JSON of given fields when it is asked to."""
        ...

    def ask_each(self, items: Sequence[Item], work: Work[Item, Result], asking: Asking) -> list[Result]:
        """What `work` returns for each item, in the same order; it asks the model about one item.

        `work` may run in several threads.
        """
        ...


@offered_with("ask_each")
@runtime_checkable
class LocalModel(Model, Capability, Protocol):
    """A model that runs on this machine. What it gives to `work` is `ScoresOptions`, and may raise `TooLongError`."""

    @property
    def context(self) -> int:
        """How many tokens it reads, those of its response included."""
        ...

    @property
    def usual_tokens(self) -> int:
        """The most tokens of a response where no setting says how many."""
        ...


@offered_with("ask_each")
@runtime_checkable
class PaidModel(Model, Capability, Protocol):
    """A model whose responses cost money.

    `spent`: the tokens that this start of the program has paid for. `price_in`, `price_out`: of a million tokens of
    prompts and of responses; None if not given.
    """

    spent: int
    price_in: float | None
    price_out: float | None


def most_tokens(model: Model, given: int | None, usual: int, group: str) -> int:
    """The most tokens of a response: the given number, or else the usual one, or fewer if the model writes fewer.

    Raises:
        ConfigError: The given number leaves a local model less than half of its context for the prompt.
    """
    if not isinstance(model, LocalModel):
        return given or usual
    if given is not None and given > model.context // 2:
        raise ConfigError(f"{group}.max_tokens: found {given}, expected at most {model.context // 2} for this model")
    return given or min(usual, model.usual_tokens)
