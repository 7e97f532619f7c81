"""What is read of PDF files: texts, by the library that `corpus.parser` names, labels of pages, title and outline."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any, Literal, NamedTuple

from ragsweep.core.errors import ConfigError, DatasetError, first_line
from ragsweep.core.terminal import counted, one_line
from ragsweep.datasets.model.collection import Document, Heading

Parser = Literal["pdfium", "pypdf"]

MARK = b"%PDF"  # near the beginning of every PDF
LINE_END_HYPHEN = re.compile("\ufffe\n?")  # what pdfium writes for a hyphen between letters or digits at a line end
WORD = re.compile(r"[^\W_]+")
PAIR = re.compile(r"\b(?=([^\W_]+-[^\W_]+))")
LONGEST_HEADING = 200  # characters
MOST_LEVELS = 6
RUNNING_HEAD = 100  # characters: a heading below no more than these at the top of a page stands for the whole page
LONGEST_PART = 50  # characters of a word before or after its hyphen


def _by_pdfium(path: Path) -> Iterator[str]:
    """The texts of the pages by PDFium, the library of Chrome.

    Words that a hyphen breaks at the end of a line are joined. What is entered into a form and what is written on top
    of a page come after its text.
    """
    import pypdfium2

    with pypdfium2.PdfDocument(path) as pdf:
        pdf.init_forms()
        pages = (_filled_in(pdf, index).get_textpage().get_text_range() for index in range(len(pdf)))
        texts = [*map(with_unix_lines, pages)]
    broken = any(LINE_END_HYPHEN.search(text) for text in texts)
    words = Counter(chain.from_iterable(map(_words, texts if broken else ())))
    for text in texts:
        yield LINE_END_HYPHEN.sub(lambda hyphen: _own_hyphen(hyphen, words), text)


def _words(text: str) -> Iterator[str]:
    """The words of a text, and every two of them with a hyphen between."""
    lowered = text.lower()
    return chain(WORD.findall(lowered), PAIR.findall(lowered))


def _own_hyphen(hyphen: re.Match[str], words: Counter[str]) -> str:
    """The hyphen if it belongs to the word: the document writes the word with it at least as often as without.

    Nor is one put in before a digit, or before a capital, unless all is in capitals.
    """
    text, start, end = hyphen.string, hyphen.start(), hyphen.end()
    before, after = WORD.findall(text, max(0, start - LONGEST_PART), start), WORD.match(text, end)
    parts = [*before[-1:], after[0] if after else ""]
    with_hyphen = words["-".join(parts).lower()]
    in_capitals = text[start - 1 : start].isupper() and text[end + 1 : end + 2].isupper()
    is_own = with_hyphen > 0 and with_hyphen >= words["".join(parts).lower()]
    is_own = is_own or text[end : end + 1].isdigit() or (text[end : end + 1].isupper() and not in_capitals)
    return "-" if is_own else ""


def _filled_in(pdf: Any, index: int) -> Any:
    """A page as a reader sees it: what is written into fields of a form and on top of the page is part of it."""
    from pypdfium2 import raw

    page = pdf[index]
    written = (raw.FPDF_ANNOT_WIDGET, raw.FPDF_ANNOT_FREETEXT, raw.FPDF_ANNOT_STAMP)
    for number in range(raw.FPDFPage_GetAnnotCount(page)):
        annotation = raw.FPDFPage_GetAnnot(page, number)
        kind = raw.FPDFAnnot_GetSubtype(annotation)
        raw.FPDFPage_CloseAnnot(annotation)
        if kind in written:
            raw.FPDFPage_Flatten(page, raw.FLAT_NORMALDISPLAY)
            page.close()
            return pdf[index]
    return page


def _by_pypdf(path: Path) -> Iterator[str]:
    """The texts of the pages by pypdf, in the order of the file."""
    import pypdf

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # it warns of each object that it repairs
    with pypdf.PdfReader(path) as pdf:
        for page in pdf.pages:
            halves = with_unix_lines(page.extract_text()).encode("utf-16", "surrogatepass")  # of characters
            yield halves.decode("utf-16", "replace")  # joined, or replaced where the other half is missing


PARSERS: Mapping[Parser, Callable[[Path], Iterator[str]]] = {"pdfium": _by_pdfium, "pypdf": _by_pypdf}


def expect_installed(setting: str, parser: Parser) -> None:
    """Raise `ConfigError` that says what to install if a parser lacks its package."""
    if parser == "pypdf" and find_spec(parser) is None:
        raise ConfigError(f"{setting}: pypdf is not installed here; run pip install 'ragsweep[parsers]'")


def pages_of(parser: Parser, path: Path, *, labelled: bool) -> Iterator[tuple[str, str]]:
    """The number and the text of each page. Raises `DatasetError` for a file that the parser cannot read.

    Args:
        parser: Reads the texts.
        path: The file.
        labelled: Whether the number is the label that is printed on the page. PDFium reads it, whatever the parser is.
    """
    import pypdfium2

    by = "" if parser == "pdfium" else " by pdfium, which reads the labels of its pages"
    try:
        labels = _labels(path) if labelled else []
        by = "" if parser == "pdfium" else f" by {parser}"
        read = 0
        for index, text in enumerate(PARSERS[parser](path)):
            read += 1
            label = labels[index] if index < len(labels) else ""
            yield label or str(index + 1), text
        with suppress(pypdfium2.PdfiumError):
            if parser != "pdfium" and read != (pages := len(_labels(path))):  # judgments would be of another page
                raise DatasetError(f"it finds {counted(read, 'page')}, PDFium {pages}")
    except Exception as error:  # libraries raise errors of many kinds for a damaged file
        raise DatasetError(f"{path}: cannot be read as a PDF{by} ({_reason(error, path)})") from error


def with_unix_lines(text: str) -> str:
    """A text with the line ends of Unix."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _labels(path: Path) -> list[str]:
    """The labels of the pages that PDFium finds; empty ones for pages without."""
    import pypdfium2

    with pypdfium2.PdfDocument(path) as pdf:
        return [pdf.get_page_label(index) for index in range(len(pdf))]


