"""Reads JSON and YAML from untrusted sources, with limits on size and depth, so that reading always ends soon."""

from __future__ import annotations

import gzip
import io
import json
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, NoReturn

import yaml

DEEPEST_NESTING = 50  # levels of nested lists and objects
MB = 10**6
ZIPPED = ("gzip", "x-gzip", "deflate")
GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS  # what zlib tells from the first bytes
LONGEST_NAME = 40  # of a kind of packing that is shown


class MalformedError(ValueError):
    """A text that is not what it should be; says in a few words what is wrong with it.

    Attributes:
        line: The line of a JSON syntax error, from 1, or of a faulty value of several; None for any other fault.
    """

    line: int | None = None


def from_json(text: str, *, allow_nan: bool = False) -> Any:
    """The value that a JSON text stands for.

    Args:
        text: Of a single value.
        allow_nan: Whether NaN and infinities may be in it, which many programs write although JSON has none.

    Raises:
        MalformedError: It is not JSON, nested deeper than `DEEPEST_NESTING`, has a field twice, or has a number that is
            not finite or of thousands of digits.
    """
    try:
        value = (WITH_NAN if allow_nan else JSON).decode(text)
        # It cannot be deeper than it has brackets, and counting them is faster than walking through a million lines.
        return value if text.count("[") + text.count("{") <= DEEPEST_NESTING else _shallow(value)
    except MalformedError:
        raise
    except json.JSONDecodeError as error:
        malformed = MalformedError(f"not JSON ({error.msg}, line {error.lineno}, column {error.colno})")
        malformed.line = error.lineno
        raise malformed from error
    except RecursionError as error:
        raise MalformedError(f"nested more than {DEEPEST_NESTING} deep") from error
    except ValueError as error:
        raise MalformedError("a number has thousands of digits") from error  # which Python refuses to convert


def unzipped(content: bytes, packed: str | None, most_mb: float) -> bytes:
    """Decompress a server's response if it is compressed; some servers do that unasked.

    Args:
        content: What has arrived.
        packed: How, as in the header Content-Encoding.
        most_mb: Largest size, also unzipped, in megabytes (10^6 bytes).

    Raises:
        MalformedError: It is too large, packed in another way than by zlib, or cut off.
    """
    most, packed = int(most_mb * MB), (packed or "identity").lower()
    if packed not in (*ZIPPED, "identity"):
        raise MalformedError(f"is packed as {packed[:LONGEST_NAME]!r}, which was not asked for")
    if packed in ZIPPED and len(content) <= most:
        unzipping = zlib.decompressobj(GZIP_OR_ZLIB)
        try:
            content = unzipping.decompress(content, most + 1)
        except zlib.error:
            raise MalformedError("cannot be unzipped") from None
        if len(content) <= most and (not unzipping.eof or unzipping.unused_data.strip(b"\0")):
            raise MalformedError("cannot be unzipped to its end")
    if len(content) > most:
        raise MalformedError(f"is larger than {most_mb:g} MB")
    return content


def from_yaml(text: str) -> Any:
    """The value that a YAML text stands for: plain values only, and no aliases, which could expand to gigabytes.

    Raises:
        MalformedError: It is not such YAML, or nested deeper than `DEEPEST_NESTING`.
    """
    try:
        return _shallow(yaml.load(text, _NoAliases))  # a SafeLoader
    except yaml.YAMLError as error:
        problem, mark = (error.problem, error.problem_mark) if isinstance(error, yaml.MarkedYAMLError) else (None, None)
        place = f", line {mark.line + 1}" if mark else ""
        raise MalformedError(f"not plain YAML ({problem or 'unreadable'}{place})") from error
    except RecursionError as error:
        raise MalformedError(f"nested more than {DEEPEST_NESTING} deep") from error
    except MalformedError:
        raise
    except ValueError as error:  # a number with thousands of digits, or an impossible date
        raise MalformedError("a value cannot be converted") from error


def read_text(path: Path, most_mb: float) -> str:
    """The text of a UTF-8 file, with or without a byte order mark. A name that ends in `.gz` is unzipped.

    Args:
        path: The file.
        most_mb: Largest size, unzipped, in megabytes (10^6 bytes).

    Raises:
        MalformedError: It is in another encoding, not a plain file, cannot be unzipped, or too large.
        OSError: It cannot be read.
    """
    with _opened(path) as file:
        content = file.read(int(most_mb * MB) + 1)
    if len(content) > most_mb * MB:
        raise MalformedError(f"larger than {most_mb:g} MB")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise MalformedError(f"not UTF-8 (line {line})") from error


def read_lines(path: Path, most_mb: float) -> Iterator[tuple[int, str]]:
    """The lines of a text in UTF-8, with or without a byte order mark, each with its number from 1.

    Holds one line at a time, so that a file may be larger than the memory. A name that ends in `.gz` is unzipped.

    Raises:
        MalformedError: It is in another encoding, not a plain file, cannot be unzipped, or a line is larger than
            `most_mb` megabytes (10^6 bytes).
        OSError: It cannot be read.
    """
    longest = int(most_mb * MB)
    with _opened(path) as file:
        for number in count(1):
            line = file.readline(longest + 1)
            if not line:
                return
            if len(line) > longest:
                raise MalformedError(f"larger than {most_mb:g} MB (line {number})")
            try:
                text = line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeError as error:
                raise MalformedError(f"not UTF-8 (line {number})") from error
            yield number, text


@contextmanager
def _opened(path: Path) -> Iterator[gzip.GzipFile | io.BufferedReader]:
    """A file of bytes, unzipped where its name ends in `.gz`."""
    if path.exists() and not path.is_file():  # reading a pipe could block
        raise MalformedError("not a file")
    with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
        try:
            yield file
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise MalformedError(f"cannot be unzipped to its end ({error})") from error


class _NoAliases(yaml.SafeLoader):  # type: ignore[misc]
    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise MalformedError(f"holds an alias (line {self.peek_event().start_mark.line + 1})")
        return super().compose_node(parent, index)


def _not_finite(word: str) -> NoReturn:
    raise MalformedError(f"holds {word}, which is no JSON number")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; for a repeated field, Python would silently keep only the last value."""
    values = dict(pairs)
    if len(values) < len(pairs):
        times = Counter(name for name, _ in pairs)
        twice = next(name for name, number in times.items() if number > 1)
        raise MalformedError(f"an object has the field {twice[:80]!r} twice")
    return values


WITH_NAN = json.JSONDecoder(object_pairs_hook=_object)
# Made once, since files with one JSON object per line have millions of lines.
JSON = json.JSONDecoder(parse_constant=_not_finite, object_pairs_hook=_object)


def _shallow(value: Any, levels: int = DEEPEST_NESTING) -> Any:
    """The value; raises `MalformedError` where it is nested too deeply to be walked through."""
    if isinstance(value, dict | list):
        if not levels:
            raise MalformedError(f"nested more than {DEEPEST_NESTING} deep")
        for inner in value.values() if isinstance(value, dict) else value:
            _shallow(inner, levels - 1)
    return value
