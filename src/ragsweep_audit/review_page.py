"""A page for the browser on which people judge units; it saves the table that `ragsweep review --apply` reads."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

TEMPLATE = Path(__file__).with_name("review_page.html")
ROWS, TITLE = "__ROWS__", "__TITLE__"


def write_page(path: Path, dataset: str, rows: Sequence[NamedTuple]) -> None:
    """Write a new, self-contained page.

    Args:
        path: The file, which must not exist.
        dataset: Name of the dataset.
        rows: What is to be judged; the fields are the columns of the table.
    """
    values = [row._asdict() for row in rows]
    template = TEMPLATE.read_text(encoding="utf-8")
    with path.open("x", encoding="utf-8") as file:
        file.write(template.replace(TITLE, _as_script(dataset)).replace(ROWS, _as_script(values)))


def _as_script(value: object) -> str:
    """A value as JavaScript that cannot end the script: texts come from anybody's documents."""
    return json.dumps(value, ensure_ascii=True).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
