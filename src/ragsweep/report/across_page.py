"""The report of a sweep over several datasets: the decision over all of them, then each under its name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ragsweep.core.terminal import counted
from ragsweep.report.across_words import (
    about_across_table,
    across_in_words,
    across_table,
    across_title,
    alone,
    datasets_listed,
)
from ragsweep.report.claims import headline
from ragsweep.report.report_page import Origin, when, write_pages
from ragsweep.report.report_tables import cells
from ragsweep.sweeps import AcrossDatasets


def write_across_page(folder: Path, across: AcrossDatasets, folders: Sequence[Path], origin: Origin) -> None:
    """Write `report.html` and `report.md` of all datasets.

    Args:
        folder: The sweep's folder.
        across: The decision over the datasets.
        folders: The folder of each dataset's own report, below it.
        origin: How the sweep was started.
    """
    commit = f", commit {origin.commit}" if origin.commit else ""
    content: dict[str, Any] = {
        "title": across_title(across),
        "facts": f"{datasets_listed(across)}; {counted(len(across.outcomes), 'run')}, {when(origin.started)}{commit}",
        "headline": across_in_words(across),
        "unfinished": ", ".join(f"{name} ({status})" for name, status in across.unfinished.items()),
        "rows": across_table(across),
        "about_rows": "" if across.problem else about_across_table(across),
        "parts": [
            {
                "heading": alone(across, place),
                "headline": headline(decision),
                "rows": cells(decision),
                "page": (own / "report.html").relative_to(folder).as_posix(),
            }
            for place, (decision, own) in enumerate(zip(across.decisions, folders, strict=True))
        ],
        "command": origin.command,
    }
    write_pages(folder, "across", content)
