"""The fields of an answer that a model returns as JSON. Each is read by itself: a bad one costs no other."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, partial
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, ConfigDict, WithJsonSchema, create_model, model_validator

from ragsweep.core.parsing import MalformedError
from ragsweep.models.language.response import from_json_of_model, without_thoughts

NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")  # float() also takes 1_000
STATED = re.compile(
    r"^\W{0,9}confidence\W{0,3}:[\s*]{0,9}(?P<number>(?:[0-9]{1,9}(?:\.[0-9]{1,9})?|\.[0-9]{1,9})\s?%?)\W{0,9}$", re.I
)


class AnswerFields(BaseModel):
    """An answer to a multiple-choice question.

    A model writes the fields in this order, so that it reasons before it commits itself to a letter. It is asked for
    all of them, in these types. What it returns is good enough without any of them but the answer: `json_answer` reads
    each of the others by itself.

    Attributes:
        steps: The reasoning, one step each.
        cited: Numbers of the passages that the reasoning uses, as in the prompt, from 1.
        answer: Letter of the chosen option.
        confidence: Probability that this option is correct, 0 to 1.
    """

    model_config = ConfigDict(extra="ignore", strict=True, json_schema_extra={"additionalProperties": False})

    steps: Annotated[Any, WithJsonSchema({"type": "array", "items": {"type": "string"}})]
    cited: Annotated[Any, WithJsonSchema({"type": "array", "items": {"type": "integer"}})]
    answer: str
    confidence: Annotated[Any, WithJsonSchema({"type": "number", "minimum": 0, "maximum": 1})]

    @model_validator(mode="before")
    @classmethod
    def _with_all_fields(cls, given: Any) -> Any:
        """Fields that are missing are null. They may be in upper case, and those of the only object of a list."""
        given = given[0] if isinstance(given, list) and len(given) == 1 else given
        if not isinstance(given, dict):
            return given
        return {"steps": None, "cited": None, "confidence": None} | {name.lower(): given[name] for name in given}


@cache
def fields_of(letters: str) -> type[AnswerFields]:
    """The fields of an answer to a question whose options have these letters: the schema allows no other ones.

    A server that does not follow the schema is not asked again for a letter, as `json_answer` reads "B. Metoprolol".
    """
    answer = Annotated[str, WithJsonSchema({"type": "string", "enum": [*letters]})]
    return create_model("AnswerFields", __base__=AnswerFields, __doc__=AnswerFields.__doc__, answer=(answer, ...))


class JsonAnswer(NamedTuple):
    """The fields of an answer.

    Attributes:
        answer: The text of the field.
        steps: The reasoning, one step each.
        cited: Numbers of passages.
        confidence: 0 to 1; None if there is none.
        lost: Names of the fields that could not be used: out of range, or of another type.
        missing: Names of the fields that are missing or null.
    """

    answer: str
    steps: tuple[str, ...]
    cited: tuple[int, ...]
    confidence: float | None
    lost: tuple[str, ...]
    missing: tuple[str, ...]


def read_json_answer(text: str, *, scale: float = 1) -> JsonAnswer | None:
    """The fields of an answer.

    Args:
        text: What a model returned.
        scale: What its confidences are divided by, except those with a percent sign.

    Returns:
        None if the text is not a JSON object whose field `answer` is a text, perhaps in a code block.
    """
    record = read_json_object(text)
    if record is None or not isinstance(record.get("answer"), str):
        return None
    confidence = partial(probability_of, scale=scale)
    readers: dict[str, Callable[[object], Any]] = {"steps": _steps, "cited": _cited, "confidence": confidence}
    values = {name: read(record[name]) for name, read in readers.items() if record.get(name) is not None}
    return JsonAnswer(
        record["answer"],
        values.get("steps") or (),
        values.get("cited") or (),
        values.get("confidence"),
        lost=tuple(name for name, value in values.items() if value is None),
        missing=tuple(name for name in readers if name not in values),
    )


def read_json_object(text: str) -> dict[str, Any] | None:
    """The JSON object that a text is, without what a model thought before it and the code block around it."""
    text = without_thoughts(text).strip()
    text = text.partition("\n")[2].removesuffix("```") if text.startswith("```") else text
    try:
        record = from_json_of_model(text)
    except MalformedError:
        return None
    return record if isinstance(record, dict) else None


def read_confidence(text: str, scale: float | None = None) -> float | None:
    """The confidence in the last line of a text, such as `Confidence: 85%`, or in the line before; None without one.

    Args:
        text: What a model wrote.
        scale: What a number without a percent sign is divided by; None takes only one with the sign.
    """
    lines = [line for line in without_thoughts(text).splitlines() if line.strip()]
    stated = [form["number"] for form in map(STATED.match, lines[-2:]) if form]
    number = stated[-1] if stated else None
    return probability_of(number, scale or 1) if number and (scale or number.endswith("%")) else None


def number_of(value: Any) -> Any:
    """The number that a text contains; any other value as it is."""
    return float(value) if isinstance(value, str) and NUMBER.fullmatch(value.strip()) else value


def probability_of(value: object, scale: float = 1) -> float | None:
    """A number from 0 to 1, also as a text, such as "0.7" or "70%"; None if the value is anything else.

    Args:
        value: The value of a field.
        scale: What it is divided by, unless it has a percent sign.
    """
    if isinstance(value, str) and value.strip().endswith("%"):
        value, scale = value.strip().removesuffix("%"), 100
    number = number_of(value)
    return number / scale if type(number) in (int, float) and 0 <= number <= scale else None


def _steps(value: object) -> tuple[str, ...] | None:
    """Texts in a list, or one text."""
    steps = [value] if isinstance(value, str) else value
    return tuple(steps) if isinstance(steps, list) and all(isinstance(step, str) for step in steps) else None


def _cited(value: object) -> tuple[int, ...] | None:
    """Whole numbers in a list, or one of them, also as texts."""
    cited = value if isinstance(value, list) else [value]
    numbers = [number_of(number.strip(" []") if isinstance(number, str) else number) for number in cited]  # [3]
    are_whole = all(type(number) in (int, float) and number == number // 1 for number in numbers)
    return tuple(map(int, numbers)) if are_whole else None
