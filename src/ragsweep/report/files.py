"""The files of a finished sweep, and of a comparison."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from ragsweep.core.csv_files import write_table
from ragsweep.core.drawing import drawing, save_charts
from ragsweep.report import sweep_charts
from ragsweep.report.page import Origin, write_report
from ragsweep.sweeps import Sweep


def write_sweep(folder: Path, sweep: Sweep, origin: Origin) -> str:
    """Write the tables, charts and report of a sweep.

    Args:
        folder: The sweep's folder.
        sweep: Its runs.
        origin: Where it comes from.

    Returns:
        The report, in Markdown.
    """
    results = folder / "results"
    results.mkdir(parents=True, exist_ok=True)
    _ = sweep.table  # once for the charts' process and this one, as the decision
    with drawing(folder / "charts", sweep_charts.of_settings, sweep) as of_settings:
        write_table(results / "summary_statistics.csv", sweep.summary_statistics)
    with drawing(folder / "charts", sweep_charts.of_decision, sweep) as of_decision:
        write_table(results / f"evaluation_results_{origin.started}.csv", sweep.per_query)
    return write_report(folder, sweep, origin, [*of_decision, *of_settings])


def write_comparison(path: Path, sweep: Sweep, command: str, started: str) -> None:
    """Write runs side by side as a page.

    Args:
        path: The page.
        sweep: The runs.
        command: What compares them again.
        started: YYYYMMDD_HHMMSS.
    """
    with tempfile.TemporaryDirectory() as folder:
        drawn = Path(folder) / "charts"
        charts = [
            *save_charts(drawn, sweep_charts.of_decision, sweep),
            *save_charts(drawn, sweep_charts.of_settings, sweep),
        ]
        write_report(Path(folder), sweep, Origin(command, "", "", started), charts)
        shutil.copyfile(Path(folder) / "report.html", path)
