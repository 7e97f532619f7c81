"""The rows of files of answers, and the errors that all of these files can have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import starmap
from pathlib import Path
from typing import Any, NamedTuple

from ragsweep.core.errors import DatasetError
from ragsweep.datasets.readers.fields import SHOWN_CHARACTERS, Entry, flaw_of_text, listed, shown_value
from ragsweep.datasets.readers.tables import read_entries

LOGS = "docs/answers.md turns logs of lm-evaluation-harness and Inspect into a table"


class Row(NamedTuple):
    """A row of a file: its place, for error messages, and its fields by name."""

    where: str
    fields: Entry

    def field(self, name: str, kind: type | tuple[type, ...], expected: str) -> Any:
        """The value of a field; None if it is null or absent. Raises `DatasetError` if it is something else."""
        value = self.fields.get(name)
        if value is None:
            return None
        if not isinstance(value, kind) or isinstance(value, bool):
            raise self.error(name, expected)
        if isinstance(value, str) and (flaw := flaw_of_text(value)):
            raise DatasetError(f"{self.where}: the field {name!r} {flaw}")
        return value

    def error(self, name: str, expected: str) -> DatasetError:
        """An error about the value of a field."""
        return DatasetError(
            f"{self.where}: the field {name!r} is {shown_value(self.fields[name])}; expected {expected}"
        )


def read_rows(path: Path) -> Iterator[Row]:
    """The rows of a file. NaN may be in it: programs write it into fields that are not read.

    Raises:
        DatasetError: The file or a row cannot be read.
    """
    return starmap(Row, read_entries(path, "answers", setting="answerer.path", allow_nan=True))


class UnknownCaseError(DatasetError):
    """An answer is to a case that is not asked."""


def unknown_case(where: str, case: str, known: Iterable[str]) -> UnknownCaseError:
    """An error about an answer to a case that the dataset does not have."""
    unknown = f"the dataset has no case {case[:SHOWN_CHARACTERS]!r}"
    return UnknownCaseError(f"{where}: {unknown}; its cases are {listed(known)}")
