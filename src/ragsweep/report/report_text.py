"""A sweep as text for the terminal."""

from __future__ import annotations

from collections.abc import Iterator

from ragsweep.core.terminal import aligned, one_line
from ragsweep.report.across_datasets import about_across_table, across_in_words, across_table
from ragsweep.report.claims import evidence, headline
from ragsweep.report.decision_rows import CONFIGURATION, table_of_rows
from ragsweep.report.report_tables import baseline_rows, cells
from ragsweep.sweeps import AcrossDatasets, Decision

TERMINAL_ROWS = 30


def table_by_cutoff(decision: Decision) -> str:
    """A row per cutoff: what to choose there, what it measures and what it costs."""
    rows = cells(decision)
    texts = rows[0].index("cannot be told apart")
    return "\n".join(aligned(rows, left=(texts - 1, texts)))


def table_of_configurations(decision: Decision) -> str:
    """The configurations as an aligned table, by cutoff and the best first."""
    rows = table_of_rows(decision)
    header = [*rows[0]]
    left = [place for place, heading in enumerate(header) if heading in (CONFIGURATION, "verdict", "difference")]
    lines = aligned([header, *([*row.values()] for row in rows[:TERMINAL_ROWS])], left=left)
    more = [f"... and {len(rows) - TERMINAL_ROWS} more"] if len(rows) > TERMINAL_ROWS else []
    return "\n".join([*lines, *more])


def summary(decision: Decision, *, verbose: bool) -> Iterator[str]:
    """The end of a sweep, line by line: the headline, a row per cutoff, and with `verbose` all configurations."""
    yield from headline(decision)
    yield ""
    yield table_by_cutoff(decision)
    if verbose:
        yield ""
        yield table_of_configurations(decision)
        yield ""
        yield from evidence(decision)
    yield ""


def across_summary(across: AcrossDatasets) -> Iterator[str]:
    """The end of a sweep over several datasets, line by line: the decision over them, and what each would say alone."""
    yield from across_in_words(across)
    yield ""
    rows = across_table(across)
    if rows:
        yield from aligned(rows[: TERMINAL_ROWS + 1])
        if len(rows) > TERMINAL_ROWS + 1:
            yield f"... and {len(rows) - TERMINAL_ROWS - 1} more"
        yield from about_across_table(across)
        yield ""


def comparison(decision: Decision) -> Iterator[str]:
    """A comparison of runs, line by line: tables, decision, evidence, and the runs that did not finish."""
    yield table_of_configurations(decision)
    for choice in decision.choices.values():
        if choice.allowed.fixed_baseline is not None:
            yield ""
            yield from aligned(baseline_rows(choice.allowed)[: TERMINAL_ROWS + 1])
    yield ""
    yield from headline(decision)
    if len(decision.choices) > 1:
        yield ""
        yield table_by_cutoff(decision)
    yield ""
    yield from evidence(decision)
    yield from (one_line(f"did not finish: {name} ({fate})") for name, fate in decision.sweep.unfinished.items())
