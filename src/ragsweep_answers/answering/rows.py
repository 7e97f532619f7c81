"""The rows of files of answers, and the errors that all of these files can have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import starmap
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from ragsweep.core.errors import ConfigError, DatasetError
from ragsweep.datasets.readers.delimited_rows import Entry
from ragsweep.datasets.readers.entry_files import read_entries
from ragsweep.datasets.readers.fields import SHOWN_CHARACTERS, flaw_of_text, listed, shown_value

Scored = TypeVar("Scored")


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
    """An answer is to a case that is not asked.

    Attributes:
        ids: What the answer says of the case: any of its ids; empty if it tells a position only.
    """

    def __init__(self, text: str, ids: Sequence[str]) -> None:
        super().__init__(text)
        self.ids = ids


def unknown_case(where: str, case: str, known: Iterable[str], ids: Sequence[str] | None = None) -> UnknownCaseError:
    """An error about an answer to a case that the dataset does not have; its ids are `ids`, otherwise the case."""
    found = f"{where}: the dataset has no case {case[:SHOWN_CHARACTERS]!r}; its cases are {listed(known)}"
    return UnknownCaseError(found, [case] if ids is None else ids)


def samples_of(name: str | None, samples: dict[str, list[Scored]], kind: str, path: Path) -> tuple[Scored, ...]:
    """The samples of a log, as one filter or scorer left them.

    Args:
        name: Of the filter or scorer; None if there is only one.
        samples: The samples by the names.
        kind: Whether these are of filters or of scorers.
        path: The log.

    Raises:
        ConfigError: The log does not have this one, or it has several and none is chosen.
    """
    if name is None and len(samples) > 1:
        raise ConfigError(f"{path}: has several {kind}s; set answerer.filter to one of {listed(samples)}")
    if name is not None and name not in samples:
        raise ConfigError(f"answerer.filter: found {name!r}, expected a {kind} of {path}: {listed(samples)}")
    return tuple(samples[name or next(iter(samples))])
