"""Tables, charts, sentences and pages of a finished sweep."""

from ragsweep.report.files import write_comparison, write_sweep
from ragsweep.report.page import Origin
from ragsweep.report.text import comparison, summary
from ragsweep.report.words import headline

__all__ = [
    "Origin",
    "comparison",
    "headline",
    "summary",
    "write_comparison",
    "write_sweep",
]
