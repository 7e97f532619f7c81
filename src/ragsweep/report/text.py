"""A sweep as text for the terminal."""

from __future__ import annotations

from collections.abc import Iterator

from ragsweep.core.terminal import aligned, one_line
from ragsweep.report.words import against_best, baseline_rows, decision, evidence, interval
from ragsweep.sweeps import Sweep

TERMINAL_ROWS = 30


def terminal_table(sweep: Sweep) -> str:
    """The configurations as an aligned table, best first."""
    rows = sweep.table.head(TERMINAL_ROWS)
    header = ["configuration", *sweep.metrics, f"{sweep.decided_by} 95 % interval", "against the best"]
    cells = [
        [
            row["name"],
            *(f"{row[name]:.4f}" for name in sweep.metrics),
            interval(row, sweep.decided_by),
            against_best(sweep, row["outcome"]),
        ]
        for _, row in rows.iterrows()
    ]
    lines = aligned([header, *cells], left=(0, len(header) - 1))
    if len(sweep.table) > len(rows):
        lines.append(f"... and {len(sweep.table) - len(rows)} more")
    return "\n".join(lines)


def comparison(sweep: Sweep) -> Iterator[str]:
    """A comparison of runs, line by line: the table, the baseline, the decision, and the runs that did not finish."""
    yield terminal_table(sweep)
    if sweep.baseline:
        yield ""
        yield from aligned(baseline_rows(sweep)[: TERMINAL_ROWS + 1])
    yield ""
    yield from decision(sweep)
    yield from evidence(sweep)
    yield from (one_line(f"did not finish: {name} ({fate})") for name, fate in sweep.unfinished.items())
