"""Tables and charts from finished measurements."""

from ragsweep.report.background import start as start_drawing
from ragsweep.report.files import drawing, write_evaluation, write_sweep
from ragsweep.report.page import Origin
from ragsweep.report.ranking_text import Line, Place, one_line, ranking_text
from ragsweep.report.sweep import Outcome, Sweep
from ragsweep.report.tables import per_query
from ragsweep.report.text import aligned, terminal_table
from ragsweep.report.words import decision

__all__ = [
    "Line",
    "Origin",
    "Outcome",
    "Place",
    "Sweep",
    "aligned",
    "decision",
    "drawing",
    "one_line",
    "per_query",
    "ranking_text",
    "start_drawing",
    "terminal_table",
    "write_evaluation",
    "write_sweep",
]
