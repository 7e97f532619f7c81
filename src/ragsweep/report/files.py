"""The files of a finished measurement and of a finished sweep."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from ragsweep.datasets import Dataset
from ragsweep.evaluation import Evaluation
from ragsweep.report import run_charts, sweep_charts, tables, text, trec
from ragsweep.report.style import save
from ragsweep.report.sweep import Sweep


def write_evaluation(
    folder: Path,
    evaluation: Evaluation,
    dataset: Dataset,
    passages: npt.NDArray[np.int64],
    scores: npt.NDArray[np.float64],
    *,
    resamples: int,
    seed: int,
) -> None:
    """Write `results/` and `charts/` of one run.

    Args:
        folder: The run's folder.
        evaluation: The measurement.
        dataset: What it was measured on.
        passages: The retriever's ranking, shape [queries, depth].
        scores: Its scores, shape [queries, depth].
        resamples: Bootstrap resamples behind the charts' intervals.
        seed: Seed of the bootstrap.
    """
    results = folder / "results"
    results.mkdir(parents=True, exist_ok=True)
    per_query = tables.per_query(evaluation, dataset)
    _write_table(results / "per_query.csv", per_query)
    _write_table(results / "summary_statistics.csv", tables.summary_statistics(per_query, evaluation.names))
    _write_table(results / "by_query_type.csv", tables.by_query_type(per_query, evaluation.names))
    facts = json.dumps(tables.facts(evaluation, dataset), indent=2, ensure_ascii=False)
    (results / "evaluation.json").write_text(facts + "\n", encoding="utf-8")
    _write_lines(results / "ranking.trec", trec.run_lines(evaluation.judged, passages, scores, dataset, "ragsweep"))
    _write_lines(results / "qrels.trec", trec.qrels_lines(dataset))
    for name, chart in run_charts.draw(evaluation, resamples, seed):
        save(chart, folder / "charts" / name)


def write_sweep(folder: Path, sweep: Sweep, command: str, timestamp: str) -> str:
    """Write the tables, charts and report of a sweep.

    Args:
        folder: The sweep's folder.
        sweep: Its runs.
        command: What started the sweep.
        timestamp: Of the sweep's start, YYYYMMDD_HHMMSS.

    Returns:
        The report, in Markdown.
    """
    results = folder / "results"
    results.mkdir(parents=True, exist_ok=True)
    _write_table(results / f"evaluation_results_{timestamp}.csv", sweep.per_query)
    _write_table(results / "summary_statistics.csv", sweep.summary_statistics)
    charts = []
    for name, chart in sweep_charts.draw(sweep):
        save(chart, folder / "charts" / name)
        charts.append(name)
    report = text.markdown(sweep, command, charts)
    (folder / "report.md").write_text(report, encoding="utf-8")
    return report


def _write_table(path: Path, table: pd.DataFrame) -> None:
    table.to_csv(path, index=False, lineterminator="\n")


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(lines)
