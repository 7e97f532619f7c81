"""Records runs and sweeps in MLflow and reads them back. Nothing else imports MLflow; it loads when it is used."""

from typing import TYPE_CHECKING

from ragsweep.core.lazy import lazy_names

if TYPE_CHECKING:
    from ragsweep.tracking.earlier import earlier_start, finished_before, finished_with
    from ragsweep.tracking.fetching import History, Recorded, fetch, fetch_outcomes, fetch_run
    from ragsweep.tracking.finishing import OpenSweep, finish, say_what_waits
    from ragsweep.tracking.names import params_of
    from ragsweep.tracking.numbers import metrics_of
    from ragsweep.tracking.orphans import close_open, close_orphans
    from ragsweep.tracking.recorded_environment import code_version, requirements, write_environment
    from ragsweep.tracking.run_record import RunRecord, close_all, failures, open_run, record
    from ragsweep.tracking.sweep_runs import finished_here
    from ragsweep.tracking.tracked_job import Job
    from ragsweep.tracking.tracking_store import check_store
    from ragsweep.tracking.ui_addresses import run_address, server_hint
    from ragsweep.tracking.uploads import push, push_command
    from ragsweep.tracking.view import print_latest_sweep

__all__ = [
    "History",
    "Job",
    "OpenSweep",
    "Recorded",
    "RunRecord",
    "check_store",
    "close_all",
    "close_open",
    "close_orphans",
    "code_version",
    "earlier_start",
    "failures",
    "fetch",
    "fetch_outcomes",
    "fetch_run",
    "finish",
    "finished_before",
    "finished_here",
    "finished_with",
    "metrics_of",
    "open_run",
    "params_of",
    "print_latest_sweep",
    "push",
    "push_command",
    "record",
    "requirements",
    "run_address",
    "say_what_waits",
    "server_hint",
    "write_environment",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "earlier": ["earlier_start", "finished_before", "finished_with"],
        "recorded_environment": ["code_version", "requirements", "write_environment"],
        "fetching": ["History", "Recorded", "fetch", "fetch_outcomes", "fetch_run"],
        "finishing": ["OpenSweep", "finish", "say_what_waits"],
        "tracked_job": ["Job"],
        "names": ["params_of"],
        "numbers": ["metrics_of"],
        "orphans": ["close_open", "close_orphans"],
        "run_record": ["RunRecord", "close_all", "failures", "open_run", "record"],
        "tracking_store": ["check_store"],
        "sweep_runs": ["finished_here"],
        "ui_addresses": ["run_address", "server_hint"],
        "uploads": ["push", "push_command"],
        "view": ["print_latest_sweep"],
    },
)
