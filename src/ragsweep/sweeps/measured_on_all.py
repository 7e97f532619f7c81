"""What was measured on every one of several datasets, and takes part in a decision over all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ragsweep.statistics.intervals import Array
from ragsweep.sweeps.choice import Choice
from ragsweep.sweeps.configuration_names import as_text, short_names
from ragsweep.sweeps.dataset_names import names_of_datasets, settings_of_data, why_not_comparable
from ragsweep.sweeps.decision import Decision
from ragsweep.sweeps.outcome import Outcome
from ragsweep.sweeps.sweep import Sweep


@dataclass(frozen=True)
class MeasuredOnAll:
    """The configurations that take part. With a `problem`, only `names`, `problem` and `left_out` can be used.

    Attributes:
        decisions: The decision on each dataset; at least two.
        unfinished: Names of the runs that did not finish on any of them, with their status.
    """

    decisions: Sequence[Decision]
    unfinished: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def names(self) -> list[str]:
        """The names of the datasets."""
        return names_of_datasets(self.sweeps)

    @property
    def sweeps(self) -> list[Sweep]:
        """The runs on each dataset."""
        return [decision.sweep for decision in self.decisions]

    @cached_property
    def problem(self) -> str:
        """Why there is no decision over all datasets; empty if there is one."""
        if why := why_not_comparable(self.sweeps, self.names):
            return why
        if not self._cutoffs:
            return f"no {self.sweeps[0].cutoff or 'cutoff'} was measured on all of them"
        if not self.runs:
            return "no configuration was measured on all of them and meets the requirements there"
        return ""

    @cached_property
    def _cutoffs(self) -> list[int | None]:
        first, *others = (decision.choices for decision in self.decisions)
        return [cutoff for cutoff in first if all(cutoff in choices for choices in others)]

    @cached_property
    def cutoff(self) -> int | None:
        """The cutoff that is decided: the configured one, or the middle one of those measured on all datasets."""
        asked = self.sweeps[0].settings.at
        if asked is not None and asked in self._cutoffs:
            return asked
        meeting = [each for each in self._cutoffs if all(decision.choices[each].meets for decision in self.decisions)]
        cutoffs = meeting or self._cutoffs
        return cutoffs[(len(cutoffs) - 1) // 2]

    @property
    def other_cutoffs(self) -> list[int | None]:
        """The cutoffs besides it that are measured on all datasets."""
        return [each for each in self._cutoffs if each != self.cutoff]

    @cached_property
    def choices(self) -> list[Choice]:
        """The choice on each dataset at the cutoff."""
        return [decision.choices[self.cutoff] for decision in self.decisions]

    @property
    def metric(self) -> str:
        """The metric that decides."""
        return self.sweeps[0].decided_by

    def label(self, outcome: Outcome) -> str:
        """The settings of a configuration, without those that choose the dataset, and without the cutoff."""
        return outcome.label(self.shown) if self.shown else "as configured"

    @property
    def outcomes(self) -> list[Outcome]:
        """The runs on all datasets."""
        return [run for sweep in self.sweeps for run in sweep.outcomes]

    @cached_property
    def shown(self) -> dict[str, str]:
        """The swept settings in which configurations differ, each with its short name."""
        runs, of_data = self.outcomes, settings_of_data(self.sweeps)
        own = dict.fromkeys(name for run in runs for name in run.swept if name not in (*of_data, run.facts.cutoff))
        varied = [name for name in own if len({as_text(run.swept.get(name)) for run in runs}) > 1] or list(own)
        return dict(zip(varied, short_names(varied), strict=True))

    @cached_property
    def runs(self) -> dict[str, list[Outcome]]:
        """The configurations that take part: measured on all datasets, and allowed there. Each with its run on each."""
        allowed = [{self.label(run): run for run in choice.allowed.outcomes if choice.meets} for choice in self.choices]
        return {label: [runs[label] for runs in allowed] for label in allowed[0] if label not in self.left_out}

    @cached_property
    def left_out(self) -> dict[str, str]:
        """The configurations that take no part, each with the reason."""
        if not self._cutoffs:
            return {}
        measured = [{self.label(run): run for run in sweep.at(self.cutoff).outcomes} for sweep in self.sweeps]
        reasons: dict[str, str] = {}
        for label in dict.fromkeys(label for runs in measured for label in runs):
            for name, runs, choice in zip(self.names, measured, self.choices, strict=True):
                if label not in runs:
                    reasons.setdefault(label, f"no finished run on {name}")
                elif why := runs[label].facts.control:
                    reasons.setdefault(label, f"a control, never shipped: {why}")
                elif runs[label].name in choice.excluded:
                    reasons.setdefault(label, f"{choice.excluded[runs[label].name]} on {name}")
        return reasons

    @cached_property
    def labels(self) -> list[str]:
        """The configurations that take part."""
        return list(self.runs)

    @cached_property
    def scores(self) -> list[Array]:
        """The deciding metric on each dataset, of shape [configurations, queries or groups]; higher is better."""
        sign = self.sweeps[0].sign(self.metric)
        tables = ([run.per_query[self.metric] for run in runs] for runs in self.runs_of_each)
        groups = (runs[0].groups for runs in self.runs_of_each)
        return [of.totals(sign * np.array(own, dtype=float)) for of, own in zip(groups, tables, strict=True)]

    @property
    def runs_of_each(self) -> list[tuple[Outcome, ...]]:
        """The runs of each dataset, in the order of the labels."""
        return list(zip(*self.runs.values(), strict=True))
