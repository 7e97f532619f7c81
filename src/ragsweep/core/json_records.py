"""Writes objects as JSON and reads untrusted JSON as one; the annotations of their class say what is valid."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from ragsweep.core.parsing import MalformedError, from_json
from ragsweep.core.terminal import one_line, shortened

if TYPE_CHECKING:
    from pydantic import TypeAdapter, ValidationError

T = TypeVar("T")

FAULTS_READ = 1000  # listing a million takes gigabytes


def from_record(kind: type[T], text: str) -> T:
    """The object that a JSON text describes. No value is converted, except whole numbers where any number may be.

    Args:
        kind: Its class: a dataclass or named tuple, whose field `schema`, if any, is the literal that it can read.
        text: The text.

    Raises:
        MalformedError: `from_json` refuses the text; or a field is missing, or has another type or value than the
            class says.
    """
    from pydantic import ValidationError

    from_json(text)  # pydantic accepts NaN, fields that occur twice, and deep nesting
    reader: TypeAdapter[T] = _reader(kind)  # type: ignore[arg-type]  # every class can be hashed; mypy doubts type[T]
    try:
        return reader.validate_json(text, strict=True)
    except ValidationError as error:
        raise MalformedError(one_line(_in_words(error))) from error


def as_record(kind: type[Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of an object of a class as JSON-compatible values, for `from_record`; without those that are None.

    Raises:
        pydantic.ValidationError: The object cannot have these values.
    """
    adapter: TypeAdapter[Any] = _reader(kind)  # type: ignore[arg-type]  # every class can be hashed
    recorded: dict[str, Any] = adapter.dump_python(adapter.validate_python(values), mode="json", exclude_none=True)
    return recorded


@cache
def _reader(kind: type[Any]) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


def _in_words(error: ValidationError) -> str:
    """The first fault of a record, with the path of the field."""
    if error.error_count() > FAULTS_READ:
        return f"{error.error_count():,} of its fields have the wrong type"
    faults = error.errors(include_url=False)
    first = min(faults, key=lambda fault: fault["loc"] not in (("schema",), ("version",)))
    place = shortened(".".join(map(str, first["loc"])))
    if place in ("schema", "version"):
        value = "none" if first["type"] == "missing" else shortened(str(first["input"]))
        expected = first["ctx"]["expected"] if first["type"] == "literal_error" else "another one"
        return f"{place}: found {value}, expected {expected}; install the newest ragsweep, which may read others"
    reason = first["msg"].removeprefix("Value error, ").replace("Input should be", "expected")
    return f"{place}: {reason}" if place else reason
