"""Reads text files, Markdown, web pages and Word documents."""

from __future__ import annotations

import gzip
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path

from ragsweep.config.annotations import as_configured
from ragsweep.core.errors import ConfigError, DatasetError
from ragsweep.core.limits import Text
from ragsweep.core.parsing import MB
from ragsweep.core.terminal import counted, one_line, say_once
from ragsweep.datasets.formats.corpora.converters import page_as_markdown, word_as_markdown
from ragsweep.datasets.model.collection import PAGE_BREAK, Document
from ragsweep.datasets.model.dataset_format import Corpus
from ragsweep.datasets.readers.fields import flaw_of_name
from ragsweep.datasets.readers.files import files_at, kind_at
from ragsweep.datasets.readers.tables import ending_of

LARGEST_DOCUMENT_MB = 100  # of a file, unzipped
LARGEST_XML_MB, MOST_ELEMENTS = 20, 500_000  # of a Word document, whose elements become objects of about 1 KB
PLAIN, PAGES, WORD = (".txt", ".md", ".markdown"), (".html", ".htm", ".xhtml"), ".docx"
KINDS = ", ".join((*PLAIN, *PAGES, WORD))


@dataclass(frozen=True)
class TextCorpus(Corpus):
    """A text file, Markdown file, web page or Word document, or all of these in a folder and its subfolders.

    Text and Markdown are taken as they are, so that offsets of characters stay valid; a form feed begins a page, as in
    the output of pdftotext. Web pages and Word documents become Markdown, without scripts, styles and images.

    Attributes:
        path: The file or folder. Text files, Markdown files and web pages whose names end in `.gz` are unzipped.
        plain: Further endings of files that are read as plain text, such as `.py`.
    """

    path: Text
    plain: Sequence[Text] = ()

    def __post_init__(self) -> None:
        is_ending = (isinstance(ending, str) and ending.startswith(".") for ending in self.plain)
        if isinstance(self.plain, str) or not all(is_ending):
            shown = as_configured(self.plain)
            raise ConfigError(f"corpus.plain: found {shown}, expected a list of endings, like [.py,.java]")
        object.__setattr__(self, "plain", tuple(ending.lower() for ending in self.plain))

    @property
    def without_effect(self) -> Sequence[str]:
        """An empty `plain` has no effect."""
        return () if self.plain else ("plain",)

    def read(self) -> tuple[Document, ...]:
        """Read the documents, in the order of their names. Files of other kinds are counted and left out."""
        files = files_at(Path(self.path), "corpus.path", f"a folder, or a file of {KINDS}")
        kinds = (*PLAIN, *PAGES, WORD, *self.plain)
        left_out = [name for name, path in files.items() if ending_of(path) not in kinds]
        if len(left_out) == len(files):
            raise DatasetError(f"corpus.path: {self.path} has no file of {KINDS}")
        if left_out:
            shown = f"{len(left_out)} ({one_line(', '.join(left_out[:3]))}, ...)"
            say_once(f"files of other kinds, left out: {shown}; corpus.plain=[ENDING] reads them as text")
        return tuple(self._document(name, path) for name, path in files.items() if name not in left_out)

    def _document(self, name: str, path: Path) -> Document:
        if flaw := flaw_of_name(name):
            raise DatasetError(f"{path.parent}: the file name {name!r} {flaw}; rename the file")
        content, kind = _content(path), ending_of(path)
        if kind == WORD:
            with _converting(path, "mammoth", "Word document"):
                text = _of_word(content, path)
        else:
            try:
                text = content.decode("utf-8-sig")
            except UnicodeDecodeError as error:
                line = content.count(b"\n", 0, error.start) + 1
                raise DatasetError(f"{path}, line {line}: not UTF-8; expected a text in UTF-8") from error
        if kind in PAGES:
            with _converting(path, "markdownify", "web page"):
                text = page_as_markdown(text)
        pages = text.split(PAGE_BREAK)
        return Document.from_pages(name, ((str(n), f"{name}#{n}", page) for n, page in enumerate(pages, start=1)))


def _content(path: Path) -> bytes:
    """The content of a file, unzipped if its name ends in `.gz`."""
    if kind_at(path) != "a file":
        raise DatasetError(f"{path}: is not a file; expected a file of {KINDS}")
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
            content = file.read(LARGEST_DOCUMENT_MB * MB + 1)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DatasetError(f"{path}: cannot be unzipped to its end ({error})") from error
    except OSError as error:
        raise DatasetError(f"{path}: cannot be read ({error.strerror})") from error
    if len(content) > LARGEST_DOCUMENT_MB * MB:
        raise DatasetError(f"{path}: larger than {LARGEST_DOCUMENT_MB} MB")
    return content


@contextmanager
def _converting(path: Path, package: str, kind: str) -> Iterator[None]:
    """Raise what a library raises of a damaged file as `DatasetError`."""
    if find_spec(package) is None:
        raise DatasetError(f"{path}: needs {package}; run pip install 'ragsweep[documents]'")
    try:
        yield
    except DatasetError:
        raise
    except RecursionError as error:
        raise DatasetError(f"{path}: elements are nested too deeply") from error
    except Exception as error:
        reason = one_line(str(error).rpartition("AssertionError: ")[2])[:80]  # of bs4's message, the end says why
        raise DatasetError(f"{path}: cannot be read as a {kind} ({reason})") from error


def _of_word(content: bytes, path: Path) -> str:
    """A Word document as text, with what is left out said."""
    with zipfile.ZipFile(BytesIO(content)) as archive:
        if sum(part.file_size for part in archive.infolist()) > LARGEST_DOCUMENT_MB * MB:
            raise DatasetError(f"{path}: larger than {LARGEST_DOCUMENT_MB} MB when unzipped")
        _check_xml(archive, path)
    text, dropped = word_as_markdown(content)
    if dropped:
        say_once(f"{path}: left out: {', '.join(counted(number, noun) for noun, number in dropped.items())}")
    return text


def _check_xml(archive: zipfile.ZipFile, path: Path) -> None:
    """Refuse a Word document that would take minutes and gigabytes, or whose entities would silently be left out."""
    size = elements = 0
    for part in archive.infolist():
        content = archive.read(part)
        if not content.lstrip(b"\xef\xbb\xbf\xff\xfe\x00 \t\r\n").startswith(b"<"):  # XML, whatever its name is
            continue
        if b"<!DOCTYPE" in content.replace(b"\x00", b""):  # also in UTF-16
            problem = f"{one_line(part.filename)[:80]} has a DOCTYPE; expected none"
            raise DatasetError(f"{path}: cannot be read as a Word document ({problem})")
        size += len(content)
        elements += content.count(b"<") - content.count(b"</")
    if size > LARGEST_XML_MB * MB or elements > MOST_ELEMENTS:
        xml = f"{size / MB:.0f} MB of XML with {elements:,} elements"
        most = f"at most {LARGEST_XML_MB} MB and {MOST_ELEMENTS:,}"
        raise DatasetError(f"{path}: contains {xml}, expected {most}; split the document")
