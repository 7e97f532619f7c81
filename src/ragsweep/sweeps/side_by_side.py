"""Runs of any sweeps as one sweep over the settings in which they differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ragsweep.sweeps.naming import as_number, as_text, short_names
from ragsweep.sweeps.outcome import Outcome
from ragsweep.sweeps.sweep import Sweep


def side_by_side(
    outcomes: Sequence[Outcome], *, metric: str, baseline: str | None, damaged: Mapping[str, str]
) -> Sweep:
    """Runs of any sweeps on the same data as one sweep over the settings in which they differ.

    Args:
        outcomes: The runs.
        metric: By which the best is chosen; empty for the one that the runs name.
        baseline: Run id of the one that was fixed beforehand as the one to beat.
        damaged: The names of runs that cannot be among them, with the reason.
    """
    names = dict.fromkeys(name for outcome in outcomes for name in outcome.settings if not name.startswith("dataset."))
    values = {name: {outcome.settings[name] for outcome in outcomes if name in outcome.settings} for name in names}
    differing = [name for name, found in values.items() if len(found) > 1]
    shortened = dict(zip(differing, short_names(differing), strict=True))
    alike = []
    for outcome in outcomes:
        own = {name: _setting(outcome.settings[name]) for name in differing if name in outcome.settings}
        name = " ".join(f"{shortened[setting]}={as_text(value)}" for setting, value in own.items()) or outcome.name
        alike.append(replace(outcome, name=name, swept=own))
    given = [outcome.name for outcome in alike]
    unlike = [
        replace(run, name=f"{run.name} ({run.run_id[:8]})") if given.count(run.name) > 1 else run for run in alike
    ]
    beaten = next((outcome.name for outcome in unlike if outcome.run_id == baseline), None)
    return Sweep(unlike, damaged, metric, beaten)


def _setting(text: str) -> float | int | str | None:
    return None if text == "None" else as_number(text)
