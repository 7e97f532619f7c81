"""Tables and charts from finished measurements."""

from ragsweep.report.background import start as start_drawing
from ragsweep.report.files import drawing, write_comparison, write_evaluation, write_sweep
from ragsweep.report.page import Origin
from ragsweep.report.ranking_text import Line, Place, ranking_text
from ragsweep.report.sweep import Outcome, Sweep, short_names, side_by_side
from ragsweep.report.tables import per_query
from ragsweep.report.text import aligned, comparison, terminal_table
from ragsweep.report.words import decision

__all__ = [
    "Line",
    "Origin",
    "Outcome",
    "Place",
    "Sweep",
    "aligned",
    "comparison",
    "decision",
    "drawing",
    "per_query",
    "ranking_text",
    "short_names",
    "side_by_side",
    "start_drawing",
    "terminal_table",
    "write_comparison",
    "write_evaluation",
    "write_sweep",
]
