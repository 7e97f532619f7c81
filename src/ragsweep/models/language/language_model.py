"""What is asked of a language model, and what it returns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, Protocol, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


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
    """

    text: str
    tokens_in: int | None
    tokens_out: int | None
    time_ms: float


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
        tokens: Tokens of each continuation, shape [continuations]; empty if not known.
    """

    log_likelihoods: tuple[float, ...]
    tokens_in: int
    time_ms: float
    tokens: tuple[int, ...] = ()


class LanguageModel(Protocol):
    """A language model.

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

    def option_scores(self, messages: Sequence[Message], continuations: Sequence[str]) -> OptionScores | None:
        """How likely each continuation of the chat is; None if the model cannot tell, as most servers cannot."""
        ...


class Model(Protocol):
    """A language model that can be asked about many things; write your own as one class with this method.

    One with `has_likelihoods = False` has no `option_scores`.
    """

    def ask_each(self, items: Sequence[Item], work: Callable[[Item, LanguageModel], Result]) -> list[Result]:
        """What `work` returns for each item, in the same order; it asks the model about one item.

        `work` may run in several threads, and more than once for an item.
        """
        ...
