"""Text within Markdown: whatever a name, a query or a file is called, it shows as it is written and does nothing."""

from __future__ import annotations

import re
from itertools import groupby

from markupsafe import Markup

from ragsweep.core.terminal import one_line

ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "$": "&#36;", "^": "&#94;", "@": "&#64;"}
MEANING = re.compile(
    r"[\\`*\[\]|~]"  # anywhere
    r"|(?<![^\W_])_|_(?![^\W_])"  # not between letters
    r"|(?<=\w):(?=//)|(?<=www)\."  # what renderers make a link of
    r"|(?<=\s)#"  # would close a heading
    r"|^[#+=-]",  # where a line begins
    re.IGNORECASE,
)
NUMBERED = re.compile(r"^(\d+)(?=[.)](?:\s|$))")  # the begin of a list


def markdown(value: object) -> str:
    """A value as text of one line of Markdown; `Markup` is ours and stays as it is.

    Backslashes and entities are those that CommonMark and MLflow's own renderer agree on.
    """
    if isinstance(value, Markup):
        return str(value)
    escaped = NUMBERED.sub(r"\1\\", MEANING.sub(r"\\\g<0>", one_line(str(value))))
    return "".join(ENTITIES.get(each, each) for each in escaped)


def code(text: object) -> Markup:
    """A text as Markdown's code: between more backticks than stand side by side in it."""
    line = one_line(str(text))
    longest = max((len([*run]) for each, run in groupby(line) if each == "`"), default=0)
    fence, space = "`" * (longest + 1), " " if longest else ""
    return Markup(f"{fence}{space}{line}{space}{fence}")
