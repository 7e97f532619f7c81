"""The only place that knows MLflow: runs, sweeps, and where the UI shows them."""

from ragsweep.tracking.environment import write_environment
from ragsweep.tracking.run import Job, RunRecord, failures, open_run, record
from ragsweep.tracking.store import open_store, run_address, server_hint, sweep_address
from ragsweep.tracking.sweep import close_open, close_sweep, collect

__all__ = [
    "Job",
    "RunRecord",
    "close_open",
    "close_sweep",
    "collect",
    "failures",
    "open_run",
    "open_store",
    "record",
    "run_address",
    "server_hint",
    "sweep_address",
    "write_environment",
]
