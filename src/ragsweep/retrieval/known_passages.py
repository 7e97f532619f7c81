"""Finds the passages that the documents of another system's rankings stand for."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import unquote

from ragsweep.core.arrays import NOTHING
from ragsweep.core.errors import DatasetError
from ragsweep.core.trec_files import NOTHING_RETRIEVED
from ragsweep.retrieval.ranking import Names
from ragsweep.text.normalisation import composed, same_name

LONGEST_NAME_SHOWN = 80  # characters of a name in a message


class KnownPassages:
    """Finds the passages that the documents of a file stand for."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._of_unit: dict[str, list[int]] = {}
        for passage, unit in enumerate(names.units):
            self._of_unit.setdefault(composed(unit), []).append(passage)
        self._passages = {composed(name): passage for passage, name in enumerate(names.passages)}
        self._without_passage = set(map(composed, names.without_passage))
        self._places: dict[tuple[str, bool], tuple[int, int] | None] = {}

    def place(self, document: str, ours: bool, where: str) -> tuple[int, int] | None:
        """The first passage of its unit, and the passage or `NOTHING`; None if nothing was retrieved.

        Args:
            document: As the file has it.
            ours: Whether ragsweep has written the line.
            where: The place of the line, for error messages.

        Raises:
            DatasetError: The dataset does not have such a document, or it has no passage that could hold the rank.
        """
        if (document, ours) not in self._places:
            self._places[document, ours] = self._find(document, ours, where)
        return self._places[document, ours]

    def in_unit_of(self, passage: int) -> list[int]:
        """The passages of the unit that a passage is in."""
        return self._of_unit[composed(self._names.units[passage])]

    def _find(self, document: str, ours: bool, where: str) -> tuple[int, int] | None:
        for name in readings(document, ours):
            if name in self._of_unit:
                return self._of_unit[name][0], NOTHING
            passage = self._passages.get(name, next(self._repeated(name), None))
            if passage is not None:
                return self.in_unit_of(passage)[0], passage
            if name in self._without_passage:  # leaving it out would move the later ones up
                expected = "expected documents with text (delete its lines if the ranks below may move up)"
                raise DatasetError(
                    f"{where}: found {name[:LONGEST_NAME_SHOWN]!r}, which has no text in the dataset; {expected}"
                )
        if document == NOTHING_RETRIEVED:
            return None
        hint = "a document, of which parts are judged; " if document in self._names.documents else ""
        expected = f"expected what is judged, such as {self._names.units[0]!r}"
        if self._names.passages != self._names.units:
            expected += f", or a passage, such as {self._names.passages[0]!r}"
        raise DatasetError(f"{where}: found {document[:LONGEST_NAME_SHOWN]!r}, {hint}{expected}")

    def _repeated(self, name: str) -> Iterator[int]:
        """The passage of a name like `unit@passage`, which our files have for a later passage of a unit."""
        for place, character in enumerate(name):
            passage = self._passages.get(name[place + 1 :]) if character == "@" else None
            if passage is not None and same_name(self._names.units[passage], name[:place]):
                yield passage


def readings(cell: str, ours: bool) -> tuple[str, ...]:
    """The names that a cell can stand for, in NFC, the likelier first: our own files have %20 for a space."""
    if "%" not in cell:
        return (composed(cell),)
    unquoted, cell = composed(unquote(cell)), composed(cell)
    return (unquoted, cell) if ours else (cell, unquoted)
