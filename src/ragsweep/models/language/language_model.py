"""The base class of language models, with the types of questions and responses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import Event, Lock
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TypeAlias

from ragsweep.core.errors import ConfigError, ModelError, UnusableError
from ragsweep.core.limits import Between
from ragsweep.core.parsing import MalformedError
from ragsweep.core.progress import Item, Result, Stopped, in_threads, progress
from ragsweep.core.terminal import counted, say_once
from ragsweep.core.timing import UNKNOWN, Machines, put_together
from ragsweep.models.language.response import CAUSE_NAMES, HELP, Cause, json_in
from ragsweep.store.component import Component

if TYPE_CHECKING:
    from pydantic import BaseModel

MaxTokens = Annotated[int, Between(1, 1_000_000)]  # of one response
Tokens: TypeAlias = Annotated[int, Between(0, 10**9)] | None
Form: TypeAlias = "type[BaseModel]"
UNUSABLE_IN_A_ROW = 10  # responses after which asking stops


class TooLongError(ModelError):
    """A prompt and its response do not fit into what a model reads; says how long that is."""


class Message(NamedTuple):
    """A message of a chat."""

    role: Literal["system", "user", "assistant"]
    content: str


class Completion(NamedTuple):
    """The response of a model to a prompt.

    Attributes:
        text: The text; empty if there is a cause why there is none, other than that it was cut off.
        tokens_in: Tokens of the prompt; None if not known.
        tokens_out: Tokens of the text; None if not known.
        time_ms: How long it took, in milliseconds, when it was computed; a kept completion has the time of its first
            computation.
        machines: What it was computed with.
        cause: Why the text cannot be used; None if it can.
    """

    text: str
    tokens_in: Tokens
    tokens_out: Tokens
    time_ms: Annotated[float, Between(0, 10**9)]
    machines: Machines = UNKNOWN
    cause: Cause | None = None

    @property
    def is_worth_keeping(self) -> bool:
        """Whether asking again would be a waste."""
        return self.cause in (None, Cause.REFUSED) or self.text.strip() != ""

    def with_costs_of(self, *asked: Completion) -> Completion:
        """The same text and cause, with the sum of the costs of several completions."""
        tokens_in = [completion.tokens_in for completion in asked]
        tokens_out = [completion.tokens_out for completion in asked]
        return self._replace(
            tokens_in=None if None in tokens_in else sum(filter(None, tokens_in)),
            tokens_out=None if None in tokens_out else sum(filter(None, tokens_out)),
            time_ms=sum(completion.time_ms for completion in asked),
            machines=put_together([completion.machines for completion in asked]),
        )


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


class Exchange(NamedTuple):
    """A prompt that was sent to a model, and the text that it returned."""

    prompt: str
    response: str


class Unusable:
    """Counts the responses without usable text by their cause, over all threads and calls that share this object."""

    def __init__(self) -> None:
        self._causes: Counter[Cause] = Counter()
        self._responses = self._in_a_row = 0
        self._lock = Lock()

    def add(self, cause: Cause | None, limit: str) -> None:
        """Count a response.

        Raises:
            UnusableError: Ten in a row cannot be used, so that paying for others would tell nothing.
        """
        with self._lock:
            self._responses += 1
            self._in_a_row = 0 if cause is None else self._in_a_row + 1
            if cause is not None:
                self._causes[cause] += 1
                if self._in_a_row >= UNUSABLE_IN_A_ROW:
                    raise UnusableError(
                        f"{self._in_a_row} responses in a row have no usable text ({self.line}), which says nothing "
                        f"of what the model knows; {HELP[cause].format(limit=limit)}"
                    )

    @property
    def line(self) -> str:
        """The counts by cause; empty if all responses can be used."""
        causes = ", ".join(f"{number} {CAUSE_NAMES[cause]}" for cause, number in self._causes.items())
        return f"{causes}, of {counted(self._responses, 'response')}" if causes else ""


@dataclass(frozen=True)
class Asking:
    """How a component asks a model, the same for all items.

    Attributes:
        group: The group of the component's settings, for messages.
        max_tokens: The most tokens of one response.
        form: Returns the fields of the JSON about an item, as pydantic is slow to import; None to get texts only.
        start_will_do: Whether a text that was cut off can be used.
        go_on: How to go on after a failure.
        item: What an item is, for messages.
        limit: The setting of `max_tokens`, for messages; empty is that of the group.
        unusable: Counts the responses without usable text.
    """

    group: str
    max_tokens: int
    form: Callable[[Any], Form] | None = None
    start_will_do: bool = False
    go_on: str = "start again"
    item: str = "question"
    limit: str = ""
    unusable: Unusable = field(default_factory=Unusable, compare=False)


Work: TypeAlias = "Callable[[Item, Conversation], Result]"  # asks a model about one item


class LanguageModel(Component):
    """Base of language models. A model of your own has `complete`; all else has a default."""

    @property
    def structured(self) -> bool:
        """Whether `complete` returns JSON of a given form."""
        return False

    @property
    def context(self) -> int | None:
        """How many tokens it reads, those of its response included; None if that is not known here."""
        return None

    @property
    def usual_tokens(self) -> int | None:
        """The most tokens of a response where no setting says how many; None leaves it to whoever asks."""
        return None

    @property
    def at_once(self) -> int:
        """How many items it is asked about at a time."""
        return 1

    def complete(self, messages: Sequence[Message], max_tokens: int, form: Form | None = None) -> Completion:
        """Continue a chat, always in the same way for the same messages; it is called in several threads.

        Args:
            messages: The chat.
            max_tokens: The most tokens of the response.
            form: The fields of the JSON to return; only if the model is `structured`.

        Raises:
            TooLongError: The chat and the response are longer than the context.
        """
        raise NotImplementedError

    def option_scores(self, messages: Sequence[Message], continuations: Sequence[str]) -> OptionScores | None:
        """How likely each continuation of the chat is; a last message of the assistant is what it continues.

        None if the model does not tell, as most servers cannot.
        """
        return None

    def ask_each(self, items: Sequence[Item], work: Work[Item, Result], asking: Asking) -> list[Result]:
        """Call `work` for each item in threads; the results have the order of the items.

        After a failure, no further prompt is answered.

        Args:
            items: What the model is asked about.
            work: Asks the model about one item, in one of several threads.
            asking: How.

        Raises:
            ModelError: The model cannot be asked, its limit on tokens is reached, or most of what it returns is of no
                use.
        """

        def result(item: Item, stop: Event) -> Result:
            return work(item, Conversation(self, item, asking, stop))

        label = f"asking {getattr(self, 'model', type(self).__name__)} {counted(len(items), asking.item)}"
        with progress(label, len(items)):
            results = in_threads(result, items, self.at_once, noun=asking.item, go_on=asking.go_on)
        if asking.unusable.line:
            say_once(f"{asking.group}: no usable text: {asking.unusable.line}")
        return results


class Conversation:
    """Asks a model about one item, and notes what `complete` does not return.

    Attributes:
        structured: Whether `complete` can return JSON.
        asked_again: Requests for valid JSON, of which whoever asks does not know.
        causes: Why responses have no usable text.
    """

    def __init__(self, model: LanguageModel, item: Any, asking: Asking, stop: Event) -> None:
        self._model, self._item, self._asking, self._stop = model, item, asking, stop
        self.structured = model.structured and asking.form is not None
        self.asked_again: list[Exchange] = []
        self.causes: list[Cause] = []

    def complete(self, messages: Sequence[Message], *, as_json: bool = False) -> Completion:
        """Continue a chat.

        With `as_json`, the text is JSON of the form that was asked for. If it is not, the model is told once what is
        wrong with it. A text that stays wrong is returned as it is, and the first one where the second has no usable
        text.
        """
        form = self._asking.form(self._item) if as_json and self._asking.form else None
        first = self._asked(messages, form)
        if form is None or first.cause not in (None, Cause.EMPTY):  # the same would come again
            return self._noted(first)
        text, flaw = _checked(first.text, form)
        if flaw is None:
            return first._replace(text=text)
        reply = [Message("assistant", first.text)] if first.text else []
        correction = Message("user", f"This is not the JSON that was asked for: {flaw}. Return only this JSON.")
        messages = [*messages, *reply, correction]
        second = self._asked(messages, form)
        prompt = "\n\n".join(f"{message.role}: {message.content}" for message in messages)
        self.asked_again.append(Exchange(prompt, second.text))
        is_lost = second.cause is not None and first.text.strip()
        used = first if is_lost else second._replace(text=_checked(second.text, form)[0])
        return self._noted(used.with_costs_of(first, second))

    def option_scores(self, messages: Sequence[Message], continuations: Sequence[str]) -> OptionScores | None:
        """How likely each continuation of the chat is; None if the model does not tell."""
        if self._stop.is_set():
            raise Stopped
        return self._model.option_scores(messages, continuations)

    def _asked(self, messages: Sequence[Message], form: Form | None) -> Completion:
        if self._stop.is_set():
            raise Stopped
        asking = self._asking
        completion = self._model.complete(messages, asking.max_tokens, form)
        if completion.cause is Cause.CUT_OFF:
            will_do = asking.start_will_do and completion.text.strip()
            completion = completion._replace(cause=None) if will_do else completion._replace(text="")
        asking.unusable.add(completion.cause, asking.limit or f"{asking.group}.max_tokens")
        return completion

    def _noted(self, completion: Completion) -> Completion:
        self.causes += [] if completion.cause is None else [completion.cause]
        return completion


def most_tokens(model: LanguageModel, given: int | None, usual: int, group: str) -> int:
    """The most tokens of a response: the given number, or else the usual one, or fewer if the model writes fewer.

    Raises:
        ConfigError: The given number leaves the model less than half of its context for the prompt.
    """
    if given is not None and model.context is not None and given > model.context // 2:
        raise ConfigError(f"{group}.max_tokens: found {given}, expected at most {model.context // 2} for this model")
    return given or min(usual, model.usual_tokens or usual)


def _checked(text: str, form: Form) -> tuple[str, str | None]:
    """Read JSON of the form, also from a code block. Returns the text unchanged and its flaw if there is one."""
    from pydantic import ValidationError

    try:
        return form.model_validate(json_in(text)).model_dump_json(), None
    except MalformedError as error:
        return text, str(error)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field_name = ".".join(map(str, first["loc"]))
        return text, f"{field_name}: {first['msg']}" if field_name else first["msg"]
