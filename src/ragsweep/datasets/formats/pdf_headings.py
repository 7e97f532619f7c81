"""The title and the headings of a PDF: its outline, or else its lines in larger type."""

from __future__ import annotations

import ctypes
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from ragsweep.core.terminal import one_line
from ragsweep.datasets.model.collection import Document, Heading

LARGER = 1.1  # times the commonest size of type is larger type
LARGEST_SHARE = 0.2  # of all characters; where more are in larger type, as on slides, these are no headings
LONGEST_HEADING = 200  # characters
MOST_LEVELS = 6
RUNNING_HEAD = 100  # characters: a heading below no more than these at the top of a page stands for the whole page
LINES_APART = 2  # times the size of its type, within one heading


class PageHeading(NamedTuple):
    """A heading, and the page that it is on, counted from 0."""

    page: int
    level: int
    text: str


class _Run(NamedTuple):
    """Text in one size of type; how many characters, and the box around it."""

    page: int
    size: float
    characters: int
    box: tuple[float, float, float, float]  # left, bottom, right, top


def page_headings(path: Path) -> list[PageHeading]:
    """The title and the headings of a PDF, in their order; none of a damaged outline or what PDFium cannot open."""
    import pypdfium2

    title, found = "", list[PageHeading]()
    with suppress(pypdfium2.PdfiumError), pypdfium2.PdfDocument(path) as pdf:
        title = one_line(pdf.get_metadata_value("Title") or "").strip()
        found = [*_outline(pdf)] or [*_in_larger_type(pdf)]
    named = any(map(str.isalpha, title))  # the titles of some are numbers of their producers
    return [*([PageHeading(0, 0, title[:LONGEST_HEADING])] if named else []), *found]


def placed(document: Document, found: Sequence[PageHeading]) -> tuple[Heading, ...]:
    """Headings by their offsets: where the page has their words, or else at its beginning."""
    placed: list[Heading] = []
    known = [each for each in found if each.page < len(document.pages)]  # another parser may read fewer pages
    for heading in sorted(known, key=lambda each: each.page):  # an outline may go back
        page = document.pages[heading.page]
        first = max(placed[-1].start if placed else 0, page.start)
        words = r"\s+".join(map(re.escape, heading.text.split()))
        spellings = (rf"^[ \t]*{words}[ \t]*$", words)  # on lines of its own, or else anywhere
        matches = (re.compile(each, re.I | re.M).search(document.text, first, page.end) for each in spellings)
        text = next(filter(None, matches), None)
        at_top = not text or (first == page.start and text.start() - first <= RUNNING_HEAD)
        start = -1 if heading.level == 0 else first if at_top or text is None else text.start()
        placed.append(Heading(start, heading.level, heading.text))
    return tuple(placed)


def _outline(pdf: Any) -> Iterator[PageHeading]:
    for bookmark in pdf.get_toc(max_depth=MOST_LEVELS):
        target, text = bookmark.get_dest(), one_line(bookmark.get_title()).strip()
        page = target.get_index() if target else None
        if page is not None and text:
            yield PageHeading(page, bookmark.level + 1, text[:LONGEST_HEADING])


def _in_larger_type(pdf: Any) -> Iterator[PageHeading]:
    pages = [[*_runs(pdf, page)] for page in range(len(pdf))]
    sizes: Counter[float] = Counter()
    for run in (run for page in pages for run in page):
        sizes[run.size] += run.characters
    if not sizes:
        return
    larger = sorted((size for size in sizes if size > LARGER * sizes.most_common(1)[0][0]), reverse=True)
    if sum(sizes[size] for size in larger) > LARGEST_SHARE * sizes.total():
        return
    levels = {size: min(level, MOST_LEVELS) for level, size in enumerate(larger, start=1)}
    for runs in pages:
        textpage = None
        for run in runs:
            if run.size in levels:
                textpage = textpage or pdf[run.page].get_textpage()
                text = one_line(textpage.get_text_bounded(*run.box)).strip()
                if any(map(str.isalpha, text)) and len(text) <= LONGEST_HEADING:
                    yield PageHeading(run.page, levels[run.size], text)


def _runs(pdf: Any, number: int) -> Iterator[_Run]:
    """The texts of a page in the order of the file, joined where the type is of one size and the lines are near."""
    import pypdfium2

    raw, page = pypdfium2.raw, pdf[number]
    textpage, run = page.get_textpage(), None
    for part in page.get_objects([raw.FPDF_PAGEOBJ_TEXT]):
        size = ctypes.c_float()
        raw.FPDFTextObj_GetFontSize(part, size)
        matrix = part.get_matrix()
        characters = max(0, raw.FPDFTextObj_GetText(part, textpage, None, 0) // 2 - 1)  # UTF-16, and a final 0
        own = _Run(number, round(size.value * (matrix.c**2 + matrix.d**2) ** 0.5, 1), characters, part.get_bounds())
        if run and run.size == own.size and run.box[1] - own.box[3] < LINES_APART * own.size:
            (left, bottom, right, top), other = run.box, own.box
            box = (min(left, other[0]), min(bottom, other[1]), max(right, other[2]), max(top, other[3]))
            run = _Run(number, run.size, run.characters + characters, box)
        else:
            if run:
                yield run
            run = own
    if run:
        yield run
