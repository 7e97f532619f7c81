"""Changes the tables of a web page so that Markdown can show them: without merged cells or tables in cells."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bs4 import BeautifulSoup, Tag

MOST_MERGED = 100  # columns or rows that a cell can take up
MOST_CELLS = 100_000  # empty ones that are put into the tables of a page


def flatten_tables(soup: BeautifulSoup) -> None:
    """Write tables that are in a cell as text, and put empty cells where a cell takes up several columns or rows.

    Raises:
        ValueError: The merged cells of a table are very many.
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
    added = 0
    for row in table("tr"):
        after: dict[int, int] = {}
        cells: list[Any] = row(["td", "th"])
        columns: list[Any] = []
        for cell in [*cells, None]:
            while taken.get(len(columns)):
                after[len(columns)] = taken[len(columns)] - 1
                columns.append(soup.new_tag("td"))
            if cell is None:
                break
            width, height = _merged(cell, "colspan"), _merged(cell, "rowspan")
            if height > 1:
                after |= dict.fromkeys(range(len(columns), len(columns) + width), height - 1)
            columns += [cell, *(soup.new_tag(cell.name) for _ in range(width - 1))]
        added += len(columns) - len(cells)
        if added > MOST_CELLS:
            raise ValueError(f"the merged cells of a table are more than {MOST_CELLS:,}")
        if len(columns) > len(cells):
            row.clear()
            for column in columns:
                row.append(column)
        taken = after | {place: left - 1 for place, left in taken.items() if place not in after and left > 1}


def _merged(cell: Any, attribute: str) -> int:
    """How many columns or rows a cell takes up; 1 where the page says nothing that is a number, as in a browser."""
    number = re.match(r"\s*([0-9]{1,9})", str(cell.attrs.pop(attribute, "")))
    return min(max(int(number[1]), 1), MOST_MERGED) if number else 1
