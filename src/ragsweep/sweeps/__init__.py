"""The outcomes of a sweep, compared with each other, and the decision between them."""

from ragsweep.sweeps.columns import with_own_columns
from ragsweep.sweeps.naming import short_names
from ragsweep.sweeps.outcome import Outcome
from ragsweep.sweeps.side_by_side import side_by_side
from ragsweep.sweeps.sweep import Sweep

__all__ = ["Outcome", "Sweep", "short_names", "side_by_side", "with_own_columns"]
