"""The only place that knows MLflow: runs, sweeps, and where the UI shows them."""

from ragsweep.tracking.environment import code_version, requirements, write_environment
from ragsweep.tracking.fetch import History, Recorded, fetch, fetch_outcomes, fetch_run
from ragsweep.tracking.journal import push, waiting
from ragsweep.tracking.run import Job, RunRecord, close_all, failures, metrics_of, open_run, record
from ragsweep.tracking.store import check_server, follow_moved, run_address, server_hint, sweep_address
from ragsweep.tracking.sweep import (
    close_open,
    close_orphans,
    close_sweep,
    collect,
    finished_before,
    finished_here,
    finished_with,
    unfinished_sweep,
)

__all__ = [
    "History",
    "Job",
    "Recorded",
    "RunRecord",
    "check_server",
    "close_all",
    "close_open",
    "close_orphans",
    "close_sweep",
    "code_version",
    "collect",
    "failures",
    "fetch",
    "fetch_outcomes",
    "fetch_run",
    "finished_before",
    "finished_here",
    "finished_with",
    "follow_moved",
    "metrics_of",
    "open_run",
    "push",
    "record",
    "requirements",
    "run_address",
    "server_hint",
    "sweep_address",
    "unfinished_sweep",
    "waiting",
    "write_environment",
]
