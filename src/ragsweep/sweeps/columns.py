"""The columns of a sweep's tables that are not swept settings, and swept settings that have the name of one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ragsweep.core.csv_files import TAKEN, setting_columns
from ragsweep.statistics import STATISTICS
from ragsweep.sweeps.configuration_names import told_apart
from ragsweep.sweeps.outcome import Outcome

OF_DECISION = ("tied_with_best", "p_vs_best", "win_frequency")
OF_METRIC = ("low", "high", "minus_best", "minus_best_low", "minus_best_high", *STATISTICS)  # METRIC_low and so on
OF_TAGS = ("tied", "expected")  # the parent run has tags best.tied and best.expected, and best.SETTING


def with_own_columns(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """The outcomes, in which a swept setting that has the name of another column is called `params.SETTING`.

    Without that, one of the two columns would be lost: a user may have a config group `query`, or a setting `f1`.

    Swept files are shown without the folders that are not needed to tell them apart; `given` keeps their paths.
    """
    given = [outcome.given for outcome in outcomes]
    swept = dict.fromkeys(name for each in given for name in each)
    names = setting_columns(swept, set(_columns(outcomes)))
    shown = {name: told_apart(each[name] for each in given if name in each) for name in swept}
    return [
        replace(
            outcome,
            swept={
                names[name]: shown[name][value] if isinstance(value, str) else value for name, value in each.items()
            },
            paths={
                names[name]: value
                for name, value in each.items()
                if isinstance(value, str) and value != shown[name][value]
            },
        )
        for outcome, each in zip(outcomes, given, strict=True)
    ]


def _columns(outcomes: Sequence[Outcome]) -> Iterable[str]:
    """The names of all columns but the swept settings. `k` is not among them: it is a setting wherever it stands."""
    yield from (*OF_DECISION, *OF_TAGS, *(name for name in TAKEN if name != "k"))
    for outcome in outcomes:
        yield from outcome.per_query.columns
        for metric in outcome.facts.metrics:
            yield from (metric, *(f"{metric}_{word}" for word in OF_METRIC))
