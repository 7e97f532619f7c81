"""One finished run of a sweep."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from ragsweep.statistics.intervals import Array
from ragsweep.tasks.facts import Facts

NAMED = "configuration"  # the setting that chooses one of several named configurations


@dataclass(frozen=True, eq=False)  # tables have no truth value
class Outcome:
    """One finished run.

    Attributes:
        name: The run's name, such as `alpha=0.7 k=5`.
        run_id: The tracking store's name for it; empty where the store lacks it.
        swept: The swept settings and their values.
        settings: All settings that were used, as the tracking store has them.
        per_query: The run's table of queries.
        facts: What its `results/evaluation.json` says.
        resampled: Each aggregate in each bootstrap resample, shape [resamples].
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
        """What was asked and how it is measured: only runs in which all of it is the same can be compared."""
        measures = {name: value for name, value in self.settings.items() if name.startswith("evaluation.")}
        measures.pop("evaluation.resamples", None)
        return {"dataset": self.facts.digest, "queries": list(self.per_query["query_id"]), **measures}

    @property
    def method(self) -> str:
        """How this run does it, in a few words: as its configuration is called, or as it says of itself."""
        chosen = [self.swept.get(name, self.settings.get(name)) for name in self.facts.method.chosen_by]
        return str(self.swept.get(NAMED) or self.facts.method.name or " ".join(map(str, chosen)))

    @property
    def order(self) -> float:
        """Where its method stands among others: by the value of what it stands for."""
        return float(next(iter(self.facts.method.stands_for.values()), np.nan))
