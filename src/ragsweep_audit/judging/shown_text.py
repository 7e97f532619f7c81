"""What a judge reads of a unit: all its passages in reading order, with the one that is ranked highest marked."""

from __future__ import annotations

from typing import NamedTuple

from ragsweep.core.terminal import printable
from ragsweep.datasets import Dataset

LONGEST_SHOWN = 20_000  # characters; a cell of a spreadsheet holds 32,767


class Shown(NamedTuple):
    """The text of a unit.

    Attributes:
        where: Its document and page.
        before: What is before the passage that is ranked highest.
        match: That passage.
        after: What is after it.
    """

    where: str
    before: str
    match: str
    after: str

    def cut(self, most: int) -> Shown:
        """At most so many characters around the beginning of the passage, which say so where they are cut."""
        match = self.match[:most]
        room = most - len(match)
        behind = min(len(self.after), max(room // 2, room - len(self.before)))
        ahead = min(len(self.before), room - behind)
        first, last = len(self.before) - ahead, len(self.match) - len(match) + len(self.after) - behind
        before = (f"[... {first:,} more characters] " if first else "") + self.before[first:]
        after = self.after[:behind] + (f" [... {last:,} more characters]" if last else "")
        return Shown(*map(printable, (self.where, before, match, after)))

    @property
    def size(self) -> int:
        """Characters of the text."""
        return len(self.before) + len(self.match) + len(self.after)


def shown_unit(items: Dataset, unit: int, passage: int) -> Shown:
    """The text of a unit, put together from its passages, which may overlap.

    Args:
        items: What is searched.
        unit: Position of the unit.
        passage: Position of its passage that is ranked highest.
    """
    places = items.passages_of(unit).tolist()
    text, source, end = "", "", 0
    begins = 0  # of the passage, in the text
    for place in places:
        each = items.passages[place]
        if each.source != source:
            text += "\n\n" if text else ""
            source, end = each.source, each.start
        elif each.start > end:
            text += " " if each.start == end + 1 else "\n\n"
            end = each.start
        if place == passage:
            begins = len(text) - (end - each.start)
        text += each.text[end - each.start :]
        end = max(end, each.end)
    shown = items.passages[passage]
    ends = begins + len(shown.text)
    where = shown.source
    if items.unit == "page":
        own = (items.passages[each].page_number for each in places if items.passage_units[each] == unit)
        where += f", page {next(own, items.units[unit].rpartition('#')[2])}"
    return Shown(where, text[:begins], text[begins:ends], text[ends:])
