"""The keys by which judgments name pages and documents."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from itertools import islice
from typing import Literal, NamedTuple

from ragsweep.core.errors import DatasetError
from ragsweep.core.quoting import typed
from ragsweep.datasets.model.collection import Document, Judgment, Page, Unit
from ragsweep.datasets.readers.fields import MISSING_VALUES, SHOWN_CHARACTERS, listed, whole
from ragsweep.text.normalisation import composed, same_name

Key = Literal["page", "page_number", "document"]
Match = Literal["qualified", "page_number"]
PageOrDocument = Literal["page", "document"]

SHOWN_UNITS = 3  # documents or pages in a message
PARTS = re.compile(
    r"(?:[\s,;/|&~+\u2010-\u2015\u2026\u060c\u061b\u3001\uff0c\uff1b\uff5e-]|\.\.)+"
)  # what people write between pages: 1-3, p. 1, 1, 2
DIGITS = re.compile("[0-9]+")
WITH_DECIMALS = re.compile(r"[0-9]{1,15}\.0+")  # a whole number in a column where another one is missing


class Settings(NamedTuple):
    """The settings that error messages name.

    Attributes:
        questions: Names the file of the questions.
        physical: Counts pages from 1.
        anywhere: Makes page 34 of any document count.
        from_0: Counts pages from 0; empty if nothing does.
        before: What stands before settings of `questions`, where others choose them.
    """

    questions: str = "questions.path"
    physical: str = "corpus.page_numbers=physical"
    anywhere: str = "questions.unit=page_number"
    from_0: str = "questions.first_page=0"
    before: str = ""

    def typed(self, columns: Mapping[str, str | Sequence[str] | None]) -> str:
        """Settings that name columns of the questions, as they are typed in a shell."""
        shown = [typed(f"questions.{what}", name) if name else f"questions.{what}=null"
                 for what, name in columns.items()]  # fmt: skip
        return self.before + " ".join(shown)


class AmbiguousPageError(DatasetError):
    """Several documents have a page with this number."""


OF_OWN = Settings()
OF_PDF = Settings("dataset.queries", "dataset.page_numbers=physical", "dataset.match=page_number")


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
        settings: Those that error messages name.
    """

    def __init__(self, documents: Sequence[Document], unit: Unit, settings: Settings) -> None:
        self._unit_kind, self._settings = unit, settings
        self._pages: dict[str, list[str]] = {}  # units by the key of a page or document
        self._by_number: dict[str, list[str]] = {}
        for document in documents:
            for page in document.pages:
                key = document.source if unit == "document" else f"{document.source}#{page.page_number}"
                self._pages.setdefault(composed(key), []).append(page.unit)
                units = self._by_number.setdefault(composed(page.page_number), [])
                if page.unit not in units:
                    units.append(page.unit)
        self._documents = {composed(document.source): document for document in documents}

    def unit(self, key: str, where: str) -> str:
        """The unit with this key, or with this page number if only one document has it.

        Args:
            key: Of a page or document, as a judgment names it.
            where: The place of the judgment, for error messages.

        Raises:
            DatasetError: There is no such unit, or there are several. Without documents, any key is a unit.
        """
        key = composed(key.strip())
        if not self._documents:
            return key
        named = self._pages.get(key, [])
        if len(named) > 1 and same_name(named[0], key) and self._unit_kind == "page":
            raise DatasetError(
                f"{where}: {len(named)} pages of that document have the page number in {key!r}; "
                f"set {self._settings.physical}"
            )
        if named:
            return named[0]
        is_alone = key.endswith("#") and not self._is_known(key)
        if not (is_alone and key[:-1] in self._documents) and (same := self._same(key)) is not None:
            return self.unit(same, where)
        if is_alone:
            return self._alone(key[:-1], where)
        units = self._by_number.get(key, []) if self._unit_kind == "page" else []
        if len(units) == 1:
            return units[0] if same_name(units[0], key) else self.unit(units[0], where)
        if units:
            raise AmbiguousPageError(
                f"{where}: page {key!r} is in {len(units)} documents ({', '.join(units[:SHOWN_UNITS])}"
                f"{', ...' if len(units) > SHOWN_UNITS else ''}); "
                f"write its document, as in {units[0]!r}, or set {self._settings.anywhere} to count it in any of them"
            )
        from_0 = (
            f"; pages are counted from 1, or with {self._settings.from_0} from 0"
            if key.rpartition("#")[2] == "0" and self._settings.from_0
            else ""
        )
        number = key.rpartition("#")[2]
        parts = [*PARTS.split(key), *(DIGITS.findall(number) if "#" in key and not number.isdigit() else ())]
        alone = "a number alone, and " if self._unit_kind == "page" else ""
        several = (
            f"; write {alone}semicolons between several"
            if any(self._is_known(part) or (part in self._documents and part != key) for part in parts)
            else ""
        )
        if self._unit_kind == "document" and key.rpartition("#")[0] in self._documents:
            several = "; documents are judged, not their pages"
        raise DatasetError(
            f"{where}: {self._unit_kind} {key[:SHOWN_CHARACTERS]!r} is not in the documents "
            f"({self._instead(key)}{from_0}{several})"
        )

    def _alone(self, source: str, where: str) -> str:
        """The unit of a document that a judgment names without a page."""
        if (document := self._documents.get(source)) is None:
            found = f"document {source[:SHOWN_CHARACTERS]!r} is not in the documents"
            raise DatasetError(f"{where}: {found} ({nearest(source, self._documents)})")
        if self._unit_kind == "document" or len(document.pages) == 1:
            return document.pages[0].unit
        found = f"document {source[:SHOWN_CHARACTERS]!r} is judged without a page ({_extent(document)})"
        raise DatasetError(f"{where}: {found}; expected a page, or documents as the judged unit")

    def judgments(self, query_id: str, grades: Mapping[str, int], where: str) -> list[Judgment]:
        """A judgment of each unit that the keys name, in the order of the units.

        Raises:
            DatasetError: A key names no unit or several, or two keys of one unit have different grades.
        """
        found: dict[str, int] = {}
        for key, grade in grades.items():
            if key.removesuffix("#") in MISSING_VALUES and not self._is_known(key):
                continue
            unit = self.unit(key, where)
            if found.setdefault(unit, grade) != grade:
                raise DatasetError(f"{where}: {unit!r} has the grades {found[unit]} and {grade}; expected one")
        return [Judgment(query_id, unit, grade) for unit, grade in sorted(found.items())]

    def _same(self, key: str) -> str | None:
        """The key of the only page of a document that an unknown key names, or of page 1 for `1.0`; None otherwise."""
        if self._unit_kind == "document":
            number = key.removesuffix("#")
            return (
                str(whole(number)) if WITH_DECIMALS.fullmatch(number) and self._is_known(str(whole(number))) else None
            )
        if key in self._by_number:
            return None
        source, _, number = key.rpartition("#")
        if key in self._documents and len(self._documents[key].pages) == 1:
            return f"{key}#{self._documents[key].pages[0].page_number}"
        without = f"{source}#{whole(number)}" if source else str(whole(number))
        return without if WITH_DECIMALS.fullmatch(number) and self._is_known(without) else None

    def _is_known(self, key: str) -> bool:
        return key in self._pages or (self._unit_kind == "page" and key in self._by_number)

    def _instead(self, key: str) -> str:
        """For an unknown key, what the corpus contains instead: pages of the document in the key, or document names."""
        source = key if key in self._documents else key.rpartition("#")[0]
        if self._unit_kind == "page" and source in self._documents:
            return _extent(self._documents[source])
        if source or self._unit_kind == "document":
            return nearest(source or key, self._documents)
        extents = ", ".join(_extent(document) for document in islice(self._documents.values(), SHOWN_UNITS))
        return extents + (
            f" and {len(self._documents) - SHOWN_UNITS} more documents" if len(self._documents) > SHOWN_UNITS else ""
        )


def _extent(document: Document) -> str:
    first, last = document.pages[0].page_number, document.pages[-1].page_number
    return f"{document.source} has pages {first} to {last}"


def nearest(name: str, names: Iterable[str]) -> str:
    """The most similar names, or the first ones if none is similar."""
    names = list(names)
    close = get_close_matches(name, names, n=SHOWN_UNITS, cutoff=0.5)
    return f"did you mean {' or '.join(map(repr, close))}?" if close else f"there are {listed(names)}"
