"""Reads lists and dictionaries as Python and numpy write them, such as `['34', '35']` and `['34' '35']`.

A table that was written by pandas has them in its cells. Nothing is evaluated.
"""

from __future__ import annotations

import re
from typing import Any

from ragsweep.core.parsing import DEEPEST_NESTING, MalformedError

LONGEST_LITERAL = 1_000_000  # characters
TOKEN = re.compile(
    r"""\s*(?:
        (?P<begin>array\(\[|np\.(?:u?int[0-9]+|float[0-9]+|str_)\(|[\[({])
      | (?P<end>[\])}])
      | (?P<mark>[,:])
      | (?P<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
      | (?P<number>[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?)
      | (?P<name>True|False|None)
    )""",
    re.VERBOSE | re.DOTALL,
)
END_OF_ARRAY = re.compile(r"\s*(?:,\s*dtype=[\w'<>.]{1,30})?\s*\)")
ENDS = {"[": "]", "(": ")", "{": "}", "array([": "]"}
NAMES = {"True": True, "False": False, "None": None}
ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)
ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"'}


class _Open:
    """A list, a dictionary or a number of numpy whose end has not been read yet."""

    def __init__(self, begin: str) -> None:
        self.begin = begin
        self.values: list[Any] = []  # of a dictionary: keys and values in turn
        self.colons = 0

    def closed(self) -> Any:
        """The value; raises `MalformedError` if it is none."""
        if self.begin.startswith("np.") and len(self.values) == 1:
            return self.values[0]
        if self.begin == "{" and (self.colons or not self.values):
            keys = self.values[::2]
            complete = len(self.values) == 2 * self.colons == 2 * len({*map(repr, keys)})
            if complete and all(isinstance(key, str | int) for key in keys):
                return dict(zip(keys, self.values[1::2], strict=True))
        elif not self.colons:
            return self.values
        raise MalformedError("not a list of Python")


def from_python(text: str) -> Any:
    """The list or dictionary that a text shows, with texts, numbers, truth values, None and further ones in it.

    A tuple, a set and an array of numpy become a list. Between the items of an array there need not be commas.

    Raises:
        MalformedError: It is none, too long, or nested deeper than `DEEPEST_NESTING`.
    """
    if len(text) > LONGEST_LITERAL:
        raise MalformedError(f"longer than {LONGEST_LITERAL:,} characters")
    at = 0
    open_ones = [_Open("")]  # the outermost holds the result
    while token := TOKEN.match(text, at):
        at = token.end()
        kind, found = str(token.lastgroup), token[str(token.lastgroup)]
        if kind == "begin":
            open_ones.append(_Open(found))
            if len(open_ones) > DEEPEST_NESTING:
                raise MalformedError(f"nested more than {DEEPEST_NESTING} deep")
        elif kind == "mark":
            open_ones[-1].colons += found == ":"
        elif kind == "end":
            value, at = _closed(open_ones.pop(), found, text, at)
            open_ones[-1].values.append(value)
        else:
            open_ones[-1].values.append(_value(kind, found))
    outermost = open_ones[0] if len(open_ones) == 1 else None
    if outermost is None or text[at:].strip() or outermost.colons or len(outermost.values) != 1:
        raise MalformedError("not a list of Python")
    return outermost.values[0]


def _closed(made: _Open, end: str, text: str, at: int) -> tuple[Any, int]:
    """The value that ends here, and where the text goes on."""
    if ENDS.get(made.begin, ")") != end or not made.begin:
        raise MalformedError("not a list of Python")
    if made.begin == "array([":
        if not (rest := END_OF_ARRAY.match(text, at)):
            raise MalformedError("not a list of Python")
        at = rest.end()
    return made.closed(), at


def _value(kind: str, found: str) -> Any:
    if kind == "text":
        return ESCAPE.sub(_unescaped, found[1:-1])
    if kind == "name":
        return NAMES[found]
    if len(found) > 30:  # Python takes long to convert thousands of digits, and refuses in the end
        raise MalformedError("a number has more than 30 digits")
    return int(found) if found.lstrip("+-").isdecimal() else float(found)


def _unescaped(escape: re.Match[str]) -> str:
    code = escape[1]
    if code[0] in "xuU" and len(code) > 1:
        number = int(code[1:], 16)
        if number > 0x10FFFF:
            raise MalformedError(f"the escape {escape[0]} is no character")
        return chr(number)
    return ESCAPED.get(code, escape[0])
