"""The title and the outline of a PDF, as headings of its text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from ragsweep.core.terminal import one_line
from ragsweep.datasets.model.collection import Document, Heading

LONGEST_HEADING = 200  # characters
MOST_LEVELS = 6
RUNNING_HEAD = 100  # characters: a heading below no more than these at the top of a page stands for the whole page


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
