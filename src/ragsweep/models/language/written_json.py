"""Reads the JSON that language models write: with line breaks in texts, in a code block, or among other words."""

from __future__ import annotations

import re
from typing import Any

from ragsweep.core.parsing import MalformedError, from_json
from ragsweep.models.language.reasoning_marks import split

TRAILING_COMMA = re.compile(r",(?= ?[}\]])")
FENCED = re.compile(r"```[\w-]*\s(.*?)(?:```|\Z)", re.DOTALL)


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
    """The value of the only JSON in what a model wrote, without its thoughts and the words around it.

    Raises:
        MalformedError: There is none.
    """
    text = split(text).text.strip()
    pieces = [text, *FENCED.findall(text)[:1]]
    pieces += [text[text.find(first) : text.rfind(last) + 1] for first, last in ("{}", "[]")]
    for piece in filter(None, pieces):
        try:
            return from_json_of_model(piece)
        except MalformedError:
            continue
    raise MalformedError("not JSON")
