"""PDF documents and their pages. Every dataset format with PDF documents uses this."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import Literal

import numpy as np

from ragsweep.core.digest import digest, digest_file, version
from ragsweep.core.errors import ConfigError, DatasetError
from ragsweep.core.limits import Text
from ragsweep.core.parsing import from_json
from ragsweep.core.progress import advance, progress
from ragsweep.core.project import typed
from ragsweep.core.terminal import counted, say_once, some_of, verb
from ragsweep.datasets.formats.corpora.text_documents import PAGES, PLAIN, WORD
from ragsweep.datasets.formats.pdf_parsers import PageHeading, Parser, expect_installed, page_headings, pages_of, placed
from ragsweep.datasets.model.collection import Document, Heading
from ragsweep.datasets.model.dataset_format import Corpus
from ragsweep.datasets.model.pages import nearest
from ragsweep.datasets.readers.fields import flaw_of_name
from ragsweep.datasets.readers.files import files_at, files_below, kind_at
from ragsweep.store.stage_store import NO_STORE, Arrays, Store, packed, unpacked
from ragsweep.text.normalisation import composed

PageNumbers = Literal["physical", "label"]

# Where PDFium looks for the fonts that a file does not contain: with others, it may read other letters.
FONT_FOLDERS = ("/usr/share/fonts", "/usr/share/X11/fonts", "/usr/local/share/fonts",
                "~/Library/Fonts", "/Library/Fonts", "/System/Library/Fonts", "C:/Windows/Fonts")  # fmt: skip


@dataclass(frozen=True)
class PdfDocuments(Corpus):
    """A PDF file, or the PDF files of a folder.

    Attributes:
        path: The file, or the folder, including subfolders.
        page_numbers: `physical` counts pages from 1. `label` uses the printed number of a page if the PDF contains it.
        skip: Names of files in the folder to leave out, for example unreadable ones.
        store: Caches the texts of the pages.
        parser: The library that reads the texts.
    """

    path: Text
    page_numbers: PageNumbers = "physical"
    skip: Sequence[str] = ()
    store: Store = NO_STORE
    parser: Parser = "pdfium"

    def __post_init__(self) -> None:
        names = self.skip if isinstance(self.skip, Sequence) and not isinstance(self.skip, str) else [None]
        if not all(isinstance(name, str) for name in names):
            raise ConfigError(f"corpus.skip: found {self.skip!r}, expected a list of file names, like [a.pdf,b.pdf]")
        object.__setattr__(self, "skip", tuple(self.skip))
        expect_installed("corpus.parser", self.parser)

    @property
    def without_effect(self) -> Sequence[str]:
        """An empty `skip` has no effect, and the usual parser is not mentioned."""
        return (*(() if self.skip else ("skip",)), *(("parser",) if self.parser == "pdfium" else ()))

    @property
    def fingerprint(self) -> str | None:
        """The version of another parser; None for the usual one, whose texts are what counts."""
        return None if self.parser == "pdfium" else f"{self.parser} {version(self.parser)}"

    def left_out(self) -> Sequence[str]:
        """The skipped files."""
        return self.skip

    def read(self) -> tuple[Document, ...]:
        """Read the documents, in a stable order. Raises `DatasetError` if a file cannot be read."""
        files = self._files()
        documents: list[Document] = []
        failed: dict[str, DatasetError] = {}
        with progress(f"reading {len(files):,} PDF file{'s' * (len(files) > 1)}", len(files)):
            for source, file in files.items():
                try:
                    pages = ((number, f"{source}#{number}", text) for number, text in self._pages(file))
                    documents.append(Document.from_pages(source, pages))
                except DatasetError as error:
                    failed[source] = error
                advance(1)
        if failed:
            raise self._error(failed, alone=len(files) == 1)
        self._say_what_is_not_read(documents)
        return tuple(documents)

    def _say_what_is_not_read(self, documents: Sequence[Document]) -> None:
        """Say which documents are no PDF, and which have no page labels."""
        root = Path(self.path)
        below = files_below(root, None) if root.is_dir() else ()
        kinds = (*PLAIN, *PAGES, WORD)
        if texts := [path.relative_to(root).as_posix() for path in below if path.suffix.lower() in kinds]:
            number, pronoun = len(texts), "it" if len(texts) == 1 else "them"
            not_read = f"{counted(number, 'document')} that {verb(number, 'are')} no PDF, not read: {some_of(texts)}"
            say_once(f"{root}: {not_read}; corpus=text reads {pronoun}")
        numbers = {document.source: [page.page_number for page in document.pages] for document in documents}
        bare = [source for source, labels in numbers.items() if labels == [str(n + 1) for n in range(len(labels))]]
        if bare and self.page_numbers == "label":
            have = f"{counted(len(bare), 'document')} {verb(len(bare), 'have')} no page labels other than 1, 2, 3, ..."
            say_once(f"{self.path}: {have}: {some_of(bare)}; pages are counted from 1 there")

    def pictures(self, pages: Collection[str]) -> Sequence[str]:
        """Those of the pages, each as `source#page_number`, that have a picture. A page without text may be a scan."""
        pictured: list[str] = []
        for source, file in self._files().items():
            if any(page.startswith(f"{source}#") for page in pages):
                numbers = [number for number, _ in self._pages(file)]
                inputs = [digest_file(file), version("pypdfium2")]
                kept = self.store.get("pictures", inputs, partial(_pictures_of, file))["pages"]
                pictured += [page for index in kept.tolist() if (page := f"{source}#{numbers[index]}") in pages]
        return pictured

    def with_headings(self, documents: Sequence[Document]) -> tuple[Document, ...]:
        """The same documents with their titles and the headings of their outlines."""
        files = self._files()
        return tuple(
            replace(document, headings=self._headings(document, files[document.source])) for document in documents
        )

    def _headings(self, document: Document, path: Path) -> tuple[Heading, ...]:
        inputs = [digest_file(path), version("pypdfium2")]
        kept = unpacked(self.store.get("headings", inputs, lambda: packed(map(json.dumps, page_headings(path)))))
        return placed(document, [PageHeading(*from_json(heading)) for heading in kept])

    def _files(self) -> dict[str, Path]:
        """The PDF files by their names relative to the folder, in a stable order."""
        root = Path(self.path)
        files = files_at(root, "corpus.path", "a PDF file or a folder of PDF files", ".pdf")
        if not files:
            raise DatasetError(f"corpus.path: no PDF file in {root}")
        skipped = set(map(composed, self.skip))
        if unknown := skipped - set(map(composed, files)):
            name = min(unknown)
            raise DatasetError(f"corpus.skip: {root} has no PDF file {name!r}; {nearest(name, files)}")
        left = {source: path for source, path in files.items() if composed(source) not in skipped}
        if not left:
            raise DatasetError(f"corpus.skip: leaves out every PDF file in {root}; expected to keep at least one")
        for source in left:
            if flaw := flaw_of_name(source):
                raise DatasetError(f"{root}: the file name {source!r} {flaw}; rename the file")
        return left

    def _error(self, failed: Mapping[str, DatasetError], *, alone: bool) -> DatasetError:
        """The first error, with the setting that leaves out all files that cannot be read."""
        first = next(iter(failed.values()))
        if alone:  # no other document to continue with
            return first
        further = f"; {len(failed) - 1} more cannot be read" if len(failed) > 1 else ""
        setting = typed("corpus.skip", [*self.skip, *failed])
        return DatasetError(f"{first}{further}; {setting} leaves {'them' if further else 'it'} out")

    def _pages(self, path: Path) -> Iterator[tuple[str, str]]:
        """The number and the text of each page."""
        if (kind := kind_at(path)) != "a file":
            raise DatasetError(f"{path}: {f'is {kind}' if kind else 'does not exist, or is a broken link'}")
        labelled = self.page_numbers == "label"
        by = [version("pypdfium2"), _fonts()] if self.parser == "pdfium" else [self.parser, self.fingerprint]
        try:
            inputs = [digest_file(path), *by, labelled]
        except OSError as error:
            raise DatasetError(f"{path}: cannot be read ({error.strerror})") from error
        pages = partial(pages_of, self.parser, path, labelled=labelled)
        texts = unpacked(self.store.get("pages", inputs, lambda: packed(chain.from_iterable(pages()))))
        if not texts:
            raise DatasetError(f"{path}: has no pages")
        return zip(texts[::2], texts[1::2], strict=True)


@cache
def _fonts() -> str:
    """A digest of the fonts of this machine, by their names and sizes."""
    folders = [Path(folder).expanduser() for folder in FONT_FOLDERS]
    fonts = sorted(path for folder in folders for path in folder.rglob("*") if path.is_file())
    return digest([[str(path), path.stat().st_size] for path in fonts])


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
