"""Combines runs of any sweeps into one sweep over the settings in which they differ."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ragsweep.core.csv_files import TAKEN, setting_columns
from ragsweep.statistics import STATISTICS
from ragsweep.sweeps.configuration_names import as_number, as_text, short_names, short_values
from ragsweep.sweeps.decision_settings import DecisionSettings
from ragsweep.sweeps.outcome import Outcome
from ragsweep.sweeps.sweep import Sweep

FINGERPRINT = ".fingerprint"  # of what a component loads; nobody knows it by heart
OF_DECISION = ("tied_with_best", "p_vs_best", "win_frequency")
OF_METRIC = ("low", "high", "minus_best", "minus_best_low", "minus_best_high", *STATISTICS)  # METRIC_low and so on
OF_TAGS = ("tied", "expected")  # the parent run has tags best.tied and best.expected, and best.SETTING


def side_by_side(
    outcomes: Sequence[Outcome],
    *,
    settings: DecisionSettings,
    baseline: str | None,
    damaged: Mapping[str, str],
    as_swept: bool = False,
) -> Sweep:
    """Combine runs on the same data into one sweep over the settings in which they differ.

    Args:
        outcomes: The runs.
        settings: How to decide between them.
        baseline: Run id of the baseline that was fixed beforehand; None for the usual one.
        damaged: Names of runs whose results cannot be read, with the reason.
        as_swept: Keep the names and swept values that the runs have in the one sweep that they are from.
    """
    renamed = list(outcomes) if as_swept else _by_differences(outcomes)
    names_in_use = [outcome.name for outcome in renamed]
    unique = [
        replace(run, name=f"{run.name} ({run.run_id[:8]})") if names_in_use.count(run.name) > 1 else run
        for run in renamed
    ]
    baseline_name = next((outcome.name for outcome in unique if outcome.run_id == baseline), None)
    return Sweep(with_own_columns(unique), damaged, settings, baseline_name)


def _by_differences(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """The runs, as if the settings in which they differ had been swept."""
    names = dict.fromkeys(name for outcome in outcomes for name in outcome.settings if not name.startswith("dataset."))
    values = {name: {outcome.settings[name] for outcome in outcomes if name in outcome.settings} for name in names}
    stands_for = {name for outcome in outcomes for name in outcome.facts.method.stands_for}
    some_have = {name for name in stands_for & {*values} if any(name not in outcome.settings for outcome in outcomes)}
    differing = [name for name, several in values.items() if len(several) > 1 or name in some_have]
    telling = [name for name in differing if not name.endswith(FINGERPRINT)]
    if len({tuple(outcome.settings.get(name) for name in telling) for outcome in outcomes}) == len(outcomes):
        differing = telling
    shortened = dict(zip(differing, short_names(differing), strict=True))
    swept = [{name: _setting(run.settings[name]) for name in differing if name in run.settings} for run in outcomes]
    shown = {name: short_values({own[name] for own in swept if name in own}) for name in differing}
    words = [[f"{shortened[name]}={shown[name][as_text(value)]}" for name, value in own.items()] for own in swept]
    return [
        replace(run, name=" ".join(own) or run.name, swept=values, paths={})
        for run, own, values in zip(outcomes, words, swept, strict=True)
    ]


def _setting(text: str) -> float | int | str | None:
    """The value of a setting as a configuration has it; of a component, the name of its class."""
    return None if text == "None" else as_number(text)


def with_own_columns(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """The outcomes, in which a swept setting that has the name of another column is called `params.SETTING`.

    Without that, one of the two columns would be lost: a user may have a config group `query`, or a setting `f1`.

    Swept files are shown without the folders that are not needed to tell them apart; `given` keeps their paths.
    """
    given = [outcome.given for outcome in outcomes]
    swept = dict.fromkeys(name for values in given for name in values)
    columns = setting_columns(swept, set(_columns(outcomes)))
    shown = {name: short_values(values[name] for values in given if name in values) for name in swept}

    def renamed(run: Outcome, values: Mapping[str, Any]) -> Outcome:
        texts = {name: shown[name][value] for name, value in values.items() if isinstance(value, str)}
        paths = {columns[name]: values[name] for name, text in texts.items() if text != values[name]}
        return replace(run, swept={columns[name]: value for name, value in {**values, **texts}.items()}, paths=paths)

    return [renamed(run, values) for run, values in zip(outcomes, given, strict=True)]


def _columns(outcomes: Sequence[Outcome]) -> Iterable[str]:
    """The names of all columns but the swept settings. `k` is not among them: it is a setting wherever it stands."""
    yield from (*OF_DECISION, *OF_TAGS, *(name for name in TAKEN if name != "k"))
    for outcome in outcomes:
        yield from outcome.per_query.columns
        for metric in outcome.facts.metrics:
            yield from (metric, *(f"{metric}_{word}" for word in OF_METRIC))
