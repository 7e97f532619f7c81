"""All pairs of configurations, as tables for a paper: Markdown, LaTeX and CSV."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from string import ascii_lowercase
from typing import TYPE_CHECKING

import numpy as np

from ragsweep.core.csv_files import write_table
from ragsweep.core.errors import ConfigError
from ragsweep.core.terminal import counted, one_line
from ragsweep.report.markup import markdown
from ragsweep.report.value_words import cutoffs_in_words, queries_in_words
from ragsweep.statistics import LEVEL
from ragsweep.statistics.all_pairs import AllPairs, Correction, PairTest, compare_all_pairs
from ragsweep.statistics.intervals import EQUAL
from ragsweep.sweeps import Decision, Sweep

if TYPE_CHECKING:
    import pandas as pd

TESTS: Mapping[PairTest, str] = {"randomisation": "paired randomisation test", "t": "Student's paired t test"}
CORRECTIONS: Mapping[Correction, str] = {"holm": "Holm's", "benjamini_hochberg": "Benjamini and Hochberg's"}
IN_LATEX = {character: f"\\{character}" for character in "&%$#_{}"} | {"<=": r"$\le$"}
IN_LATEX |= {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}


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

    @cached_property
    def pairs(self) -> Mapping[str, AllPairs]:
        """All pairs, by metric."""
        sweep = self.sweep
        compare = partial(compare_all_pairs, groups=sweep.groups, resamples=sweep.resamples, seed=sweep.seed)
        compare = partial(compare, test=self.test, correction=self.correction)
        return {name: compare(sweep.scores(name)) for name in sweep.metrics if sweep.is_mean(name)}

    @property
    def caption(self) -> str:
        """What was measured on what, how it was tested, and what the signs mean."""
        pairs = len(self.names) * (len(self.names) - 1) // 2
        of_pairs = f", {CORRECTIONS[self.correction]} correction for {counted(pairs, 'pair')} by each metric"
        return (
            f"Means over {queries_in_words(self.sweep)} of {self.sweep.dataset}{_at(self.sweep)}; the best are bold. A "
            f"letter marks that a value is better than that of the system with this letter (p <= {LEVEL}, two-sided "
            f"{TESTS[self.test]}{of_pairs if pairs > 1 else ''})."
        )

    @property
    def frame(self) -> pd.DataFrame:
        """A row per metric and pair, with everything that was found."""
        import pandas as pd

        names = np.array(self.names, dtype=object)
        parts = [
            pd.DataFrame({"metric": metric, "first": names[first], "second": names[second]} | vars(paired)).assign(
                p_corrected=corrected, test=self.test, correction=self.correction
            )
            for metric, (first, second, paired, corrected) in self.pairs.items()
        ]
        return pd.concat(parts, ignore_index=True)

    @property
    def markdown(self) -> str:
        """The table of means with letters, and its caption."""
        means = self._means(markdown, "{}", "**{}**", "<sup>{}</sup>")
        lines = [[*means], ["---", "---", *["---:"] * len(self.pairs)], *means.to_numpy().tolist()]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines) + f"\n\n{markdown(self.caption)}\n"

    @property
    def latex(self) -> str:
        """The same as a table of LaTeX, with the rules of the package booktabs."""
        means = self._means(_in_latex, "${}$", r"\textbf{{{}}}", "$^{{{}}}$").style.hide(axis="index")
        written: str = means.to_latex(hrules=True, caption=_in_latex(self.caption), position_float="centering")
        return written

    def write(self, *, markdown: Path | None, latex: Path | None, csv: Path | None) -> None:
        """Write the tables for which there is a file."""
        if markdown:
            markdown.write_text(self.markdown, encoding="utf-8")
        if latex:
            latex.write_text(self.latex, encoding="utf-8")
        if csv:
            write_table(csv, self.frame)

    def _means(self, escaped: Callable[[str], str], letter: str, bold: str, raised: str) -> pd.DataFrame:
        """Letter and name of each configuration, and of each metric the mean and the letters of those that it beats."""
        import pandas as pd

        if len(self.names) > len(ascii_lowercase):
            limit = f"at most {len(ascii_lowercase)}: a table marks each by a letter; --csv takes more"
            raise ConfigError(f"found {len(self.names)} configurations, expected {limit}")
        letters = np.array([*ascii_lowercase[: len(self.names)]])
        columns = [[letter.format(sign) for sign in letters], [escaped(one_line(name)) for name in self.names]]
        for metric, pairs in self.pairs.items():
            gains = self.sweep.sign(metric) * np.where(pairs.corrected <= LEVEL, pairs.paired.difference, 0)
            gain = np.zeros((len(letters), len(letters)))  # [i, j]: of i over j, where it is shown
            gain[pairs.first, pairs.second], gain[pairs.second, pairs.first] = gains, -gains
            beaten = ["".join(letters[row > 0]) for row in gain]
            values = self.sweep.scores(metric).mean(axis=1)
            best = self.sweep.sign(metric) * values
            shown = [
                (bold if top else "{}").format(f"{value:.4f}")
                for value, top in zip(values, best >= best.max() - EQUAL, strict=True)
            ]
            columns.append(
                [cell + (raised.format(marks) if marks else "") for cell, marks in zip(shown, beaten, strict=True)]
            )
        titles = [escaped(self.sweep.title(metric)) for metric in self.pairs]
        return pd.DataFrame([*zip(*columns, strict=True)], columns=["", "System", *titles])


def pair_tables(decision: Decision, names: Mapping[str, str], test: PairTest, correction: Correction) -> PairTables:
    """All pairs of the configurations at the cutoff of the headline; requirements exclude none of them.

    Args:
        decision: The decision between them.
        names: What to call the runs of these ids. Another is called by the run tag of its TREC file or by its method;
            where several have the same, by the settings that differ.
        test: How to test a pair.
        correction: How to correct the p-values of a metric for the number of pairs.

    Raises:
        ConfigError: There is only one, or an id to name is not that of one of them.
    """
    sweep = decision.sweep.at(decision.headline.cutoff)
    given = [run.facts.method.tag or run.method for run in sweep.outcomes]
    if len(sweep.outcomes) < 2:
        raise ConfigError(f"only one configuration was measured{_at(sweep)}: there are no pairs")
    for run_id, name in names.items():
        if all(run.run_id != run_id for run in sweep.outcomes):
            raise ConfigError(f"{name}={run_id}: not the id of one of the runs{_at(sweep)}, of which a table has a row")
    own = [
        names.get(run.run_id) or (name if name and given.count(name) == 1 else decision.sweep.label(run))
        for run, name in zip(sweep.outcomes, given, strict=True)
    ]
    return PairTables(sweep, own, test, correction)


def _at(sweep: Sweep) -> str:
    cutoff = sweep.outcomes[0].cutoff
    return "" if cutoff is None else f" at {cutoffs_in_words(sweep, cutoff)}"


def _in_latex(text: str) -> str:
    return re.sub(r"<=|.", lambda sign: IN_LATEX.get(sign[0], sign[0]), text)
