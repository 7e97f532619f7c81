"""Records runs and sweeps in MLflow and reads them back. MLflow loads when it is used."""

from typing import TYPE_CHECKING

from ragsweep.core.lazy import lazy_names

if TYPE_CHECKING:
    from ragsweep.tracking.earlier import earlier_start, finished_before, finished_with
    from ragsweep.tracking.fetching import fetch, fetch_outcomes, fetch_run, fetch_text
    from ragsweep.tracking.finishing import OpenSweep, finish, say_what_waits
    from ragsweep.tracking.journal import Journal
    from ragsweep.tracking.later_decision import LaterDecision, add_decision, record_decision
    from ragsweep.tracking.names import params_of
    from ragsweep.tracking.numbers import metrics_of
    from ragsweep.tracking.orphans import close_open, close_orphans
    from ragsweep.tracking.recorded_environment import requirements, write_environment
    from ragsweep.tracking.registry import RegisteredRetriever, move_alias, register, registered, version_of_run
    from ragsweep.tracking.retriever_spans import ListedTraces, fetch_spans, list_traces
    from ragsweep.tracking.run_record import close_all, failures, open_run, record
    from ragsweep.tracking.stored_run import StoredRun
    from ragsweep.tracking.sweep_runs import finished_here
    from ragsweep.tracking.tracked_job import Job
    from ragsweep.tracking.tracking_store import check_uri
    from ragsweep.tracking.ui_addresses import how_to_open, run_address
    from ragsweep.tracking.uploads import push, push_command
    from ragsweep.tracking.view import print_latest_sweep

__all__ = [
    "Job",
    "Journal",
    "LaterDecision",
    "ListedTraces",
    "OpenSweep",
    "RegisteredRetriever",
    "StoredRun",
    "add_decision",
    "check_uri",
    "close_all",
    "close_open",
    "close_orphans",
    "earlier_start",
    "failures",
    "fetch",
    "fetch_outcomes",
    "fetch_run",
    "fetch_spans",
    "fetch_text",
    "finish",
    "finished_before",
    "finished_here",
    "finished_with",
    "how_to_open",
    "list_traces",
    "metrics_of",
    "move_alias",
    "open_run",
    "params_of",
    "print_latest_sweep",
    "push",
    "push_command",
    "record",
    "record_decision",
    "register",
    "registered",
    "requirements",
    "run_address",
    "say_what_waits",
    "version_of_run",
    "write_environment",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "earlier": ["earlier_start", "finished_before", "finished_with"],
        "recorded_environment": ["requirements", "write_environment"],
        "fetching": ["fetch", "fetch_outcomes", "fetch_run", "fetch_text"],
        "finishing": ["OpenSweep", "finish", "say_what_waits"],
        "tracked_job": ["Job"],
        "journal": ["Journal"],
        "later_decision": ["LaterDecision", "add_decision", "record_decision"],
        "names": ["params_of"],
        "numbers": ["metrics_of"],
        "orphans": ["close_open", "close_orphans"],
        "retriever_spans": ["ListedTraces", "fetch_spans", "list_traces"],
        "registry": ["RegisteredRetriever", "move_alias", "register", "registered", "version_of_run"],
        "run_record": ["close_all", "failures", "open_run", "record"],
        "tracking_store": ["check_uri"],
        "stored_run": ["StoredRun"],
        "sweep_runs": ["finished_here"],
        "ui_addresses": ["how_to_open", "run_address"],
        "uploads": ["push", "push_command"],
        "view": ["print_latest_sweep"],
    },
)
