"""The outcomes of a sweep, compared with each other, and the decision between them."""

from ragsweep.sweeps.across_datasets import AcrossDatasets
from ragsweep.sweeps.choice import Choice
from ragsweep.sweeps.configuration_names import short_names
from ragsweep.sweeps.decision import Decision, decide, decide_each
from ragsweep.sweeps.decision_settings import DecisionSettings, check_at, check_decision, check_margin
from ragsweep.sweeps.outcome import Outcome
from ragsweep.sweeps.promises import Promise, at_each_cutoff
from ragsweep.sweeps.side_by_side import side_by_side, with_own_columns
from ragsweep.sweeps.sweep import Sweep
from ragsweep.sweeps.tradeoff import CostFront
from ragsweep.sweeps.unread_answers import Recount, UnreadAnswers

__all__ = [
    "AcrossDatasets",
    "Choice",
    "CostFront",
    "Decision",
    "DecisionSettings",
    "Outcome",
    "Promise",
    "Recount",
    "Sweep",
    "UnreadAnswers",
    "at_each_cutoff",
    "check_at",
    "check_decision",
    "check_margin",
    "decide",
    "decide_each",
    "short_names",
    "side_by_side",
    "with_own_columns",
]
