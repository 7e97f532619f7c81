"""ragsweep: which retrieval configuration should I ship, and can I trust that answer?

In a notebook: `sweep` runs a sweep and returns its decision, `decision` decides a finished one, `evaluate` measures
rankings of any origin, `runs` and `per_query` read what was measured before, `plot` draws the figures of the report.
In production: `load` loads an exported retriever.
"""

from typing import TYPE_CHECKING

from ragsweep.core import lazy_names

if TYPE_CHECKING:
    from ragsweep import plot
    from ragsweep.production.loaded_retriever import Hit
    from ragsweep.production.loading import load
    from ragsweep.replay.from_python import decision, sweep
    from ragsweep.tasks.ranking.external import evaluate
    from ragsweep.tracking.run_tables import per_query, runs

__all__ = ["Hit", "decision", "evaluate", "load", "per_query", "plot", "runs", "sweep"]

__getattr__, __dir__ = lazy_names(__name__)
