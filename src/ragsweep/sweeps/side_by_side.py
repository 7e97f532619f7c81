"""Combines runs of any sweeps into one sweep over the settings in which they differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ragsweep.config.groups import option_of_class
from ragsweep.sweeps.columns import with_own_columns
from ragsweep.sweeps.configuration_names import as_number, as_text, short, short_names, told_apart
from ragsweep.sweeps.decision_settings import DecisionSettings
from ragsweep.sweeps.outcome import Outcome
from ragsweep.sweeps.sweep import Sweep

FINGERPRINT = ".fingerprint"  # of what a component loads; nobody knows it by heart


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
    differing = [name for name, found in values.items() if len(found) > 1 or name in some_have]
    telling = [name for name in differing if not name.endswith(FINGERPRINT)]
    if len({tuple(outcome.settings.get(name) for name in telling) for outcome in outcomes}) == len(outcomes):
        differing = telling
    shortened = dict(zip(differing, short_names(differing), strict=True))
    swept = [
        {name: _setting(name, outcome.settings) for name in differing if name in outcome.settings}
        for outcome in outcomes
    ]
    shown = {name: told_apart({own[name] for own in swept if name in own}) for name in differing}
    renamed = []
    for outcome, own in zip(outcomes, swept, strict=True):
        name = (
            " ".join(f"{shortened[setting]}={shown[setting][as_text(value)]}" for setting, value in own.items())
            or outcome.name
        )
        renamed.append(replace(outcome, name=name, swept=own, paths={}))
    return renamed


def _setting(name: str, settings: Mapping[str, str]) -> float | int | str | None:
    """The value of a setting as a configuration has it; of a component, the name of its option."""
    text, path = settings[name], f"{name}."
    own = frozenset((key.removeprefix(path), value) for key, value in settings.items() if key.startswith(path))
    return None if text == "None" else as_number(option_of_class(short(name), text, own))
