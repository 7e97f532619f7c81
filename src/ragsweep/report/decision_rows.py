"""The runs of a decision as every outlet shows them: tables, pages, tags and `decision.json`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from math import nan
from typing import TYPE_CHECKING, Any, NamedTuple

from ragsweep.report.claims import TAKEN, veto_of
from ragsweep.report.value_words import at, interval, number, p_value
from ragsweep.statistics import LEVEL
from ragsweep.sweeps import Choice, Decision, Outcome, Sweep
from ragsweep.sweeps.decision import AgainstGuessing, Compared

if TYPE_CHECKING:
    import pandas as pd

NO_CUTOFF = "cutoff"  # heading of an empty column
CONFIGURATION, INTERVAL, RUN = "configuration", "95 % interval", "run"  # headings


class Row(NamedTuple):
    """A run, and what the decision says of it.

    Attributes:
        run: The run.
        rank: By the deciding metric at its cutoff, from 1.
        verdict: `chosen`, with its cutoff where that is not the headline's; `tied`, `worse`, `left out`, `control`,
            `only one`, or `not shipped: ` and the reason.
        compared: Its comparison with the best one at its cutoff; None if it is left out.
        why: Why it is left out.
        guessing: Its comparison with guessing, where one can guess.
        unread: How many of its responses could not be read; None where that is not known, or where none has any.
    """

    run: Outcome
    rank: int
    verdict: str
    compared: Compared | None
    why: str
    guessing: AgainstGuessing | None
    unread: int | None

    @property
    def is_best(self) -> bool:
        """Whether nothing measures better at its cutoff."""
        return self.compared is not None and self.compared.difference == 0 and self.rank == 1

    @property
    def against_best(self) -> str:
        """The verdict, with the p-value or the reason."""
        if self.compared is None:
            return f"{self.verdict}: {self.why}"
        return f"{self.verdict}, p {p_value(self.compared.p)}" if self.verdict in ("tied", "worse") else self.verdict

    @property
    def against_guessing(self) -> str:
        """How the run compares with guessing; empty if that is not known."""
        if (guessing := self.guessing) is None:
            return ""
        if guessing.worse:
            return f"worse, p {p_value(guessing.p_worse)}"
        if self.unread and not guessing.better and guessing.p <= LEVEL:  # below it only for what could not be read
            return f"no better, {self.unread} unread"
        return f"{'better' if guessing.better else 'no better'}, p {p_value(guessing.p)}"

    def texts(self, sweep: Sweep) -> dict[str, str]:
        """What a table shows of the run, by heading: its numbers, and how it compares with the best and with guessing.

        Args:
            sweep: All runs, which say what was swept and measured.
        """
        run, compared, metric = self.run, self.compared, sweep.decided_by
        costs = [name for name in sweep.settings.costs if name not in sweep.metrics and name in sweep.metric_info]
        further = [name for name in (*sweep.metrics, *costs) if name != metric]
        difference = compared and f"{compared.difference:+.3f} [{compared.low:+.3f}, {compared.high:+.3f}]"
        return {
            sweep.cutoff or NO_CUTOFF: str(run.cutoff or ""),
            CONFIGURATION: run.name,
            "verdict": self.against_best,
            "against guessing": self.against_guessing,
            "unread": "" if self.unread is None else str(self.unread),
            "difference": "" if self.is_best or not difference else difference,
            sweep.metric_title: f"{sweep.statistic(run, metric):.4f}",
            INTERVAL: interval(sweep, run, metric),
            **{sweep.title(name): number(sweep, name, run.value(name)) for name in further},
            "best in": f"{100 * compared.wins:.1f} %" if compared else "",
            RUN: run.run_id,
        }

    def as_record(self) -> dict[str, Any]:
        """The row as a JSON-compatible value."""
        compared = dict.fromkeys(("difference", "low", "high", "p", "wins"))
        if self.compared:
            compared = {name: getattr(self.compared, name) for name in compared}
        about = {"name": self.run.name, "run_id": self.run.run_id, "verdict": self.verdict, "rank": self.rank}
        return about | compared


@lru_cache(maxsize=1)  # every outlet asks for the rows of one decision
def rows_of(decision: Decision) -> tuple[Row, ...]:
    """A row for each run, by ascending cutoff, the best first."""
    sweep, rows = decision.sweep, list[Row]()
    vetoes = {choice.cutoff: veto_of(decision, choice) for choice in decision.choices.values()}
    vetoes[decision.headline.cutoff] = veto_of(decision)
    unread: Mapping[Outcome, int] = decision.unread.counts if decision.unread and decision.unread.most else {}
    ranks = Counter[int | None]()
    for position in sweep.table["outcome"]:
        run = sweep.outcomes[position]
        choice = decision.choices[run.cutoff]
        ranks[run.cutoff] += 1
        verdict = _verdict(decision, choice, run, vetoes)
        facts = decision.compared.get(run), choice.excluded.get(run.name, ""), decision.against_guessing.get(run)
        rows.append(Row(run, ranks[run.cutoff], verdict, *facts, unread.get(run)))
    return tuple(rows)


def _verdict(decision: Decision, choice: Choice, run: Outcome, vetoes: Mapping[int | None, str | None]) -> str:
    if run.name in choice.excluded:
        return "control" if run.facts.control else "left out"
    if run is choice.named and vetoes[choice.cutoff] not in TAKEN:
        return f"not shipped: {vetoes[choice.cutoff]}"
    ships = decision.sweep.label(run) == decision.sweep.label(decision.named)  # the headline does, at this cutoff, too
    if run is choice.named and vetoes[decision.headline.cutoff] is None and (ships or vetoes[choice.cutoff] is None):
        return "chosen" if choice is decision.headline else f"chosen{at(decision.sweep, choice)}"
    if choice.undecided == "one configuration":
        return "only one"
    return "tied" if run in choice.tied else "worse"


def table_of_rows(decision: Decision) -> list[dict[str, str]]:
    """What a table shows of each run, by heading, the best of each cutoff first; without columns that are empty."""
    texts = [row.texts(decision.sweep) for row in rows_of(decision)]
    columns = [heading for heading in texts[0] if any(own[heading] for own in texts)]
    return [{heading: own[heading] for heading in columns} for own in texts]


def summary_of(decision: Decision) -> pd.DataFrame:
    """The contents of `summary_statistics.csv`: settings and numbers of each run, and how it compares with the best.

    The comparison is missing for a run that does not meet the requirements.
    """
    sweep, rows, metric = decision.sweep, rows_of(decision), decision.sweep.decided_by
    names = [f"{metric}_minus_best", f"{metric}_minus_best_low", f"{metric}_minus_best_high"]
    names += ["tied_with_best", "p_vs_best", "win_frequency"]
    missing = Compared(nan, nan, nan, False, nan, nan)
    columns = dict(zip(names, map(list, zip(*(row.compared or missing for row in rows), strict=True)), strict=True))
    for name in sweep.swept:  # empty where a configuration does not have the setting, also if it stands for it
        values = zip((row.run for row in rows), sweep.table[name], strict=True)
        columns[name] = [run.paths.get(name, value) if name in run.swept else nan for run, value in values]
    return sweep.table.drop(columns=["method", "outcome"]).assign(**columns)
