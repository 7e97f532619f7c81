"""The files of a finished sweep, and of a comparison."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ragsweep.core.csv_files import write_table
from ragsweep.core.drawing import drawing, save_charts
from ragsweep.report import report_charts, sweep_charts
from ragsweep.report.across import across_as_record, across_in_words, write_across_page
from ragsweep.report.record import as_record, write_record
from ragsweep.report.report_page import Origin, write_report
from ragsweep.report.rows import summary_of
from ragsweep.sweeps import AcrossDatasets, Decision


def write_sweep(folder: Path, decision: Decision, origin: Origin) -> None:
    """Write the tables, charts, decision and report of a sweep.

    Args:
        folder: The sweep's folder.
        decision: Its decision.
        origin: Command, run id, commit and start of the sweep.
    """
    results = folder / "results"
    results.mkdir(parents=True, exist_ok=True)
    summary = summary_of(decision)  # its tests are computed once, before the chart process gets its copy
    with drawing(folder / "charts", sweep_charts.reference_charts, decision):
        write_table(results / "summary_statistics.csv", summary)
        if decision.pairs is not None:
            write_table(results / "pairs.csv", decision.pairs)
        write_record(folder / "decision.json", as_record(decision, origin.run_id))
    with drawing(folder / "charts", report_charts.report_charts, decision) as charts:
        write_table(results / f"evaluation_results_{origin.started}.csv", decision.sweep.per_query)
    write_report(folder, decision, origin, charts)


def write_across(folder: Path, across: AcrossDatasets, folders: Sequence[Path], origin: Origin) -> None:
    """Write the decision and report of a sweep over several datasets, and below `datasets` those of each.

    Args:
        folder: The sweep's folder.
        across: The decision over the datasets.
        folders: The folder of each dataset, below it.
        origin: Command, run id, commit and start of the sweep.
    """
    of_one = replace(origin, across=across_in_words(across)[0])
    for own, decision in zip(folders, across.decisions, strict=True):
        write_sweep(own, decision, of_one)
    write_record(folder / "decision.json", across_as_record(across, origin.run_id))
    write_across_page(folder, across, folders, origin)


def write_comparison(path: Path, decision: Decision, origin: Origin) -> None:
    """Write a comparison of runs as an HTML page.

    Args:
        path: Path of the page.
        decision: The decision between them.
        origin: How the comparison was started.
    """
    with tempfile.TemporaryDirectory() as folder:
        charts = save_charts(Path(folder) / "charts", report_charts.report_charts, decision)
        write_report(Path(folder), decision, origin, charts)
        shutil.copyfile(Path(folder) / "report.html", path)
