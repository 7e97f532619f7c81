"""All pairs of configurations, as tables for a paper: Markdown, LaTeX and CSV."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from string import ascii_lowercase
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ragsweep.core.csv_files import write_table
from ragsweep.core.errors import ConfigError
from ragsweep.core.terminal import counted, one_line
from ragsweep.report.markup import markdown
from ragsweep.report.value_words import cutoffs_in_words, queries_in_words
from ragsweep.statistics import LEVEL
from ragsweep.statistics.all_pairs import AllPairs, Correction, PairTest, compare_all_pairs
from ragsweep.statistics.intervals import EQUAL
from ragsweep.sweeps import Decision, Outcome, Sweep

if TYPE_CHECKING:
    import pandas as pd

DIGITS = 4  # of a mean, as the field prints it
TESTS: Mapping[PairTest, str] = {"randomisation": "paired randomisation test", "t": "Student's paired t test"}
CORRECTIONS: Mapping[Correction, str] = {
    "holm": "Holm's correction",
    "benjamini_hochberg": "Benjamini and Hochberg's correction",
}
IN_LATEX = {**{each: f"\\{each}" for each in "&%$#_{}"}, "\\": r"\textbackslash{}", "~": r"\textasciitilde{}"}
LATEX = r"""\begin{table}
\centering
\caption{%s}
\begin{tabular}{%s}
\toprule
%s
\midrule
%s
\bottomrule
\end{tabular}
\end{table}
"""
IN_LATEX["^"] = r"\textasciicircum{}"


@dataclass(frozen=True)
class PairTables:
    """Every pair of configurations at one cutoff, by every metric that is a mean over queries.

    Attributes:
        sweep: The configurations; at least two.
        names: What the tables call each of them.
        test: How a pair is tested.
        correction: How the p-values of a metric are corrected for the number of pairs.
    """

    sweep: Sweep
    names: Sequence[str]
    test: PairTest
    correction: Correction

    @property
    def metrics(self) -> list[str]:
        """The metrics that are means over queries."""
        return [name for name in self.sweep.metrics if self.sweep.is_mean(name)]

    @cached_property
    def found(self) -> Mapping[str, AllPairs]:
        """All pairs, by metric."""
        sweep = self.sweep
        compare = partial(compare_all_pairs, groups=sweep.groups, test=self.test, correction=self.correction)
        compare = partial(compare, resamples=sweep.resamples, seed=sweep.seed)
        return {name: compare(sweep.scores(name)) for name in self.metrics}

    @property
    def caption(self) -> str:
        """What was measured on what, how it was tested, and what the signs mean."""
        sweep, pairs = self.sweep, len(self.names) * (len(self.names) - 1) // 2
        cutoff = next(
            (f" at {cutoffs_in_words(sweep, each.cutoff)}" for each in sweep.outcomes if each.cutoff is not None), ""
        )
        tests = f", {CORRECTIONS[self.correction]} for {counted(pairs, 'pair')} by each metric" if pairs > 1 else ""
        return (
            f"Means over {queries_in_words(sweep)} of {sweep.dataset}{cutoff}; the best are bold. A "
            f"letter marks that a value is better than that of the system with this letter (p <= {LEVEL}, two-sided "
            f"{TESTS[self.test]}{tests})."
        )

    @property
    def frame(self) -> pd.DataFrame:
        """A row per metric and pair, with everything that was found."""
        import pandas as pd

        names = np.array(self.names, dtype=object)
        parts = [
            pd.DataFrame(
                {"metric": metric, "first": names[each.first], "second": names[each.second]}
                | vars(each.paired)
                | {"p_corrected": each.corrected}
            )
            for metric, each in self.found.items()
        ]
        return pd.concat(parts, ignore_index=True).assign(test=self.test, correction=self.correction)

    @property
    def markdown(self) -> str:
        """The table of means with letters, and its caption."""
        rows = [
            [letter, markdown(name), *(_cell(*cell, "**{}**", "<sup>{}</sup>") for cell in cells)]
            for letter, name, cells in self._rows()
        ]
        header = ["", "system", *map(markdown, map(self.sweep.title, self.metrics))]
        lines = [header, ["---", "---", *["---:"] * len(self.metrics)], *rows]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines) + f"\n\n{markdown(self.caption)}\n"

    @property
    def latex(self) -> str:
        """The same as a table of LaTeX, with the rules of the package booktabs."""
        rows = [
            [f"${letter}$", _in_latex(name), *(_cell(*cell, r"\textbf{{{}}}", "$^{{{}}}$") for cell in cells)]
            for letter, name, cells in self._rows()
        ]
        header = ["", "System", *map(_in_latex, map(self.sweep.title, self.metrics))]
        head, *body = (" & ".join(row) + r" \\" for row in (header, *rows))
        caption = _in_latex(self.caption).replace("<=", r"$\le$")
        return LATEX % (caption, "l" * len(header), head, "\n".join(body))

    def write(self, *, markdown: Path | None, latex: Path | None, csv: Path | None) -> None:
        """Write the tables for which there is a file."""
        if markdown:
            markdown.write_text(self.markdown, encoding="utf-8")
        if latex:
            latex.write_text(self.latex, encoding="utf-8")
        if csv:
            write_table(csv, self.frame)

    def _rows(self) -> list[tuple[str, str, list[tuple[str, bool, str]]]]:
        """Letter and name of each configuration, and of each metric the mean, whether it is the best, and letters."""
        if len(self.names) > len(ascii_lowercase):
            raise ConfigError(
                f"found {len(self.names)} configurations, expected at most {len(ascii_lowercase)}: a table marks each "
                "by a letter; --csv takes more"
            )
        columns = [self._column(metric) for metric in self.metrics]
        return [
            (letter, one_line(name), [column[place] for column in columns])
            for place, (letter, name) in enumerate(zip(ascii_lowercase, self.names, strict=False))
        ]

    def _column(self, metric: str) -> list[tuple[str, bool, str]]:
        found, sign = self.found[metric], self.sweep.sign(metric)
        means = self.sweep.scores(metric).mean(axis=1)
        better: npt.NDArray[np.bool_] = np.zeros((len(means), len(means)), dtype=bool)  # [i, j]: i is better than j
        shown = found.corrected <= LEVEL
        better[found.first, found.second] = shown & (sign * found.paired.difference > 0)
        better[found.second, found.first] = shown & (sign * found.paired.difference < 0)
        best = sign * means >= (sign * means).max() - EQUAL
        letters = ["".join(ascii_lowercase[place] for place in np.flatnonzero(row).tolist()) for row in better]
        return [(f"{mean:.{DIGITS}f}", bool(top), marks) for mean, top, marks in zip(means, best, letters, strict=True)]


def pair_tables(decision: Decision, names: Mapping[str, str], test: PairTest, correction: Correction) -> PairTables:
    """All pairs of the configurations at the cutoff of the headline; requirements exclude none of them.

    Args:
        decision: The decision between them.
        names: What to call the runs of these ids.
        test: How to test a pair.
        correction: How to correct the p-values of a metric for the number of pairs.

    Raises:
        ConfigError: There is only one, or an id to name is not that of one of them.
    """
    sweep = decision.sweep.at(decision.headline.cutoff)
    if len(sweep.outcomes) < 2:
        raise ConfigError(f"only one configuration was measured{_at(sweep)}: there are no pairs")
    for run_id, name in names.items():
        if all(outcome.run_id != run_id for outcome in sweep.outcomes):
            raise ConfigError(
                f"{name}={run_id}: not the id of one of the runs{_at(sweep)}, of which a table has a row each"
            )
    given = _names(decision.sweep, sweep.outcomes)
    own = [names.get(outcome.run_id, name) for outcome, name in zip(sweep.outcomes, given, strict=True)]
    return PairTables(sweep, own, test, correction)


def _at(sweep: Sweep) -> str:
    cutoff = sweep.outcomes[0].cutoff
    return "" if cutoff is None else f" at {cutoffs_in_words(sweep, cutoff)}"


def _names(sweep: Sweep, outcomes: Sequence[Outcome]) -> list[str]:
    """The run tag of a TREC file, or the name of the method; where several have the same, the settings that differ."""
    names = [outcome.facts.method.tag or outcome.method for outcome in outcomes]
    number = Counter(names)
    return [
        name if name and number[name] == 1 else sweep.label(outcome)
        for name, outcome in zip(names, outcomes, strict=True)
    ]


def _cell(mean: str, best: bool, letters: str, bold: str, raised: str) -> str:
    return (bold.format(mean) if best else mean) + (raised.format(letters) if letters else "")


def _in_latex(text: str) -> str:
    return "".join(IN_LATEX.get(character, character) for character in text)
