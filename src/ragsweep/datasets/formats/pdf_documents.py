"""PDF documents and their pages. Every dataset format with PDF documents uses this."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import chain
from pathlib import Path
from typing import Literal

import numpy as np

from ragsweep.core.digest import digest, digest_file, version
from ragsweep.core.errors import ConfigError, DatasetError
from ragsweep.core.limits import Text
from ragsweep.core.parsing import from_json
from ragsweep.core.progress import advance, progress
from ragsweep.core.quoting import typed
from ragsweep.core.terminal import counted, say_once, some_of
from ragsweep.datasets.formats.corpora.text_documents import PAGES, PLAIN, WORD
from ragsweep.datasets.formats.pdf_fonts import Font, fonts_on, pages_with_fonts
from ragsweep.datasets.formats.pdf_headings import PageHeading, page_headings, placed
from ragsweep.datasets.formats.pdf_parsers import Parser, expect_installed, pages_of, versions_of
from ragsweep.datasets.model.collection import Document, Heading, Reading
from ragsweep.datasets.model.pages import nearest
from ragsweep.datasets.readers.fields import flaw_of_name
from ragsweep.datasets.readers.files import files_at, files_below, what_is
from ragsweep.store.stage_store import NO_STORE, Arrays, Store, packed, unpacked
from ragsweep.text.normalisation import composed

PageNumbers = Literal["physical", "label"]


@dataclass(frozen=True)
class PdfDocuments:
    """A PDF file, or the PDF files of a folder.

    Attributes:
        path: The file, or the folder, including subfolders.
        page_numbers: `physical` counts pages from 1. `label` uses the printed number of a page if the PDF contains it.
        skip: Names of files in the folder to leave out, for example unreadable ones.
        store: Caches the texts of the pages.
        parser: The library that reads the texts.
        fingerprint: Its version, in params and digests; absent for the usual one, whose texts are what counts.
    """

    path: Text
    page_numbers: PageNumbers = "physical"
    skip: Sequence[str] = ()
    store: Store = NO_STORE
    parser: Parser = "pdfium"

    def __post_init__(self) -> None:
        object.__setattr__(self, "skip", checked_skip(self.skip))
        note_parser(self, "corpus.parser", self.parser)

    @property
    def without_effect(self) -> Sequence[str]:
        """An empty `skip` has no effect, and the usual parser is not mentioned."""
        return (*(() if self.skip else ("skip",)), *(("parser",) if self.parser == "pdfium" else ()))

    def reading(self) -> Reading:
        """What is read, whatever reads it, and what reads it here."""
        files = [[source, digest_file(file)] for source, file in self._files("corpus", "path").items()]
        return Reading(digest([files, self.page_numbers]), versions_of(self.parser))

    def read(self, group: str = "corpus", path: str = "path") -> tuple[Document, ...]:
        """Read the documents, in a stable order.

        Args:
            group: The group of the settings, for error messages.
            path: The setting that names the file or folder, for error messages.

        Raises:
            DatasetError: A file cannot be read.
        """
        files = self._files(group, path)
        documents: list[Document] = []
        failed: dict[str, DatasetError] = {}
        with progress(f"reading {len(files):,} PDF file{'s' * (len(files) > 1)}", len(files)):
            for source, file in files.items():
                try:
                    documents.append(self._document(file, source))
                except DatasetError as error:
                    failed[source] = error
                advance(1)
        if failed:
            raise self._error(failed, f"{group}.skip", alone=len(files) == 1)
        self._say_what_is_no_pdf()
        if self.page_numbers == "label":
            self._say_what_has_no_labels(documents)
        return tuple(documents)

    def _say_what_is_no_pdf(self) -> None:
        root = Path(self.path)
        below = files_below(root, None) if root.is_dir() else ()
        if texts := [
            path.relative_to(root).as_posix() for path in below if path.suffix.lower() in (*PLAIN, *PAGES, WORD)
        ]:
            found = f"{counted(len(texts), 'document')} that {'is' if len(texts) == 1 else 'are'} no PDF, not read"
            say_once(f"{root}: {found}: {some_of(texts)}; corpus=text reads {'it' if len(texts) == 1 else 'them'}")

    def _say_what_has_no_labels(self, documents: Sequence[Document]) -> None:
        numbers = {each.source: [page.page_number for page in each.pages] for each in documents}
        if bare := [source for source, found in numbers.items() if found == [str(n + 1) for n in range(len(found))]]:
            have = f"{counted(len(bare), 'document')} {'has' if len(bare) == 1 else 'have'} no page labels"
            say_once(f"{self.path}: {have} other than 1, 2, 3, ...: {some_of(bare)}; pages are counted from 1 there")

    def pictures(self, pages: Collection[str]) -> list[str]:
        """Those of the pages, each as `source#page_number`, that have a picture. A page without text may be a scan."""
        found = []
        for source, file in self._files("corpus", "path").items():
            if any(page.startswith(f"{source}#") for page in pages):
                numbers = [number for number, _ in self._pages(file)]
                inputs = [digest_file(file), version("pypdfium2")]
                kept = self.store.get("pictures", inputs, partial(_pictures_of, file))["pages"]
                found += [page for index in kept.tolist() if (page := f"{source}#{numbers[index]}") in pages]
        return found

    def with_headings(self, documents: Sequence[Document]) -> tuple[Document, ...]:
        """The same documents with their titles and the headings of their outlines, or else of their larger type."""
        files = self._files("corpus", "path")
        return tuple(replace(each, headings=self._headings(each, files[each.source])) for each in documents)

    def _headings(self, document: Document, path: Path) -> tuple[Heading, ...]:
        inputs = [digest_file(path), version("pypdfium2")]
        kept = unpacked(self.store.get("headings", inputs, lambda: packed(map(json.dumps, page_headings(path)))))
        return placed(document, [PageHeading(*from_json(each)) for each in kept])

    def fonts(self) -> dict[str, list[Font]]:
        """The fonts that each document needs and does not contain, without those of every reader; only PDFium does."""
        if self.parser != "pdfium":
            return {}
        found = {source: self._fonts(file) for source, file in self._files("corpus", "path").items()}
        others = {source: [font for font in fonts if not font.standard] for source, fonts in found.items()}
        return {source: fonts for source, fonts in others.items() if fonts}

    def _fonts(self, path: Path) -> tuple[Font, ...]:
        """The fonts that a file does not contain, as this machine has them."""
        state = path.stat()
        return _fonts_of(path, state.st_mtime_ns, state.st_size, self.store)

    def _files(self, group: str, path: str) -> dict[str, Path]:
        """The PDF files by their names relative to the folder, in a stable order."""
        root = Path(self.path)
        files = files_at(root, f"{group}.{path}", "a PDF file or a folder of PDF files", ".pdf")
        if not files:
            raise DatasetError(f"{group}.{path}: no PDF file in {root}")
        skipped = set(map(composed, self.skip))
        if unknown := skipped - set(map(composed, files)):
            name = min(unknown)
            raise DatasetError(f"{group}.skip: {root} has no PDF file {name!r}; {nearest(name, files)}")
        left = {source: path for source, path in files.items() if composed(source) not in skipped}
        if not left:
            raise DatasetError(f"{group}.skip: leaves out every PDF file in {root}; expected to keep at least one")
        for source in left:
            if flaw := flaw_of_name(source):
                raise DatasetError(f"{root}: the file name {source!r} {flaw}; rename the file")
        return left

    def _document(self, path: Path, source: str) -> Document:
        pages = self._pages(path)
        return Document.from_pages(source, ((number, f"{source}#{number}", text) for number, text in pages))

    def _error(self, failed: Mapping[str, DatasetError], skip: str, *, alone: bool) -> DatasetError:
        """The first error, with the setting that leaves out all files that cannot be read."""
        first = next(iter(failed.values()))
        if alone:  # no other document to continue with
            return first
        others = f"; {len(failed) - 1} more cannot be read" if len(failed) > 1 else ""
        setting = typed(skip, [*self.skip, *failed])
        return DatasetError(f"{first}{others}; {setting} leaves {'them' if others else 'it'} out")

    def _pages(self, path: Path) -> Iterator[tuple[str, str]]:
        """The number and the text of each page."""
        if (found := what_is(path)) != "a file":
            raise DatasetError(f"{path}: {f'is {found}' if found else 'does not exist, or is a broken link'}")
        labelled = self.page_numbers == "label"
        try:
            is_usual = self.parser == "pdfium"
            by: list[object] = [version("pypdfium2")] if is_usual else [self.parser, versions_of(self.parser)]
            inputs = [digest_file(path), *by, labelled, *([self._fonts(path)] if is_usual else [])]
        except OSError as error:
            raise DatasetError(f"{path}: cannot be read ({error.strerror})") from error
        pages = partial(pages_of, self.parser, path, labelled=labelled)
        texts = unpacked(self.store.get("pages", inputs, lambda: packed(chain.from_iterable(pages()))))
        if not texts:
            raise DatasetError(f"{path}: has no pages")
        return zip(texts[::2], texts[1::2], strict=True)


def note_parser(corpus: object, setting: str, parser: Parser) -> None:
    """Let a corpus whose parser is not the usual one have its version as `fingerprint`.

    Args:
        corpus: The corpus, or the dataset, while it is built.
        setting: Names the parser, for error messages.
        parser: The parser.

    Raises:
        ConfigError: Its library is not installed.
    """
    if parser != "pdfium":
        expect_installed(setting, parser)
        object.__setattr__(corpus, "fingerprint", versions_of(parser))


def checked_skip(skip: Sequence[str]) -> tuple[str, ...]:
    """The setting `dataset.skip` as a tuple. Raises `ConfigError` if it is not a list of file names."""
    names = skip if isinstance(skip, Sequence) and not isinstance(skip, str) else [None]
    if not all(isinstance(name, str) for name in names):
        raise ConfigError(f"dataset.skip: found {skip!r}, expected a list of file names, like [a.pdf,b.pdf]")
    return tuple(skip)


@lru_cache(maxsize=10_000)  # every run of a sweep audits the same files
def _fonts_of(path: Path, changed_ns: int, size: int, store: Store) -> tuple[Font, ...]:
    named = unpacked(store.get("fonts", [digest_file(path), version("pypdfium2")], partial(pages_with_fonts, path)))
    return tuple(fonts_on([*map(int, named[1::2])], path)) if named else ()


def _pictures_of(path: Path) -> Arrays:
    """The pages with an image, counted from 0; none that only another parser can read."""
    import pypdfium2

    image = [pypdfium2.raw.FPDF_PAGEOBJ_IMAGE]
    pages = []
    with suppress(pypdfium2.PdfiumError), pypdfium2.PdfDocument(path) as pdf:
        for index in range(len(pdf)):
            with suppress(pypdfium2.PdfiumError):
                pages += [index] if any(pdf[index].get_objects(image)) else []
    return {"pages": np.array(pages, dtype=np.int64)}
