"""Intervals, comparisons, selection, power and decisions: arrays in, arrays out."""

from ragsweep.statistics.comparison import (
    Comparison,
    ComparisonWithBest,
    compare_aggregates_with_best,
    compare_with_best,
    compare_with_reference,
    holm,
    randomisation_test,
)
from ragsweep.statistics.decision import LEVEL, WORTHWHILE, Decision, Power, decide, decide_by_aggregate
from ragsweep.statistics.intervals import confidence_intervals
from ragsweep.statistics.power import detectable_difference, queries_needed
from ragsweep.statistics.selection import Selection, SelectionByType, select, select_by_type, win_frequency
from ragsweep.statistics.spread import STATISTICS, spread

__all__ = [
    "LEVEL",
    "STATISTICS",
    "WORTHWHILE",
    "Comparison",
    "ComparisonWithBest",
    "Decision",
    "Power",
    "Selection",
    "SelectionByType",
    "compare_aggregates_with_best",
    "compare_with_best",
    "compare_with_reference",
    "confidence_intervals",
    "decide",
    "decide_by_aggregate",
    "detectable_difference",
    "holm",
    "queries_needed",
    "randomisation_test",
    "select",
    "select_by_type",
    "spread",
    "win_frequency",
]
