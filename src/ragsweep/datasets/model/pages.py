"""The keys by which judgments name pages and documents."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from itertools import islice
from typing import Literal

from ragsweep.core.errors import DatasetError
from ragsweep.core.terminal import some_of
from ragsweep.datasets.model.collection import Document, Judgment, Page, Unit
from ragsweep.datasets.model.faults import AbsentUnitError
from ragsweep.datasets.readers.fields import SHOWN_CHARACTERS, listed
from ragsweep.text.normalisation import composed

Key = Literal["page", "page_number", "document"]
Match = Literal["qualified", "page_number"]
PageOrDocument = Literal["page", "document"]

SHOWN_UNITS = 3  # documents or pages in a message
WITH_DECIMALS = re.compile(r"((?:.*#)?[0-9]{1,15})\.0+(#?)")  # a whole number in a column where another one is missing


class AmbiguousPageError(DatasetError):
    """Several documents have a page with this number."""


def keys_of(unit: PageOrDocument, match: Match) -> Key:
    """How judgments name this unit."""
    return "page_number" if (unit, match) == ("page", "page_number") else unit


def with_keys(documents: Iterable[Document], key: Key) -> tuple[Document, ...]:
    """The same documents, whose pages have the units that judgments name.

    Args:
        documents: As a corpus reads them.
        key: `page` distinguishes page 34 of one document from page 34 of another ("manual.pdf#34"), `page_number` does
            not ("34"). `document` gives all pages of a document one unit ("manual.pdf").
    """
    unit_of: dict[Key, Callable[[Document, Page], str]] = {
        "page": lambda document, page: f"{document.source}#{page.page_number}",
        "page_number": lambda _, page: page.page_number,
        "document": lambda document, _: document.source,
    }
    unit = unit_of[key]

    def named(document: Document) -> Document:
        if all(page.unit == unit(document, page) for page in document.pages):  # a large corpus need not be copied
            return document
        return replace(document, pages=tuple(replace(page, unit=unit(document, page)) for page in document.pages))

    return tuple(map(named, documents))


class Pages:
    """Finds the units of a corpus by the keys in question files.

    Args:
        documents: With the units that judgments name.
        unit: `page` or `document`.
    """

    def __init__(self, documents: Sequence[Document], unit: Unit) -> None:
        self._unit = unit
        self._documents = {composed(document.source): document for document in documents}
        self._by_key: dict[str, list[str]] = {}  # units by the key of a page or document
        self._by_number: dict[str, list[str]] = {}  # units by page number
        for document in documents:
            for page in document.pages:
                key = document.source if unit == "document" else f"{document.source}#{page.page_number}"
                self._by_key.setdefault(composed(key), []).append(page.unit)
                units = self._by_number.setdefault(composed(page.page_number), [])
                if page.unit not in units:
                    units.append(page.unit)

    def unit(self, key: str, where: str) -> str:
        """The unit with this key, or with this page number if only one document has it.

        Args:
            key: Of a page or document, as a judgment names it. A document with one page names that page.
            where: The place of the judgment, for error messages.

        Raises:
            AbsentUnitError: The key is well formed, and there is no such unit. Without documents, any key is a unit.
            DatasetError: It is not well formed, or there are several.
        """
        key = composed(key.strip())
        if not self._documents:
            return key
        units = self._units_of(key)
        if not units and (decimal := WITH_DECIMALS.fullmatch(key)):
            key = decimal[1] + decimal[2]
            units = self._units_of(key)
        if not units:
            kind = AbsentUnitError if self._can_be_absent(key) else DatasetError
            raise kind(f"{where}: {self._unknown(key)}")
        if len(units) > 1 and key not in self._by_key:
            raise AmbiguousPageError(
                f"{where}: page {key!r} is in {len(units)} documents ({some_of(units)}); write its "
                f"document, as in {units[0]!r}, or set questions.unit=page_number to count it in any of them"
            )
        unit = units[0]
        if self._unit == "page" and (number := len(self._by_key.get(composed(unit), ()))) > 1:
            problem = f"{number} pages of that document have the page number in {unit!r}"
            raise DatasetError(f"{where}: {problem}; set corpus.page_numbers=physical")
        return unit

    def judgments(self, query_id: str, grades: Mapping[str, int], where: str) -> list[Judgment]:
        """A judgment of each unit that the keys name, in the order of the units.

        Raises:
            AbsentUnitError: Some keys name no unit; it has the judgments of these, too.
            DatasetError: A key is malformed or names several units, or two keys of one unit have different grades.
        """
        by_unit: dict[str, int] = {}
        absent: AbsentUnitError | None = None
        for key, grade in grades.items():
            try:
                unit = self.unit(key, where)
            except AbsentUnitError as error:
                absent, unit = absent or error, composed(key.strip())
            if by_unit.setdefault(unit, grade) != grade:
                raise DatasetError(f"{where}: {unit!r} has the grades {by_unit[unit]} and {grade}; expected one")
        judgments = [Judgment(query_id, unit, grade) for unit, grade in sorted(by_unit.items())]
        if absent is not None:
            absent.judgments = judgments
            raise absent
        return judgments

    def _can_be_absent(self, key: str) -> bool:
        """Whether a key that names no unit has the form of one: a page number, or a document and a page number."""
        source, _, number = (key, "", "") if key in self._documents else key.rpartition("#")
        if self._unit == "document":
            return source not in self._documents
        return number.isalnum()

    def _units_of(self, key: str) -> Sequence[str]:
        """The units with a key, with a page number, or of the only page of a document."""
        units = self._by_key.get(key) or (self._by_number.get(key) if self._unit == "page" else None)
        document = self._documents.get(key) or self._documents.get(key.removesuffix("#"))
        if units or document is None or (self._unit == "page" and len(document.pages) > 1):
            return units or ()
        return [document.pages[0].unit]

    def _unknown(self, key: str) -> str:
        """The message for an unknown unit, with what the corpus has instead."""
        source, _, number = (key, "", "") if key in self._documents else key.rpartition("#")
        document = self._documents.get(source)
        if self._unit == "document" or (source and not number and not document):
            name = key.removesuffix("#")
            instead = "documents are judged, not their pages" if document else nearest(name, self._documents)
            return f"document {name[:SHOWN_CHARACTERS]!r} is not in the documents ({instead})"
        if document and not number:
            problem = f"document {source[:SHOWN_CHARACTERS]!r} is judged without a page ({_extent(document)})"
            return f"{problem}; expected a page, or documents as the judged unit"
        extents = ", ".join(map(_extent, islice(self._documents.values(), SHOWN_UNITS)))
        more = len(self._documents) - SHOWN_UNITS
        extents += f" and {more} more documents" if more > 0 else ""
        instead = _extent(document) if document else nearest(source, self._documents) if source else extents
        instead += "; pages are counted from 1, or with questions.first_page=0 from 0" if number == "0" else ""
        if not number.isalnum() or "," in key:
            instead += "; write a number alone, and semicolons between several"
        return f"page {key[:SHOWN_CHARACTERS]!r} is not in the documents ({instead})"


def _extent(document: Document) -> str:
    first, last = document.pages[0].page_number, document.pages[-1].page_number
    return f"{document.source} has pages {first} to {last}"


def nearest(name: str, names: Iterable[str]) -> str:
    """The most similar names, or the first ones if none is similar."""
    names = list(names)
    close = get_close_matches(name, names, n=SHOWN_UNITS, cutoff=0.5)
    return f"did you mean {' or '.join(map(repr, close))}?" if close else f"there are {listed(names)}"
