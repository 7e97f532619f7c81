"""A decision as an object for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from ragsweep.report.claims import evidence, headline
from ragsweep.report.decision_record import as_record
from ragsweep.report.decision_rows import summary_of
from ragsweep.report.report_tables import cells
from ragsweep.report.report_text import table_by_cutoff
from ragsweep.sweeps import Decision

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, repr=False)
class SweepDecision:
    """The decision of a sweep. Printed, it is the headline and a row per cutoff.

    Attributes:
        decision: The runs, the choice at each cutoff, fronts and promises.
        sweep_id: Run id of the sweep.
    """

    decision: Decision
    sweep_id: str

    @property
    def headline(self) -> Sequence[str]:
        """At most three sentences: what to take, or why nothing is; what it is not shown to beat; what is missing."""
        return headline(self.decision)

    @property
    def evidence(self) -> Sequence[str]:
        """Further sentences: what it assumes, what a larger cutoff buys, warnings, the baseline, query types, power."""
        return evidence(self.decision)

    @property
    def record(self) -> dict[str, Any]:
        """The decision in the format of `decision.json`."""
        return as_record(self.decision, self.sweep_id)

    @property
    def choice(self) -> dict[str, Any]:
        """The configuration of the headline: its label, run id, settings, and everything that was measured."""
        choice: dict[str, Any] = self.record["choice"]
        return choice

    @property
    def table(self) -> pd.DataFrame:
        """A row per configuration with every statistic and the comparison with the best one at its cutoff."""
        return summary_of(self.decision)

    def __repr__(self) -> str:
        return "\n".join([*self.headline, "", table_by_cutoff(self.decision)])

    def _repr_html_(self) -> str:
        first, *more = map(escape, self.headline)
        head, *rows = ([escape(cell) for cell in row] for row in cells(self.decision))
        heads = "".join(f"<th>{cell}</th>" for cell in head)
        lines = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
        sentences = "".join(f"<p>{sentence}</p>" for sentence in [f"<b>{first}</b>", *more])
        return f"{sentences}<table><thead><tr>{heads}</tr></thead><tbody>{lines}</tbody></table>"
