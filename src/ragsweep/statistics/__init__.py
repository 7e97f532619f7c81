"""Intervals, comparisons, selection, power and standings: arrays in, arrays out."""

from ragsweep.statistics.all_pairs import flipped_p, mcnemar_of_pairs, mcnemar_p, paired_p
from ragsweep.statistics.best_configurations import (
    ComparisonWithBest,
    compare_aggregates_with_best,
    compare_with_best,
    not_worse_than_best,
    win_frequency,
)
from ragsweep.statistics.bounded_mean import least_margin, least_queries
from ragsweep.statistics.certificate import Certificate, certify
from ragsweep.statistics.groups import Groups
from ragsweep.statistics.intervals import (
    FEW_QUERIES,
    LEVEL,
    STATISTICS,
    affordable_resamples,
    confidence_intervals,
    effective_queries,
    spread,
)
from ragsweep.statistics.margin_test import AgainstBaseline, against_baseline
from ragsweep.statistics.paired_tests import Comparison, compare_with_reference, holm, randomisation_test
from ragsweep.statistics.pareto_front import shown_to_beat
from ragsweep.statistics.power import detectable_difference
from ragsweep.statistics.selection import Selection, SelectionByType, select, select_by_type
from ragsweep.statistics.standings import WORTHWHILE, Power, Standings, standings, standings_by_aggregate

__all__ = [
    "FEW_QUERIES",
    "LEVEL",
    "STATISTICS",
    "WORTHWHILE",
    "AgainstBaseline",
    "Certificate",
    "Comparison",
    "ComparisonWithBest",
    "Groups",
    "Power",
    "Selection",
    "SelectionByType",
    "Standings",
    "affordable_resamples",
    "against_baseline",
    "certify",
    "compare_aggregates_with_best",
    "compare_with_best",
    "compare_with_reference",
    "confidence_intervals",
    "detectable_difference",
    "effective_queries",
    "flipped_p",
    "holm",
    "least_margin",
    "least_queries",
    "mcnemar_of_pairs",
    "mcnemar_p",
    "not_worse_than_best",
    "paired_p",
    "randomisation_test",
    "select",
    "select_by_type",
    "shown_to_beat",
    "spread",
    "standings",
    "standings_by_aggregate",
    "win_frequency",
]
