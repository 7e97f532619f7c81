"""Queries for which the retriever finds nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ragsweep.datasets import Dataset
from ragsweep.tasks.ranking.nothing_found import Silent
from ragsweep_audit.findings.finding import Finding


def findings(found: Sequence[Silent], items: Dataset, out_of: int) -> Iterator[Finding]:
    """A finding about each group."""
    for each in found:
        cost = "They score 0." if each.silence.whole else "Only the other parts rank passages for them."
        yield Finding(
            kind="nothing_found",
            problem=each.problem(items, out_of),
            cost=cost,
            advice=each.advice,
            count=len(each.rows),
            out_of=out_of,
            examples=tuple(items.queries[row].query_id for row in each.rows),
            details={"part": each.silence.part, "reason": each.silence.reason},
        )
