"""Tables, charts, sentences and pages of a finished sweep."""

from ragsweep.report.files import write_comparison, write_sweep
from ragsweep.report.page import Origin
from ragsweep.report.text import comparison, terminal_table
from ragsweep.report.words import decision

__all__ = ["Origin", "comparison", "decision", "terminal_table", "write_comparison", "write_sweep"]
