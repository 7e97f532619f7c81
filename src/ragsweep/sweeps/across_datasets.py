"""One decision over several datasets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations, count, product

import numpy as np

from ragsweep.core.arrays import Mask
from ragsweep.statistics import compare_with_best
from ragsweep.statistics.intervals import EQUAL, Array, first_best
from ragsweep.sweeps.choice import Choice
from ragsweep.sweeps.configuration_names import as_text, short_names
from ragsweep.sweeps.decision import Decision
from ragsweep.sweeps.outcome import Outcome
from ragsweep.sweeps.sweep import Sweep

MANY_IN_COMMON = 0.05  # share of the queries of the smaller dataset
DATA_GROUPS = ("dataset", "corpus", "questions")  # swept settings of these groups may choose a dataset


@dataclass(frozen=True)
class AcrossDatasets:
    """The decisions on several datasets, combined. Arrays have shape [datasets, configurations].

    Attributes:
        decisions: The decision on each dataset; at least two.
        unfinished: Names of the runs that did not finish on any of them, with their status.
    """

    decisions: Sequence[Decision]
    unfinished: Mapping[str, str] = field(default_factory=dict)

    @property
    def sweeps(self) -> list[Sweep]:
        """The runs on each dataset."""
        return [decision.sweep for decision in self.decisions]

    @property
    def outcomes(self) -> list[Outcome]:
        """The runs on all datasets."""
        return [run for sweep in self.sweeps for run in sweep.outcomes]

    @property
    def _swept(self) -> list[str]:
        return list(dict.fromkeys(name for sweep in self.sweeps for name in sweep.swept))

    @cached_property
    def _of_data(self) -> dict[str, str]:
        """The swept settings that choose the dataset, as they have one value on each, with their short names."""
        swept = [{name: {run.swept.get(name) for run in own.outcomes} for name in self._swept} for own in self.sweeps]
        names = [name for name in self._swept if name.split(".")[0] in DATA_GROUPS]
        names = [name for name in names if all(len(values[name]) == 1 for values in swept)]
        return dict(zip(names, short_names(names), strict=True))

    @cached_property
    def names(self) -> list[str]:
        """The names of the datasets; with the settings that choose it, or a number, where two have the same."""
        names = [sweep.dataset for sweep in self.sweeps]
        if self._of_data:
            words = [f"{sweep.dataset} ({sweep.outcomes[0].label(self._of_data)})" for sweep in self.sweeps]
            names = [word if names.count(name) > 1 else name for name, word in zip(names, words, strict=True)]
        times = Counter(names)
        for place, name in enumerate(names):
            if times[name] > 1:
                names[place] = next(new for number in count(1) if (new := f"{name} {number}") not in names)
        return names

    @cached_property
    def problem(self) -> str:
        """Why the datasets cannot be put together: only `names` and `left_out` can be used then. Empty if they can."""
        first = self.sweeps[0]
        for name, sweep in zip(self.names[1:], self.sweeps[1:], strict=True):
            if sweep.decided_by != first.decided_by:
                return f"{self.names[0]} is decided by {first.decided_by}, {name} by {sweep.decided_by}"
            one, other = first.outcomes[0].task, sweep.outcomes[0].task
            for setting in dict.fromkeys([*one, *other]):
                if setting.startswith("evaluation.") and one.get(setting) != other.get(setting):
                    values = f"{as_text(one.get(setting))} and {as_text(other.get(setting))}"
                    return f"{setting} is {values} on {self.names[0]} and {name}"
        if not all(sweep.is_mean(sweep.decided_by) for sweep in self.sweeps):
            return f"{first.metric_title} is not a mean over queries"
        if not self.cutoffs:
            return f"no {first.cutoff or 'cutoff'} was measured on all of them"
        return "" if self.runs else "no configuration was measured on all of them and meets the requirements there"

    @cached_property
    def in_common(self) -> dict[tuple[str, str], int]:
        """How many queries two datasets share, of those that share many."""
        texts = {name: {*sweep.queries["query"]} for name, sweep in zip(self.names, self.sweeps, strict=True)}
        shared = {(one, other): len(texts[one] & texts[other]) for one, other in combinations(self.names, 2)}
        fewest = {pair: min(len(texts[name]) for name in pair) for pair in shared}
        return {pair: number for pair, number in shared.items() if number > MANY_IN_COMMON * fewest[pair]}

    @cached_property
    def cutoffs(self) -> list[int | None]:
        """The cutoffs that were measured on all datasets."""
        return [k for k in self.decisions[0].choices if all(k in decision.choices for decision in self.decisions)]

    @cached_property
    def cutoff(self) -> int | None:
        """The cutoff that is decided: the configured one, or the middle one of those measured on all datasets."""
        if (asked := self.sweeps[0].settings.at) is not None and asked in self.cutoffs:
            return asked
        meeting = [k for k in self.cutoffs if all(decision.choices[k].meets for decision in self.decisions)]
        cutoffs = meeting or self.cutoffs
        return cutoffs[(len(cutoffs) - 1) // 2]

    @property
    def _choices(self) -> list[Choice]:
        return [decision.choices[self.cutoff] for decision in self.decisions]

    @property
    def metric(self) -> str:
        """The metric that decides."""
        return self.sweeps[0].decided_by

    @cached_property
    def shown(self) -> dict[str, str]:
        """The swept settings in which configurations differ, each with its short name."""
        own = [name for name in self._swept if name not in (*self._of_data, self.sweeps[0].outcomes[0].facts.cutoff)]
        varied = [name for name in own if len({as_text(run.swept.get(name)) for run in self.outcomes}) > 1] or own
        return dict(zip(varied, short_names(varied), strict=True))

    def label(self, outcome: Outcome) -> str:
        """The settings of a configuration, without those that choose the dataset, and without the cutoff."""
        return outcome.label(self.shown) if self.shown else "as configured"

    @cached_property
    def runs(self) -> dict[str, list[Outcome]]:
        """The configurations that take part: measured on all datasets, and allowed there. Each with its run on each."""
        allowed = [{self.label(run): run for run in choice.allowed.outcomes} for choice in self._choices]
        return {label: [runs[label] for runs in allowed] for label in allowed[0] if label not in self.left_out}

    @cached_property
    def left_out(self) -> dict[str, str]:
        """The configurations that take no part, each with the reason."""
        reasons: dict[str, str] = {}
        if not self.cutoffs:
            return reasons
        measured = [{self.label(run): run for run in sweep.at(self.cutoff).outcomes} for sweep in self.sweeps]
        labels = dict.fromkeys(label for runs in measured for label in runs)
        for label, (name, runs, choice) in product(labels, zip(self.names, measured, self._choices, strict=True)):
            if label not in runs:
                reasons.setdefault(label, f"no finished run on {name}")
            elif why := choice.excluded.get(runs[label].name):
                control = runs[label].facts.control
                reasons.setdefault(label, f"a control, never shipped: {why}" if control else f"{why} on {name}")
        return reasons

    @property
    def labels(self) -> list[str]:
        """The configurations that take part."""
        return list(self.runs)

    @property
    def _runs(self) -> list[tuple[Outcome, ...]]:
        """The runs of each dataset, in the order of the labels."""
        return list(zip(*self.runs.values(), strict=True))

    @cached_property
    def choices(self) -> list[Choice]:
        """The choice on each dataset at the cutoff, among the configurations that take part."""
        return [
            choice if len(runs) == len(choice.allowed.outcomes) else replace(choice, allowed=choice.allowed.only(runs))
            for choice, runs in zip(self._choices, self._runs, strict=True)
        ]

    @property
    def _sign(self) -> int:
        return self.sweeps[0].sign(self.metric)

    @cached_property
    def scores(self) -> list[Array]:
        """The deciding metric on each dataset, of shape [configurations, queries or groups]; higher is better."""
        tables = [np.array([run.per_query[self.metric] for run in runs], dtype=float) for runs in self._runs]
        return [sweep.groups.totals(self._sign * own) for sweep, own in zip(self.sweeps, tables, strict=True)]

    @cached_property
    def means(self) -> Array:
        """The metric of each configuration on each dataset as it was measured."""
        return self._sign * np.array([own.mean(axis=1) for own in self.scores])

    @cached_property
    def regrets(self) -> Array:
        """The loss of each configuration against the best measured one of each dataset (regret; Savage 1951)."""
        gains = self._sign * self.means
        lost: Array = gains.max(axis=1, keepdims=True) - gains
        return lost

    @cached_property
    def tied(self) -> Mask:
        """Which configurations cannot be told apart from the best of each dataset."""
        return self._among(choice.tied for choice in self.choices)

    def _among(self, chosen: Iterable[Sequence[Outcome]]) -> Mask:
        return np.array([[run in good for run in own] for own, good in zip(self._runs, chosen, strict=True)])

    @cached_property
    def tied_in_mean(self) -> Mask:
        """Which configurations cannot be told apart from that with the best mean over datasets, [configurations]."""
        first = self.sweeps[0]
        return compare_with_best(in_one(self.scores), resamples=first.resamples, seed=first.seed).tied

    def _on_all(self, good: Mask) -> Mask:
        """Which are good on every dataset, [configurations]; in the mean, too, where all are on every dataset."""
        return self.tied_in_mean if good.all() else np.array(good.all(axis=0))

    @property
    def told_apart(self) -> bool:
        """Whether any configuration is told apart from another one, on a dataset or in the mean over all of them."""
        return not self._on_all(self.tied).all()

    @cached_property
    def place(self) -> int:
        """Position of the configuration to take: that with the smallest largest regret.

        Of those that are as good as the best of each dataset, if there are any. Costs choose nothing.
        """
        return least_regret(self.regrets, self._on_all(self._among(choice.as_good for choice in self.choices)))

    @property
    def named(self) -> str:
        """The configuration to take on all datasets."""
        return self.labels[self.place]

    @property
    def standings(self) -> list[str]:
        """How the named configuration stands on each dataset."""
        stands = zip(self.regrets[:, self.place], self.tied[:, self.place], strict=True)
        return ["best" if loss <= EQUAL else "tied" if tied else "worse" for loss, tied in stands]

    @property
    def best_mean(self) -> str:
        """The configuration with the best mean over the datasets."""
        return self.labels[first_best(self._sign * self.means.mean(axis=0))]

    @cached_property
    def verdicts(self) -> dict[str, str]:
        """The verdict on each configuration: `chosen`, `tied`, `worse`, `only one`, `left out` or `control`."""
        controls = [self.label(run) for run in self.outcomes if run.facts.control]
        left_out = {label: "control" if label in controls else "left out" for label in self.left_out}
        compared = ["tied" if tied else "worse" for tied in self._on_all(self.tied)]
        chosen = {self.named: "chosen"} if self.told_apart else {self.named: "only one"} if len(compared) == 1 else {}
        return dict(zip(self.labels, compared, strict=True)) | chosen | left_out


def least_regret(regret: Array, possible: Mask | None = None) -> int:
    """The configuration whose largest regret is the smallest (minimax regret); of equal ones, that with the least mean.

    Args:
        regret: Shape [datasets, configurations].
        possible: Which configurations may be chosen, shape [configurations]; all of them if none may.
    """
    possible = np.ones(regret.shape[1], dtype=bool) if possible is None or not possible.any() else possible
    largest = np.where(possible, regret.max(axis=0), np.inf)
    return int(np.where(largest <= largest.min() + EQUAL, regret.mean(axis=0), np.inf).argmin())


def in_one(scores: Sequence[Array]) -> Array:
    """The scores on all datasets side by side, scaled so that the mean over queries is the mean over datasets.

    Every dataset counts the same, however many queries it has. Signs can be flipped and queries be drawn as usual.

    Args:
        scores: One metric of every configuration on each dataset, each of shape [configurations, queries].

    Returns:
        Shape [configurations, queries of all datasets].
    """
    queries = sum(own.shape[1] for own in scores)
    return np.concatenate([own * (queries / (len(scores) * own.shape[1])) for own in scores], axis=1)
