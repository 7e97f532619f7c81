"""The ranking of one query as text for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ragsweep.core.terminal import aligned, one_line

INDENT = " " * 6
LINES = 2  # of a passage's text
WORD_COLUMNS = (2, 3)
SHORTEST_UNIT = 8
ABSENT = ("-", "", "0")


class Place(NamedTuple):
    """The rank (from 1), score and normalised score of a passage in one of the fused rankings."""

    rank: int
    score: float
    normalised: float


class Line(NamedTuple):
    """A passage in the ranking, or a relevant unit that is not in the ranking.

    Attributes:
        rank: Rank from 1; None if it is not in the ranking.
        score: The score that decides the rank.
        unit: Name of its unit, for example of its page.
        judgment: Its relevance for the query, in a word or two.
        parts: Its place in each fused ranking, None if it is not in that ranking. Empty without fusion.
        remarks: Further lines about the passage. Longer ones are cut.
        text: Text of the passage.
    """

    rank: int | None
    score: float | None
    unit: str
    judgment: str
    parts: Mapping[str, Place | None]
    remarks: Sequence[str]
    text: str


def ranking_text(top: Sequence[Line], missed: Sequence[Line], k: int, unit: str, width: int) -> Iterator[str]:
    """The ranking within the cutoff, a line at the cutoff, and the relevant units that were missed.

    The unit is what is judged, such as a page; the width is that of the terminal, in columns.
    """
    parts = dict.fromkeys(name for line in [*top, *missed] for name in line.parts)
    titles = ["rank", "score", unit, "judged", *(title for name in parts for title in (name, "score", "norm"))]
    rows = [titles, *map(_cells, [*top, *missed])]
    excess = max(map(len, aligned(rows, WORD_COLUMNS))) - width
    longest = max(len(row[2]) for row in rows)
    for row in rows:
        row[2] = _end_of(row[2], max(SHORTEST_UNIT, longest - max(0, excess)))
    heading, *heads = aligned(rows, WORD_COLUMNS)
    yield heading
    for head, line in zip(heads[: len(top)], top, strict=True):
        yield from _block(head, line, width)
    if not top:
        yield f"{INDENT}nothing was retrieved"
    yield f"--- cutoff k={k} {'-' * width}"[:width]
    yield f"missed {unit}s:" if missed else f"no relevant {unit} was missed"
    for head, line in zip(heads[len(top) :], missed, strict=True):
        yield from _block(head, line, width)


def _block(head: str, line: Line, width: int) -> Iterator[str]:
    yield head
    for remark in line.remarks:
        yield from textwrap.wrap(remark, width, initial_indent=INDENT, max_lines=1, placeholder=" ...")
    yield from textwrap.wrap(
        one_line(line.text), width, initial_indent=INDENT, subsequent_indent=INDENT, max_lines=LINES, placeholder=" ..."
    )


def _cells(line: Line) -> list[str]:
    rank, score = ("-" if line.rank is None else str(line.rank)), ("" if line.score is None else f"{line.score:.4f}")
    cells = [rank, score, line.unit, line.judgment]
    for place in line.parts.values():
        cells += [f"#{place.rank}", f"{place.score:.4f}", f"{place.normalised:.4f}"] if place else ABSENT
    return cells


def _end_of(text: str, length: int) -> str:
    """The end of a name, which contains the page after the file name."""
    return text if len(text) <= length else f"...{text[3 - length :]}"
