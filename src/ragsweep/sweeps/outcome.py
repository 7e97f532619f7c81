"""One finished run of a sweep."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ragsweep.statistics.intervals import Array
from ragsweep.tasks.facts import Facts

if TYPE_CHECKING:
    import pandas as pd

NAMED = "configuration"  # the setting that selects a named configuration


@dataclass(frozen=True, eq=False)  # tables cannot be compared with ==
class Outcome:
    """One finished run.

    Attributes:
        name: The run's name, such as `alpha=0.7 k=5`.
        run_id: Run id in the tracking store; empty if the run is not in the store.
        swept: The swept settings and their values.
        settings: All settings that were used, as logged to the tracking store.
        per_query: A row per query, with its metrics.
        facts: Contents of `results/evaluation.json`.
        resampled: Values of each aggregate metric in the bootstrap resamples, shape [resamples].
    """

    name: str
    run_id: str
    swept: Mapping[str, Any]
    settings: Mapping[str, str]
    per_query: pd.DataFrame
    facts: Facts
    resampled: Mapping[str, Array] = field(default_factory=dict)

    @property
    def task(self) -> dict[str, Any]:
        """The dataset, its queries and the evaluation settings. Runs can be compared only if all of these are equal."""
        measures = {name: value for name, value in self.settings.items() if name.startswith("evaluation.")}
        measures.pop("evaluation.resamples", None)
        return {"dataset": self.facts.digest, "queries": list(self.per_query["query_id"]), **measures}

    @property
    def method(self) -> str:
        """Short name of the method: the name of the configuration, or the name that the method gives itself."""
        chosen = [self.swept.get(name, self.settings.get(name)) for name in self.facts.method.chosen_by]
        return str(self.swept.get(NAMED) or self.facts.method.name or " ".join(map(str, chosen)))

    @property
    def order(self) -> float:
        """Sort key of the method: the value of the setting that it stands for. NaN if there is none."""
        return float(next(iter(self.facts.method.stands_for.values()), np.nan))
