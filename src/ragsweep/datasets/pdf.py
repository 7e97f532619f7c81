"""PDF documents with questions that name the pages which answer them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from ragsweep.datasets.dataset import Collection, Document, Judgment, Query, is_unicode
from ragsweep.digest import digest_file, version
from ragsweep.errors import DatasetError
from ragsweep.store import NO_STORE, Store, packed, unpacked

HYPHENATED = "\ufffe"  # what pdfium writes for a hyphen at which a word was broken at the end of a line


@dataclass(frozen=True)
class PdfDataset:
    """PDF files and a JSON list of `{"query", "relevant_docs", "query_type"}`.

    Attributes:
        name: What the dataset, and its experiment in MLflow, is called.
        documents: A PDF file, or a folder whose PDF files (also in subfolders) make the corpus.
        queries: The JSON file.
        page_numbers: `physical` counts from 1; `label` takes the number printed on the page, where the PDF has it.
        match: `qualified` tells page 34 of one document from page 34 of another; `page_number` does not.
        unit: What `relevant_docs` names: a `page` ("34", "manual.pdf#34") or a `document` ("manual.pdf").
        store: Keeps the pages' texts.
    """

    name: str
    documents: str
    queries: str
    page_numbers: Literal["physical", "label"] = "physical"
    match: Literal["qualified", "page_number"] = "qualified"
    unit: Literal["page", "document"] = "page"
    store: Store = NO_STORE

    def load(self) -> Collection:
        """Read the PDFs, then the questions, whose pages must exist in them."""
        documents = tuple(self._document(path, source) for path, source in self._files())
        pages = _Pages(documents, self.unit)
        queries: list[Query] = []
        judgments: list[Judgment] = []
        for number, (where, entry) in enumerate(_entries(Path(self.queries)), start=1):
            query = Query(str(number), entry["query"].strip(), entry["query_type"])
            queries.append(query)
            units = {pages.unit(key, where) for key in entry["relevant_docs"]}
            judgments.extend(Judgment(query.query_id, unit, 1) for unit in sorted(units))
        return Collection(self.name, self.unit, documents, tuple(queries), tuple(judgments))

    def _files(self) -> Iterator[tuple[Path, str]]:
        """The PDF files in a stable order, each with its name relative to the folder."""
        root = Path(self.documents)
        if root.is_file():
            yield root, root.name
            return
        if not root.is_dir():
            raise DatasetError(f"dataset.documents: {root} does not exist; expected a PDF file or a folder of them")
        files = sorted(path for path in root.rglob("*") if path.suffix.lower() == ".pdf" and path.is_file())
        if not files:
            raise DatasetError(f"dataset.documents: no PDF file in {root}")
        for path in files:
            yield path, path.relative_to(root).as_posix()

    def _document(self, path: Path, source: str) -> Document:
        return Document.from_pages(
            source,
            ((number, self._unit(source, number), text) for number, text in self._pages(path)),
        )

    def _pages(self, path: Path) -> Iterator[tuple[str, str]]:
        """The number and the text of each page."""
        labelled = self.page_numbers == "label"
        try:
            inputs = [digest_file(path), version("pypdfium2"), labelled]
        except OSError as error:
            raise DatasetError(f"{path}: cannot be read ({error.strerror})") from error
        kept = self.store.get(
            "pages-1", inputs, lambda: packed(chain.from_iterable(_pages_of(path, labelled=labelled)))
        )
        texts = unpacked(kept)
        return zip(texts[::2], texts[1::2], strict=True)

    def _unit(self, source: str, page_number: str) -> str:
        if self.unit == "document":
            return source
        return page_number if self.match == "page_number" else f"{source}#{page_number}"


class _Pages:
    """The units of a corpus, to be found by the keys that people write."""

    def __init__(self, documents: tuple[Document, ...], unit: str) -> None:
        self._word = unit
        self._pages: dict[str, list[str]] = {}  # where each unit is, by the keys that name one page or document
        self._by_number: dict[str, list[str]] = {}
        for document in documents:
            for page in document.pages:
                key = document.source if unit == "document" else f"{document.source}#{page.page_number}"
                self._pages.setdefault(key, []).append(page.unit)
                units = self._by_number.setdefault(page.page_number, [])
                if page.unit not in units:
                    units.append(page.unit)
        self._corpus = ", ".join(_extent(document) for document in documents[:3])
        if len(documents) > 3:
            self._corpus += f" and {len(documents) - 3} more documents"

    def unit(self, key: str, where: str) -> str:
        """The unit that `key` names: exactly, or as a bare page number that one document has."""
        key = key.strip()
        named = self._pages.get(key, [])
        if len(named) > 1 and named[0] == key and self._word == "page":
            raise DatasetError(
                f"{where}: {len(named)} pages of that document carry the number of {key!r}; "
                "set dataset.page_numbers=physical"
            )
        if named:
            return named[0]
        units = self._by_number.get(key, []) if self._word == "page" else []
        if len(units) == 1:
            return units[0] if units[0] == key else self.unit(units[0], where)
        if units:
            raise DatasetError(
                f"{where}: page {key!r} is in {len(units)} documents ({', '.join(units)}); "
                f"write {units[0]!r}, or set dataset.match=page_number to count it in any of them"
            )
        raise DatasetError(f"{where}: {self._word} {key!r} is not in the documents ({self._corpus})")


def _extent(document: Document) -> str:
    first, last = document.pages[0].page_number, document.pages[-1].page_number
    return f"{document.source} has pages {first} to {last}"


def _pages_of(path: Path, *, labelled: bool) -> Iterator[tuple[str, str]]:
    """The number and the text of each page; raise `DatasetError` for a file that is no readable PDF."""
    import pypdfium2

    try:
        with pypdfium2.PdfDocument(path) as pdf:
            for index in range(len(pdf)):
                label = pdf.get_page_label(index) if labelled else ""
                yield label or str(index + 1), _normalised(pdf[index].get_textpage().get_text_range())
    except (pypdfium2.PdfiumError, OSError) as error:
        raise DatasetError(f"{path}: cannot be read as a PDF ({_reason(error)})") from error


def _reason(error: Exception) -> str:
    reason = str(error).removeprefix("Failed to load document ").strip("(). ").removeprefix("PDFium: ")
    return f"{reason[:1].lower()}{reason[1:]}"


def _normalised(text: str) -> str:
    """One kind of line end, and words that a line end had broken made whole."""
    return text.replace("\r\n", "\n").replace("\r", "\n").replace(f"{HYPHENATED}\n", "").replace(HYPHENATED, "")


def _entries(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The checked entries of a query file, each with the words that say where it stands."""
    try:
        entries = json.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError as error:
        raise DatasetError(f"dataset.queries: {path} does not exist; expected a JSON file of queries") from error
    except (UnicodeDecodeError, IsADirectoryError) as error:
        raise DatasetError(f"{path}: not a UTF-8 text file; expected a JSON list of queries") from error
    except json.JSONDecodeError as error:
        raise DatasetError(f"{path}, line {error.lineno}: not JSON ({error.msg})") from error
    if not isinstance(entries, list) or not entries:
        raise DatasetError(f"{path}: expected a JSON list of at least one query, found {_kind(entries)}")
    for number, entry in enumerate(entries, start=1):
        where = f"{path}, query {number}"
        if not isinstance(entry, dict):
            raise DatasetError(f"{where}: expected an object, found {_kind(entry)}")
        _check(entry, where)
        yield where, entry


def _check(entry: dict[str, Any], where: str) -> None:
    for field in ("query", "relevant_docs", "query_type"):
        if field not in entry:
            raise DatasetError(f"{where}: the field {field!r} is missing; found {', '.join(map(repr, entry))}")
    for field in ("query", "query_type"):
        if not isinstance(entry[field], str) or not entry[field].strip():
            raise DatasetError(f"{where}: {field!r} must be a text that is not empty, found {_kind(entry[field])}")
        if not is_unicode(entry[field]):
            raise DatasetError(f"{where}: {field!r} holds half a character, which is no valid Unicode")
    pages = entry["relevant_docs"]
    if not isinstance(pages, list) or not all(isinstance(page, str) for page in pages):
        raise DatasetError(
            f"{where}: 'relevant_docs' must be a list of texts like \"34\", found {json.dumps(pages)[:80]}"
        )


def _kind(value: object) -> str:
    kinds = {dict: "an object", list: "an empty list", str: "an empty text", type(None): "null"}
    return kinds.get(type(value), json.dumps(value)[:80])
