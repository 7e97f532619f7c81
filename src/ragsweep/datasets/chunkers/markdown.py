"""Passages that begin at headings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, ClassVar

from ragsweep.core.limits import Between
from ragsweep.datasets.chunkers.pieces import SEPARATORS, joined, pieces
from ragsweep.datasets.chunkers.rulers import Ruler
from ragsweep.datasets.chunkers.sized import SizedChunker
from ragsweep.text.tokens import Span

LINE_END = re.compile(r"\r\n?|\n")  # as markdown-it sees it
# Fields in YAML before the text, as static sites and Obsidian have them; for CommonMark a rule and a heading.
FRONT_MATTER = re.compile(r"\A---[ \t]*\r?\n(?=[A-Za-z_][\w -]*:)(?:.*\n)*?---[ \t]*(?:\r?\n|\Z)")
NOT_LINE_END = re.compile(r"[^\r\n]")


@dataclass(frozen=True)
class MarkdownChunker(SizedChunker):
    """A passage for each section of a Markdown text: a heading and what follows it until the next one.

    A heading with nothing below it but a further heading stays with that. A section that is longer than `size` is split
    as by `RecursiveChunker`. No passage has the text of two sections. Headings are CommonMark's, so that a line of code
    that begins with # is none. Fields in YAML before the text are a section.

    Attributes:
        level: Lowest heading that begins a passage: 2 cuts at # and ##.
    """

    libraries: ClassVar[Sequence[str]] = ("markdown-it-py",)

    size: Annotated[int, Between(1)] = 1000
    level: Annotated[int, Between(1, 6)] = 6

    def _cut(self, text: str, ruler: Ruler) -> Sequence[Span]:
        spans: list[Span] = []
        for section in _sections(text, self.level):
            parts = list(pieces(text, section, ruler, self.size, SEPARATORS))
            spans += joined(text, parts, ruler, self.size, self.overlap)
        return spans


def _sections(text: str, level: int) -> Iterator[Span]:
    """Adjacent spans that begin at the headings of at most this level, and have more than headings."""
    headings = [(start, end) for start, end, depth in headings_in(text) if depth <= level]
    start = 0
    for (_, end), (following, _) in pairwise([(0, 0), *headings, (len(text), len(text))]):
        if text[end:following].strip():
            yield start, following
            start = following
    if start < len(text):
        yield start, len(text)


def headings_in(text: str) -> Iterator[tuple[int, int, int]]:
    """Start, end and level of each heading that is not within a list or a quotation."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark")
    parser.core.ruler.enableOnly(["normalize", "block"])  # what is within a line does not matter
    lines = [0, *(line_end.end() for line_end in LINE_END.finditer(text)), len(text)]
    fields = FRONT_MATTER.match(text)
    for token in parser.parse(NOT_LINE_END.sub(" ", fields[0]) + text[fields.end() :] if fields else text):
        if token.type == "heading_open" and token.level == 0 and token.map:
            first, after = token.map
            yield lines[first], lines[min(after, len(lines) - 1)], int(token.tag[1:])
