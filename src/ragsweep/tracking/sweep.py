"""The life of a sweep in MLflow: a parent run, opened before the first job and closed after the last."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pandas as pd
from mlflow import MlflowClient
from mlflow.entities import Run

from ragsweep.report.sweep import Outcome, Sweep
from ragsweep.tracking.environment import write_environment
from ragsweep.tracking.run import SWEPT, Job, RunRecord
from ragsweep.tracking.store import open_store

PAGE = 1000
LONGEST_NOTE = 7000  # characters; MLflow cuts a tag at 8000


def close_open(job: Job, parent: RunRecord) -> None:
    """Close as KILLED the runs that are still open when the sweep is over: their workers are gone."""
    client, _ = open_store(job.tracking)
    for run in _children(client, parent.run_id):
        if run.info.status == "RUNNING":
            client.set_terminated(run.info.run_id, "KILLED")


def collect(job: Job, parent: RunRecord) -> Sweep:
    """Read the sweep's runs back from the store, in the order in which they were started."""
    client, _ = open_store(job.tracking)
    outcomes: list[Outcome] = []
    unfinished: dict[str, str] = {}
    for run in _children(client, parent.run_id):
        if run.info.status == "FINISHED":
            table = client.download_artifacts(run.info.run_id, "results/per_query.csv")
            swept = json.loads(run.data.tags[SWEPT])
            outcomes.append(Outcome(run.info.run_name, swept, dict(run.data.params), _read(Path(table))))
        else:
            unfinished[run.info.run_name] = run.info.status
    return Sweep(outcomes, unfinished)


def _read(table: Path) -> pd.DataFrame:
    """A run's table as it was written: the same numbers to the last bit, and a query called "NA" no missing value."""
    texts = dict.fromkeys(("query_id", "query", "query_type", "retrieved", "relevant"), str)
    return pd.read_csv(table, dtype=texts, na_filter=False, float_precision="round_trip")


def _children(client: MlflowClient, parent_run_id: str) -> list[Run]:
    """The sweep's runs; those over several datasets lie in several experiments."""
    experiments = [experiment.experiment_id for experiment in client.search_experiments()]
    runs: list[Run] = []
    token: str | None = None
    while True:
        page = client.search_runs(
            experiments,
            f"tags.`mlflow.parentRunId` = '{parent_run_id}'",
            max_results=PAGE,
            order_by=["attributes.start_time ASC"],
            page_token=token,
        )
        runs += page
        token = page.token
        if not token:
            return runs


def _note(report: str) -> str:
    """The report, cut at a line where it is longer than MLflow keeps."""
    if len(report) <= LONGEST_NOTE:
        return report
    return report[:LONGEST_NOTE].rpartition("\n")[0] + "\n\nThe whole table is in report.md.\n"


def close_sweep(parent: RunRecord, sweep: Sweep, folder: Path, description: str, status: str) -> None:
    """Upload the sweep's tables and charts, name the best configuration in tags, and end the parent run."""
    tags: Mapping[str, str] = {}
    parts = sweep.by_dataset
    if len(parts) == 1:
        best = parts[0].best
        settings = {f"best.{name}": str(best[name]) for name in parts[0].swept}
        tags = {"best.configuration": best["configuration"], "best.f1": f"{best['f1']:.6f}", **settings}
    parent.tag({**tags, "mlflow.note.content": _note(description)})
    write_environment(folder)
    parent.log_files(folder)
    parent.close(status)
