"""One finished run of a sweep, and how it retrieves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from ragsweep.sweeps.naming import as_number
from ragsweep.tasks.ranking.facts import Facts

ALPHA = "retriever.alpha"
NAMED = "configuration"  # the setting that chooses one of several named configurations
METHOD_SETTINGS = (NAMED, "retriever", ALPHA)  # settings that say how passages are retrieved


@dataclass(frozen=True, eq=False)  # tables have no truth value
class Outcome:
    """One finished run.

    Attributes:
        name: The run's name, such as `alpha=0.7 k=5`.
        run_id: The tracking store's name for it; empty where the store lacks it.
        swept: The swept settings and their values.
        settings: All settings that took effect, as the tracking store has them.
        per_query: The run's table of queries.
        facts: What its `results/evaluation.json` says.
    """

    name: str
    run_id: str
    swept: Mapping[str, Any]
    settings: Mapping[str, str]
    per_query: pd.DataFrame
    facts: Facts

    @property
    def task(self) -> dict[str, Any]:
        """What was asked and how it is measured: only runs in which all of it is the same can be compared."""
        measures = {name: value for name, value in self.settings.items() if name.startswith("evaluation.")}
        measures.pop("evaluation.resamples", None)
        return {"dataset": self.facts.digest, "queries": list(self.per_query["query_id"]), **measures}


def alpha_of(outcome: Outcome) -> float | int | None:
    """The weight of the dense part: 0 of sparse retrieval, 1 of dense; None of a retriever that is not ours."""
    retriever = outcome.settings.get("retriever", "")
    if retriever != "HybridRetriever":
        return {"SparseRetriever": 0, "DenseRetriever": 1}.get(retriever)
    alpha = as_number(outcome.settings.get(ALPHA, ""))
    return None if isinstance(alpha, str) else alpha


def is_sparse(outcome: Outcome) -> bool:
    """Whether this run retrieves by words alone, without an encoder."""
    return alpha_of(outcome) == 0


def method_of(outcome: Outcome) -> str:
    """How this run retrieves, in a few words."""
    if NAMED in outcome.swept:
        return str(outcome.swept[NAMED])
    alpha = alpha_of(outcome)
    if alpha is None or outcome.settings["retriever"] != "HybridRetriever":
        return str(outcome.swept.get("retriever", outcome.settings.get("retriever", "")))
    kind = "pure dense" if alpha == 1 else "pure sparse" if alpha == 0 else "hybrid"
    return f"{kind}, alpha {alpha:g}"
