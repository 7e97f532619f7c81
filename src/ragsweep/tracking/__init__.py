"""Records runs and sweeps in MLflow and reads them back. MLflow loads when it is used."""

from typing import TYPE_CHECKING

from ragsweep.core import lazy_names

if TYPE_CHECKING:
    from ragsweep.tracking.decision_tags import LaterDecision, add_decision
    from ragsweep.tracking.journal import Journal
    from ragsweep.tracking.mlflow_names import params_of
    from ragsweep.tracking.recorded_environment import requirements, write_environment
    from ragsweep.tracking.registry import RegisteredRetriever, move_alias, register, registered, version_of_run
    from ragsweep.tracking.retriever_spans import ListedTraces, fetch_spans, list_traces
    from ragsweep.tracking.run_record import (
        close_all,
        close_open,
        close_orphans,
        earlier_start,
        failures,
        finished_before,
        finished_with,
        open_run,
        record,
    )
    from ragsweep.tracking.store_address import how_to_open, own_store, run_address, store_overrides
    from ragsweep.tracking.stored_run import StoredRun
    from ragsweep.tracking.sweep_end import OpenSweep, finish, print_missing_runs, push, push_command
    from ragsweep.tracking.sweep_runs import (
        fetch,
        fetch_outcomes,
        fetch_race,
        fetch_racers,
        fetch_run,
        fetch_text,
        finished_jobs,
    )
    from ragsweep.tracking.tracked_job import Job, metrics_of
    from ragsweep.tracking.tracking_store import check_uri
    from ragsweep.tracking.view import print_latest_sweep

__all__ = ["Job", "Journal", "LaterDecision", "ListedTraces", "OpenSweep", "RegisteredRetriever", "StoredRun"]
__all__ += ["add_decision", "check_uri", "close_all", "close_open", "close_orphans", "earlier_start", "failures"]
__all__ += ["fetch", "fetch_outcomes", "fetch_race", "fetch_racers", "fetch_run", "fetch_spans", "fetch_text", "finish"]
__all__ += ["finished_before", "finished_jobs", "finished_with", "how_to_open", "list_traces", "metrics_of"]
__all__ += ["move_alias", "open_run", "own_store", "params_of", "print_latest_sweep", "print_missing_runs", "push"]
__all__ += ["push_command", "record", "register", "registered", "requirements", "run_address", "store_overrides"]
__all__ += ["version_of_run", "write_environment"]

__getattr__, __dir__ = lazy_names(__name__)
