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
        origin: Command, run id, commit and start of the sweep.

    Returns:
        The report, in Markdown.
    """
    results = folder / "results"
    results.mkdir(parents=True, exist_ok=True)
    _ = sweep.table  # computed once, before the chart process gets its copy
    with drawing(folder / "charts", sweep_charts.of_settings, sweep) as of_settings:
        write_table(results / "summary_statistics.csv", sweep.summary_statistics)
    with drawing(folder / "charts", sweep_charts.of_decision, sweep) as of_decision:
        write_table(results / f"evaluation_results_{origin.started}.csv", sweep.per_query)
    return write_report(folder, sweep, origin, [*of_decision, *of_settings])


def write_comparison(path: Path, sweep: Sweep, command: str, started: str) -> None:
    """Write a comparison of runs as an HTML page.

    Args:
        path: Path of the page.
        sweep: The runs.
        command: The command that repeats the comparison.
        started: Start time, YYYYMMDD_HHMMSS.
    """
    with tempfile.TemporaryDirectory() as folder:
        drawn = Path(folder) / "charts"
        charts = [
            *save_charts(drawn, sweep_charts.of_decision, sweep),
            *save_charts(drawn, sweep_charts.of_settings, sweep),
        ]
        write_report(Path(folder), sweep, Origin(command, "", "", started), charts)
        shutil.copyfile(Path(folder) / "report.html", path)
