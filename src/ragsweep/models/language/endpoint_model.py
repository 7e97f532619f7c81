"""A language model that is asked through requests, and that returns validated JSON where it is asked to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ragsweep.core.parsing import MalformedError
from ragsweep.core.timing import machines_in, put_together
from ragsweep.models.language.language_model import Completion, Exchange, Message
from ragsweep.models.language.response import Cause
from ragsweep.models.language.written_json import json_in

if TYPE_CHECKING:
    from pydantic import BaseModel

Response = Mapping[str, Any]  # as `Endpoint.send` returns it
Ask = Callable[[Sequence[Message], bool], Response]
Fields = Callable[[], "type[BaseModel]"]


class EndpointModel:
    """The model that is asked about one thing, such as a question; a `LanguageModel` that `NotesFailures`.

    Attributes:
        structured: Whether `complete` can return JSON.
        asked_again: Requests for valid JSON, of which whoever asks does not know.
        causes: Why responses have no usable text.
    """

    def __init__(self, ask: Ask, fields: Fields | None) -> None:
        """A model of requests.

        Args:
            ask: Returns the response to messages; its second argument says whether that must be JSON.
            fields: Returns the fields of the JSON; None if it cannot be JSON.
        """
        self._ask, self._fields = ask, fields
        self.structured = fields is not None
        self.asked_again: list[Exchange] = []
        self.causes: list[Cause] = []

    def complete(self, messages: Sequence[Message], *, as_json: bool = False) -> Completion:
        """Continue a chat.

        With `as_json`, the text is JSON with the fields of this model. If it is not, the model is told once what is
        wrong with it. A text that stays wrong is returned as it is, and the first one where the second has no usable
        text.
        """
        response = self._asked(messages, as_json)
        if not as_json or response.get("cause") not in (None, Cause.EMPTY):  # the same would come again
            return _completion(response["text"], [response])
        text, flaw = self._checked(response["text"])
        if flaw is None:
            return _completion(text, [response])
        said = [Message("assistant", response["text"])] if response["text"] else []
        correction = Message("user", f"This is not the JSON that was asked for: {flaw}. Return only this JSON.")
        messages = [*messages, *said, correction]
        second = self._asked(messages, as_json)
        prompt = "\n\n".join(f"{message.role}: {message.content}" for message in messages)
        self.asked_again.append(Exchange(prompt, second["text"]))
        if second.get("cause") is not None and text.strip():
            self.causes.pop()
            return _completion(text, [response, second])
        return _completion(self._checked(second["text"])[0], [response, second])

    def _asked(self, messages: Sequence[Message], as_json: bool) -> Response:
        response = self._ask(messages, as_json)
        if (cause := response.get("cause")) is not None:
            self.causes.append(Cause(cause))
        return response

    def _checked(self, text: str) -> tuple[str, str | None]:
        """JSON of the validated fields, also from a code block; or the text as it is, and what is wrong with it."""
        from pydantic import ValidationError

        assert self._fields is not None  # as it is `structured`
        try:
            return self._fields().model_validate(json_in(text)).model_dump_json(), None
        except MalformedError as error:
            return text, str(error)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            field = ".".join(map(str, first["loc"]))
            return text, f"{field}: {first['msg']}" if field else first["msg"]


def response_format(name: str, fields: type[BaseModel]) -> dict[str, Any]:
    """The parameter of a request that asks for JSON with these fields."""
    schema = fields.model_json_schema()
    return {"type": "json_schema", "json_schema": {"name": name, "strict": True, "schema": schema}}


def _completion(text: str, responses: Sequence[Response]) -> Completion:
    return Completion(
        text,
        _total(responses, "tokens_in"),
        _total(responses, "tokens_out"),
        sum(each["time_ms"] for each in responses),
        put_together([machines_in(each.get("machines")) for each in responses]),
    )


def _total(responses: Sequence[Response], what: str) -> int | None:
    numbers = [response[what] for response in responses]
    return None if None in numbers else sum(numbers)
