"""A sweep in words: the table in the terminal and the report in Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from ragsweep.report.style import word
from ragsweep.report.sweep import Sweep

TERMINAL_ROWS = 30


def terminal_table(sweep: Sweep) -> str:
    """The configurations, best F1 first, in aligned columns."""
    rows = sweep.table.head(TERMINAL_ROWS)
    header = ["configuration", *sweep.metrics, "f1 95 % interval"]
    cells = [
        [
            row["configuration"],
            *(f"{row[name]:.4f}" for name in sweep.metrics),
            f"{row['f1_low']:.3f} to {row['f1_high']:.3f}",
        ]
        for _, row in rows.iterrows()
    ]
    lines = aligned([header, *cells])
    if len(sweep.table) > len(rows):
        lines.append(f"... and {len(sweep.table) - len(rows)} more")
    return "\n".join(lines)


def aligned(rows: Sequence[Sequence[str]], left: Sequence[int] = (0,)) -> list[str]:
    """Rows of cells as lines; `left` are the columns of words, the others are numbers and end where they end."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if column in left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def best_lines(sweep: Sweep) -> str:
    """The best configuration in one line; in a second one the best at each k, where k was swept."""
    best = sweep.best
    line = f"best: {best['configuration']}  F1 {best['f1']:.4f} [{best['f1_low']:.3f}, {best['f1_high']:.3f}]"
    return "\n".join([line, *_best_at_each_k(sweep)])


def _best_at_each_k(sweep: Sweep) -> list[str]:
    """F1 falls as k grows past the number of relevant pages, so that a small k wins whatever the retrieval."""
    if sweep.table["k"].nunique() < 2:
        return []
    rows = sweep.table.drop_duplicates("k").sort_values("k")
    each = ", ".join(f"{row['configuration']} {row['f1']:.4f}" for _, row in rows.iterrows())
    return [f"best at each k (F1 falls as k grows): {each}"]


def markdown(sweep: Sweep, command: str, charts: Sequence[str]) -> str:
    """The sweep's report."""
    best = sweep.best
    queries = len(sweep.outcomes[0].per_query)
    lines = [
        f"# Sweep over {', '.join(sweep.swept) or 'one configuration'} on {sweep.dataset}",
        "",
        f"**Best by F1: {best['configuration']}**, F1 {best['f1']:.4f} "
        f"(95 % bootstrap interval over {queries} queries {best['f1_low']:.3f} to {best['f1_high']:.3f}).",
        *_best_at_each_k(sweep),
        "The best of many is chosen on the queries that it is measured on: expect somewhat less on new ones.",
        "",
        _row(["configuration", *map(word, sweep.metrics)]),
        _row(["---", *(["---:"] * len(sweep.metrics))]),
        *(
            _row([row["configuration"], *(f"{row[name]:.4f}" for name in sweep.metrics)])
            for _, row in sweep.table.iterrows()
        ),
    ]
    if sweep.unfinished:
        lines += [
            "",
            "Did not finish: " + ", ".join(f"{name} ({status})" for name, status in sweep.unfinished.items()),
        ]
    lines += ["", f"Made by `{command}`."]
    if charts:
        lines += ["", "Charts: " + ", ".join(f"`charts/{name}`" for name in charts)]
    return "\n".join(lines) + "\n"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
