"""Tables, charts, sentences and pages of a finished sweep."""

from ragsweep.report.across_datasets import across_in_words, alone, verdict_for_all, write_across
from ragsweep.report.claims import TAKEN, headline, veto_of
from ragsweep.report.decision_rows import rows_of
from ragsweep.report.pair_tables import pair_tables
from ragsweep.report.report_page import Origin, write_comparison, write_sweep
from ragsweep.report.report_tables import brief_cells
from ragsweep.report.report_text import across_summary, comparison, summary

__all__ = [
    "TAKEN",
    "Origin",
    "across_in_words",
    "across_summary",
    "alone",
    "brief_cells",
    "comparison",
    "headline",
    "pair_tables",
    "rows_of",
    "summary",
    "verdict_for_all",
    "veto_of",
    "write_across",
    "write_comparison",
    "write_sweep",
]
