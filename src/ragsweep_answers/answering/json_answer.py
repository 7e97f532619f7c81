"""Reads an answer that a model returned as JSON. Each field is read by itself: a bad one costs no other."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

from ragsweep.core.parsing import MalformedError
from ragsweep.models.language.reasoning_marks import split
from ragsweep.models.language.written_json import from_json_of_model
from ragsweep_answers.answering.answer_words import SO

NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")  # float() also takes 1_000
WHOLE = re.compile(r"\s*\[?\s*([0-9]{1,4})\s*\]?\s*")  # 3 or [3]
FRACTION = re.compile(
    rf"\s*(?!1\s*\D+[2-9]\s*$)(?P<number>{NUMBER.pattern})\s*(?:/|out\s+of)\s*(?P<whole>100?|20|[2-9])\s*", re.I
)  # 8/10
ANSWER_FIELD = re.compile(
    r"(?:(?:final|correct|best|my|selected|chosen)[ _-]?)?(?:answer|choice|option|letter)"
    r"(?:[ _-]?(?:choice|option|letter))?",
    re.I,
)
WRITTEN_FIELD = re.compile(  # 'answer': 'B', in an object that is not JSON
    rf"(?P<quote>[\"'])(?i:{ANSWER_FIELD.pattern})(?P=quote)\s*:\s*(?P<end>[\"'])(?P<value>(?:(?!(?P=end))[^\\\n]|\\.){{0,500}})(?P=end)"
)
OBJECT = re.compile(r"\{[^{}]*\}")
CORRECTION = re.compile(  # {"answer": "A"} Wait, {"answer": "B"}
    rf"{SO}|\b(?:final\w*|correct\w*|revised|updated)\b", re.I
)


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
    try:
        found = from_json_of_model(_bare(text))
    except MalformedError:
        return None
    if not isinstance(found, dict) or not isinstance(found.get("answer"), str):
        return None
    confidence = partial(probability_of, scale=scale)
    readers: dict[str, Callable[[object], Any]] = {"steps": _steps, "cited": _cited, "confidence": confidence}
    values = {name: read(found[name]) for name, read in readers.items() if found.get(name) is not None}
    return JsonAnswer(
        found["answer"],
        values.get("steps") or (),
        values.get("cited") or (),
        values.get("confidence"),
        lost=tuple(name for name, value in values.items() if value is None),
        missing=tuple(name for name in readers if name not in values),
    )


def has_answer_field(text: str) -> bool:
    """Whether an object in a text has a field that gives an answer."""
    return answer_in_json(text) != text


def answer_in_json(text: str, *, numbered: bool = False) -> str:
    """The answer in a JSON object, with what follows the object; other texts as they are.

    Empty if several objects give different answers, uncorrected. A number is an answer if options are `numbered`.
    """
    start, end = text.find("{"), text.rfind("}") + 1
    try:
        found = from_json_of_model(text[start:end]) if 0 <= start < end else None
    except MalformedError:
        given = {match["value"] for match in WRITTEN_FIELD.finditer(text)}
        if len(given) == 1:
            return f"Answer: {given.pop()}\n{text[end:]}"
        return text if not given or any(map(CORRECTION.search, OBJECT.split(text)[1:-1])) else ""
    inner = found.values() if isinstance(found, dict) else ()
    answers = list(_answers(found)) or [answer for each in inner for answer in _answers(each)]
    if not answers:
        return text
    if any(answer != answers[0] for answer in answers) or type(answers[0]) not in ((str, int) if numbered else (str,)):
        return ""
    return f"Answer: {answers[0]}\n{text[end:]}"


def _answers(found: Any) -> Iterator[Any]:
    """The fields of an object that give an answer, also as an object, as in {"answer": {"letter": "B"}}."""
    for name, value in found.items() if isinstance(found, dict) else ():
        if ANSWER_FIELD.fullmatch(name):
            yield from _answers(value) if isinstance(value, dict) and value else [value]


def _bare(text: str) -> str:
    """A text without what a model thought before it, and without the fence of a code block around it."""
    text = split(text).text.strip()
    return text.partition("\n")[2].removesuffix("```") if text.startswith("```") else text


def number_of(value: Any) -> Any:
    """The number that a text contains; any other value as it is."""
    return float(value) if isinstance(value, str) and NUMBER.fullmatch(value.strip()) else value


def probability_of(value: object, scale: float = 1) -> float | None:
    """A number from 0 to 1, also as a text, such as "0.7", "70%" or "7/10"; None if the value is anything else.

    Args:
        value: The value of a field.
        scale: What it is divided by, unless it has a percent sign or is a fraction.
    """
    if isinstance(value, str) and (fraction := FRACTION.fullmatch(value)):
        value, scale = fraction["number"], float(fraction["whole"])
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
    numbers = [_whole(each) for each in (value if isinstance(value, list) else [value])]
    known = tuple(number for number in numbers if number is not None)
    return known if len(known) == len(numbers) else None


def _whole(value: Any) -> int | None:
    if isinstance(value, str):
        found = WHOLE.fullmatch(value)
        return int(found[1]) if found else None
    return int(value) if type(value) in (int, float) and value == value // 1 else None
