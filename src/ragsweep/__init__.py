"""ragsweep: which retrieval configuration should I ship, and can I trust that answer?

In a notebook: `sweep` runs a sweep and returns its decision, `decision` decides a finished one, `evaluate` measures
rankings of any origin, `runs` and `per_query` read what was measured before, `plot` draws the figures of the report.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragsweep import plot
    from ragsweep.replay.from_python import decision, sweep
    from ragsweep.tasks.ranking.external import evaluate
    from ragsweep.tracking.tables import per_query, runs

__all__ = ["decision", "evaluate", "per_query", "plot", "runs", "sweep"]

_HOMES = {
    "decision": "ragsweep.replay.from_python",
    "evaluate": "ragsweep.tasks.ranking.external",
    "per_query": "ragsweep.tracking.tables",
    "runs": "ragsweep.tracking.tables",
    "sweep": "ragsweep.replay.from_python",
}


def __getattr__(name: str) -> object:
    """Import a function when it is first asked for: whoever imports ragsweep does not wait for MLflow or pandas."""
    if name == "plot":
        return import_module("ragsweep.plot")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
