"""The only place that knows MLflow: runs, sweeps, and where the UI shows them."""

from ragsweep.address import check_address
from ragsweep.tracking.environment import code_version, requirements, write_environment
from ragsweep.tracking.fetch import History, Recorded, fetch, fetch_outcomes, fetch_run
from ragsweep.tracking.names import check_names, params_of
from ragsweep.tracking.run import Job, RunRecord, close_all, failures, metrics_of, open_run, record
from ragsweep.tracking.store import check_store, run_address, server_hint
from ragsweep.tracking.sweep import (
    close_open,
    close_orphans,
    close_sweep,
    collect,
    finished_before,
    finished_here,
    finished_with,
    stored,
    unfinished_sweep,
)
from ragsweep.tracking.uploads import push, push_command, waiting
from ragsweep.tracking.view import leave_view, print_latest_sweep, sweep_address

__all__ = [
    "History",
    "Job",
    "Recorded",
    "RunRecord",
    "check_address",
    "check_names",
    "check_store",
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
    "leave_view",
    "metrics_of",
    "open_run",
    "params_of",
    "print_latest_sweep",
    "push",
    "push_command",
    "record",
    "requirements",
    "run_address",
    "server_hint",
    "stored",
    "sweep_address",
    "unfinished_sweep",
    "waiting",
    "write_environment",
]
