"""The files of a finished measurement."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ragsweep.core.csv_files import write_table
from ragsweep.datasets import Dataset
from ragsweep.tasks.ranking import tables, trec
from ragsweep.tasks.ranking.evaluation import Evaluation


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


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(lines)
