"""Reads what a language model wrote: its text after its thoughts, the JSON in it, and why it cannot be used."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Any

from ragsweep.core.parsing import MalformedError, from_json


class Cause(StrEnum):
    """Why a response has no usable text, other than that the model did not know better."""

    CUT_OFF = "cut_off"
    EMPTY = "empty"
    TOOL_CALL = "tool_call"
    REFUSED = "refused"


CAUSE_NAMES = {cause: cause.replace("_", " ") for cause in Cause}  # in words
HELP = {
    Cause.CUT_OFF: "a larger {limit} lets the model come to its end",
    Cause.EMPTY: "see what the endpoint returns; its server has to part the thoughts from the text",
    Cause.TOOL_CALL: "let the server offer no tools, or use another language_model.model",
    Cause.REFUSED: "use another language_model.model, or an endpoint that filters less",
}
FINISHED = {
    "length": Cause.CUT_OFF,
    "content_filter": Cause.REFUSED,
    "tool_calls": Cause.TOOL_CALL,
    "function_call": Cause.TOOL_CALL,
}
NAMES = r"(?:think(?:ing)?|thoughts?|reasoning|analysis)"
THOUGHTS = re.compile(rf"(?:\A|<{NAMES}>).*?(?:</{NAMES}>|\Z)", re.DOTALL | re.IGNORECASE)
THINKS = re.compile(rf"\s*<{NAMES}>|.*</{NAMES}>", re.DOTALL | re.IGNORECASE)
MARK = re.compile(
    rf"</?{NAMES}>|\[/?THINK\]|◁/?think▷|<\|(?:channel|message|(?:begin|end)_of_thought)\|>", re.IGNORECASE
)
TOOL = re.compile(r"\s*(?:<\|?tool_calls?\b|\[TOOL_CALLS\]|<\|python_tag\|>|<function(?:=|_calls>)|<tool_code>)")
REFUSES = re.compile(
    r"(?!.*\b(?:answers?(?: is|:| would)|however|but (?!I\b)))"
    r"(?:(?:I['\u2019]m |I am |very )*sorry,|(?:unfortunately, )?I (?:cannot|can['\u2019]t|am unable to|won['\u2019]t) "
    r"(?:assist|help|answer|provide|comply|do that|create)\b|as an AI\b)",
    re.IGNORECASE | re.DOTALL,
)
LONGEST_REFUSAL = 400  # characters
TRAILING_COMMA = re.compile(r",(?= ?[}\]])")


def without_thoughts(text: str) -> str:
    """The text after `<think>...</think>`, whose start may be in the prompt; "" if marks are left.

    A text that still has marks of thoughts or of channels could be a thought, which states no answer. JSON is left
    alone, whatever its texts contain.
    """
    if text.lstrip().startswith("{") or not MARK.search(text):
        return text
    answer = THOUGHTS.sub("", text).strip() if THINKS.match(text) else text
    return "" if MARK.search(answer) else answer


def is_refusal(text: str) -> bool:
    """Whether a short text does nothing but refuse, in English words."""
    return len(text) <= LONGEST_REFUSAL and REFUSES.match(text.strip()) is not None


def read_choice(choice: Any) -> tuple[str, Cause | None]:
    """The text of a choice of a chat completion, and why it cannot be used; what was cut off is given.

    Args:
        choice: As the client returns it.

    Raises:
        MalformedError: The server failed within it, or it has no message.
    """
    message, finish, content = getattr(choice, "message", None), str(getattr(choice, "finish_reason", None)), ""
    if message is None or finish == "error":
        raise MalformedError(f"broke off at the server (finish_reason {finish})")
    if isinstance(message.content, list):  # parts, of which some servers make thoughts
        content = "".join(part["text"] for part in message.content if part.get("type") == "text")
    elif isinstance(message.content, str):
        content = message.content
    text = without_thoughts(content)
    cause = Cause.REFUSED if message.refusal or is_refusal(text) else FINISHED.get(finish)
    if cause is None or (cause is Cause.TOOL_CALL and text.strip()):
        cause = None if text.strip() else Cause.TOOL_CALL if message.tool_calls else Cause.EMPTY
    if TOOL.match(text):  # a call that the server passed on as text
        cause = Cause.TOOL_CALL
    return (text if cause in (None, Cause.CUT_OFF) else ""), cause


def from_json_of_model(text: str) -> Any:
    """The value of a JSON text, also with line breaks in its texts and commas before closing brackets.

    Raises:
        MalformedError: It is not JSON for another reason.
    """
    try:
        return from_json(text, allow_nan=True)
    except MalformedError:
        return from_json(TRAILING_COMMA.sub("", " ".join(text.split())), allow_nan=True)


def json_in(text: str) -> Any:
    """The value of the JSON in what a model wrote, without its thoughts, a code fence and words around it.

    Raises:
        MalformedError: There is none.
    """
    text = without_thoughts(text).strip()
    pieces = [text, *(text[text.find(first) : text.rfind(last) + 1] for first, last in ("{}", "[]"))]
    for piece in filter(None, pieces):
        try:
            return from_json_of_model(piece)
        except MalformedError:
            continue
    raise MalformedError("not JSON")


def grade_in(text: str, highest: int) -> int | None:
    """The field `grade` of the JSON in a text, a whole number from 0 to `highest`; None if it is not there."""
    try:
        value = json_in(text)
    except MalformedError:
        return None
    grade = value.get("grade") if isinstance(value, dict) else None
    return grade if type(grade) is int and 0 <= grade <= highest else None
