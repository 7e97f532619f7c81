"""A sweep in the terminal."""

from __future__ import annotations

from ragsweep.report.sweep import Sweep
from ragsweep.report.words import against_best, interval

TERMINAL_ROWS = 30


def terminal_table(sweep: Sweep) -> str:
    """The configurations, best first, in aligned columns."""
    rows = sweep.table.head(TERMINAL_ROWS)
    header = ["configuration", *sweep.metrics, f"{sweep.decided_by} 95 % interval", "against the best"]
    cells = [
        [
            row["configuration"],
            *(f"{row[name]:.4f}" for name in sweep.metrics),
            interval(row, sweep.decided_by),
            against_best(sweep, row["outcome"]),
        ]
        for _, row in rows.iterrows()
    ]
    widths = [max(len(line[column]) for line in [header, *cells]) for column in range(len(header))]
    texts = (0, len(header) - 1)
    lines = [
        "  ".join(
            cell.ljust(width) if column in texts else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in [header, *cells]
    ]
    if len(sweep.table) > len(rows):
        lines.append(f"... and {len(sweep.table) - len(rows)} more")
    return "\n".join(lines)
