"""Changes the tables of a web page so that Markdown can show them: without merged cells or tables in cells."""

from __future__ import annotations

from itertools import chain, repeat
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bs4 import BeautifulSoup, Tag

MOST_MERGED = 100  # columns or rows that a cell can take up


def flatten_tables(soup: BeautifulSoup) -> None:
    """Write tables that are in a cell as text, and put empty cells where a cell takes up several columns or rows.

    Raises:
        ValueError: The number of columns or rows of a cell is none.
    """
    tables = soup("table")
    for table in reversed(tables):  # the innermost first
        if table.find_parent(["td", "th"]) is not None:
            table.replace_with(f" {_as_text(table)} ")
        else:
            _split_cells(soup, table)


def _as_text(table: Tag) -> str:
    rows = ([" ".join(cell.get_text(" ").split()) for cell in row(["td", "th"])] for row in table("tr"))
    return "; ".join(", ".join(filter(None, cells)) for cells in rows)


def _split_cells(soup: BeautifulSoup, table: Tag) -> None:
    """Let each cell take up one column and one row."""
    taken: dict[int, int] = {}  # how many further rows a column is taken up for
    for row in table("tr"):
        column, after = 0, dict[int, int]()
        cells: list[Any] = row(["td", "th"])
        for cell in [*cells, None]:
            while taken.get(column):
                after[column] = taken[column] - 1
                empty = soup.new_tag("td")
                row.append(empty) if cell is None else cell.insert_before(empty)
                column += 1
            if cell is None:
                break
            width, height = (min(int(cell.attrs.pop(name, 1)), MOST_MERGED) for name in ("colspan", "rowspan"))
            for further in chain([False], repeat(True, width - 1)):
                if height > 1:
                    after[column] = height - 1
                if further:
                    cell.insert_after(soup.new_tag(cell.name))
                column += 1
        taken = after | {place: left - 1 for place, left in taken.items() if place not in after and left > 1}