def _reason(error: Exception, path: Path) -> str:
    all_said = f"{error!r} {error.__cause__!r} {error.__context__!r}".lower()  # some wrap an error without a text
    reason = first_line(error).removeprefix("Failed to load document ").strip("(). ").removeprefix("PDFium: ")
    if any(word in all_said for word in ("password", "encrypted", "decrypted")):
        return "it is encrypted; expected one without a password"
    with suppress(OSError), path.open("rb") as file:
        if MARK not in (beginning := file.read(1024)):
            problem = f"it begins with {beginning[:8].decode('latin-1')!r}" if beginning else "it is empty"
            return f"{problem}; expected {MARK.decode()}"
    return f"{reason[:1].lower()}{reason[1:]}"


class PageHeading(NamedTuple):
    """A heading, and the page that it is on, counted from 0."""

    page: int
    level: int
    text: str


def page_headings(path: Path) -> list[PageHeading]:
    """The title and the outline of a PDF, in its order; none of a damaged outline or what PDFium cannot open."""
    import pypdfium2

    headings: list[PageHeading] = []
    with suppress(pypdfium2.PdfiumError), pypdfium2.PdfDocument(path) as pdf:
        title = one_line(pdf.get_metadata_value("Title") or "").strip()
        if any(map(str.isalpha, title)):  # the titles of some are numbers of their producers
            headings.append(PageHeading(0, 0, title[:LONGEST_HEADING]))
        for bookmark in pdf.get_toc(max_depth=MOST_LEVELS):
            target, text = bookmark.get_dest(), one_line(bookmark.get_title()).strip()
            page = target.get_index() if target else None
            if page is not None and text:
                headings.append(PageHeading(page, bookmark.level + 1, text[:LONGEST_HEADING]))
    return headings


def placed(document: Document, headings: Sequence[PageHeading]) -> tuple[Heading, ...]:
    """Headings by their offsets: where the page has their words, or else at its beginning."""
    placed: list[Heading] = []
    on_pages = [heading for heading in headings if heading.page < len(document.pages)]  # of another parser, some lack
    for heading in sorted(on_pages, key=lambda heading: heading.page):  # an outline may go back
        page = document.pages[heading.page]
        first = max(placed[-1].start if placed else 0, page.start)
        words = r"\s+".join(map(re.escape, heading.text.split()))
        spellings = (rf"^[ \t]*{words}[ \t]*$", words)  # on lines of its own, or else anywhere
        matches = (re.compile(spelling, re.I | re.M).search(document.text, first, page.end) for spelling in spellings)
        text = next(filter(None, matches), None)
        at_top = not text or (first == page.start and text.start() - first <= RUNNING_HEAD)
        start = -1 if heading.level == 0 else first if at_top or text is None else text.start()
        placed.append(Heading(start, heading.level, heading.text))
    return tuple(placed)
