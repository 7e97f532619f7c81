"""Tables, charts, sentences and pages of a finished sweep."""

from ragsweep.report.report_files import write_comparison, write_sweep
from ragsweep.report.report_page import Origin
from ragsweep.report.report_sentences import headline
from ragsweep.report.report_text import comparison, summary

__all__ = [
    "Origin",
    "comparison",
    "headline",
    "summary",
    "write_comparison",
    "write_sweep",
]
