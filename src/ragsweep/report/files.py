"""The files of a finished measurement and of a finished sweep."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ragsweep.datasets import Dataset
from ragsweep.evaluation import Evaluation
from ragsweep.report import run_charts, sweep_charts, tables, trec
from ragsweep.report.background import in_background
from ragsweep.report.csv_files import write_table
from ragsweep.report.page import Chart, Origin, write_report
from ragsweep.report.style import plain_text, save
from ragsweep.report.sweep import Sweep

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def write_evaluation(
    folder: Path,
    evaluation: Evaluation,
    dataset: Dataset,
    passages: npt.NDArray[np.int64],
    scores: npt.NDArray[np.float64],
) -> None:
    """Write `results/` of one run.

    Args:
        folder: The run's folder.
        evaluation: The measurement.
        dataset: What it was measured on.
        passages: The retriever's ranking, shape [queries, depth].
        scores: Its scores, shape [queries, depth].
    """
    results = folder / "results"
    results.mkdir(parents=True, exist_ok=True)
    per_query = tables.per_query(evaluation, dataset)
    write_table(results / "per_query.csv", per_query)
    write_table(results / "summary_statistics.csv", tables.summary_statistics(evaluation))
    write_table(results / "by_query_type.csv", tables.by_query_type(per_query, evaluation.names))
    facts = json.dumps(tables.facts(evaluation, dataset), indent=2, ensure_ascii=False)
    (results / "evaluation.json").write_text(facts + "\n", encoding="utf-8")
    _write_lines(results / "ranking.trec", trec.run_lines(evaluation.judged, passages, scores, dataset, "ragsweep"))
    _write_lines(results / "qrels.trec", trec.qrels_lines(dataset))


@contextmanager
def drawing(folder: Path, evaluation: Evaluation) -> Iterator[None]:
    """Draw the charts of one run while the block does something else; they are in `charts/` when it ends.

    Args:
        folder: The run's folder.
        evaluation: The measurement.
    """
    with _drawing(folder / "charts", run_charts.draw, evaluation):
        yield


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
    with _drawing(folder / "charts", sweep_charts.of_settings, sweep) as of_settings:
        write_table(results / "summary_statistics.csv", sweep.summary_statistics)
    with _drawing(folder / "charts", sweep_charts.of_decision, sweep) as of_decision:
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
        charts = [*_save(drawn, sweep_charts.of_decision, sweep), *_save(drawn, sweep_charts.of_settings, sweep)]
        write_report(Path(folder), sweep, Origin(command, "", "", started), charts)
        shutil.copyfile(Path(folder) / "report.html", path)


@contextmanager
def _drawing(folder: Path, draw: Callable[..., Iterable[tuple[str, Figure]]], *args: Any) -> Iterator[list[Chart]]:
    """Draw charts while the block does something else; the list is filled when it ends."""
    charts: list[Chart] = []
    wait = in_background(_save, folder, draw, *args)
    try:
        yield charts
    except BaseException:
        with suppress(Exception):  # the charts' answer is taken, and the error stays the one that is raised
            wait()
        raise
    charts += wait()


def _save(folder: Path, draw: Callable[..., Iterable[tuple[str, Figure]]], *args: Any) -> list[Chart]:
    """Write the charts that `draw` makes."""
    charts = []
    with plain_text():
        for name, chart in draw(*args):
            save(chart, folder / name)
            charts.append(Chart(name, chart.texts[0].get_text()))
    return charts


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(lines)
