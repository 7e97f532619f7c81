"""Escapes text for Markdown, so that names and queries show literally and cannot act as markup."""

from __future__ import annotations

import re
from itertools import groupby

from markupsafe import Markup

from ragsweep.core.terminal import one_line

ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "$": "&#36;", "^": "&#94;", "@": "&#64;"}
MEANING = re.compile(
    r"[\\`*\[\]|~]"  # anywhere
    r"|(?<![^\W_])_|_(?![^\W_])"  # not between letters
    r"|(?<=\w):(?=//)|(?<=www)\."  # renderers turn this into a link
    r"|(?<=\s)#"  # would end a heading
    r"|^[#+=-]",  # at the start of a line
    re.IGNORECASE,
)
NUMBERED = re.compile(r"^(\d+)(?=[.)](?:\s|$))")  # would start a numbered list


def markdown(value: object) -> str:
    """Escape a value as one line of Markdown text. `Markup` comes from our own code and stays as it is.

    Uses only escapes on which CommonMark and the renderer of MLflow agree.
    """
    if isinstance(value, Markup):
        return str(value)
    escaped = NUMBERED.sub(r"\1\\", MEANING.sub(r"\\\g<0>", one_line(str(value))))
    return "".join(ENTITIES.get(letter, letter) for letter in escaped)


def plain(text: str) -> str:
    """A line that reads the same as plain text and as Markdown: a space breaks what would be a link, image or tag."""
    return re.sub(r"(?<=\])(?=\()|(?<=<)(?=[a-z/!?])|(?<=:)(?=//)", " ", one_line(text), flags=re.IGNORECASE)


def code(text: object) -> Markup:
    """A text as inline code, enclosed in more backticks than the longest row of backticks in it."""
    line = one_line(str(text))
    longest = max((len([*run]) for letter, run in groupby(line) if letter == "`"), default=0)
    fence, space = "`" * (longest + 1), " " if longest else ""
    return Markup(f"{fence}{space}{line}{space}{fence}")
