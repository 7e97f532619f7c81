"""Compares finished runs of any sweeps, with tests of their differences."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from omegaconf import DictConfig

from ragsweep import tracking
from ragsweep.config.configuration_walk import Walk
from ragsweep.core.errors import ConfigError, TrackingError
from ragsweep.core.parsing import MalformedError, from_yaml
from ragsweep.core.terminal import counted, say_once
from ragsweep.replay.trusted_record import TODAYS, composed_today, keys_of
from ragsweep.sweeps import (
    Decision,
    DecisionSettings,
    Outcome,
    check_at,
    check_decision,
    decide,
    side_by_side,
)
from ragsweep.sweeps.race_record import RaceRecord
from ragsweep.tracking.stored_run import LARGEST_SETTINGS_MB

SHOWN_DIGITS = 12  # digits of a digest that a message shows


def compare_runs(
    run_ids: Sequence[str],
    overrides: Sequence[str] = (),
    *,
    baseline: str | None = None,
    settings: DecisionSettings | None = None,
) -> Decision:
    """Put runs together as a sweep over the settings in which they differ, and decide between them.

    Args:
        run_ids: Ids of runs and of sweeps. A sweep stands for its finished runs.
        overrides: `name=value`: settings of the groups `decision` and `tracking`. Without one of `decision`, what the
            first run recorded decides.
        baseline: Id of the run to beat, which was chosen beforehand; or None.
        settings: How to decide, in place of the group `decision`; or None.

    Raises:
        ConfigError: They have different data, queries or measures, lack a metric, or are a single run.
        TrackingError: A run cannot be read.
    """
    today, _ = composed_today(overrides, only=("decision", *TODAYS))
    asked = [*run_ids, *([baseline] if baseline else [])]
    fetched, damaged = tracking.fetch_outcomes(today.tracking, asked)
    outcomes = _without_repeats(fetched, asked)
    if len(outcomes) < 2 and damaged:
        named = ", ".join(f"{name} ({why})" for name, why in damaged.items())
        raise TrackingError(f"{asked[0]}: expected at least two runs whose results can be read; found {named}")
    if len(outcomes) < 2:
        raise ConfigError(f"{asked[0]}: found only one finished run, expected at least two: name another run or sweep")
    for other in outcomes[1:]:
        check_same_task(outcomes[0], other)
        if other.facts.cutoff != outcomes[0].facts.cutoff:
            at = " and ".join(f"at a {run.facts.cutoff}" for run in (outcomes[0], other))
            raise ConfigError(f"{_on(outcomes[0])}, {_on(other)}: measured {at}, which cannot be compared")
    chosen = keys_of(overrides)
    if settings is None:
        settings = _as_recorded(today, chosen, outcomes[0])
    one_sweep = len(asked) == 1 and all(outcome.swept for outcome in outcomes)  # a run on its own swept nothing
    sweep = side_by_side(outcomes, settings=settings, baseline=baseline, damaged=damaged, as_swept=one_sweep)
    if baseline and sweep.baseline is None:
        expected = "expected the id of one run whose results can be read, not of a sweep"
        raise ConfigError(f"--baseline: found {baseline}, {expected}")
    if settings.metric not in sweep.metrics:
        expected = ", ".join(sweep.metrics)
        raise ConfigError(f"decision.metric: found {settings.metric!r}, expected one that all have: {expected}")
    if "decision" not in chosen:  # another task has other costs
        own = {"gains": settings.gains, "costs": settings.costs}
        kept: dict[str, Any] = {key: [name for name in own[key] if name in sweep.metric_info] for key in own}
        kept["at"] = settings.at if settings.at in sweep.cutoffs else None
        settings = replace(settings, **{name: kept[name] for name in kept if f"decision.{name}" not in chosen})
    check_decision(settings, list(sweep.metric_info.values()), (), sweep.cutoff)
    check_at(settings, sweep.cutoffs)
    race = _race(today, asked)
    decided_as_raced = one_sweep and settings.metric == outcomes[0].facts.decided_by
    return decide(replace(sweep, settings=settings, race=race if decided_as_raced else None))


def _race(today: DictConfig, asked: Sequence[str]) -> RaceRecord | None:
    """The race of the first sweep that had one; says of each how many configurations it has left out."""
    races = {name: race for name in asked if (race := tracking.fetch_race(today.tracking, name))}
    for name, race in races.items():
        if race.dropped:
            left_out = counted(len(race.dropped), "configuration")
            say_once(f"{name}: not compared: {left_out} that dropped out of its race; another metric may say otherwise")
    return next(iter(races.values()), None)


def _without_repeats(outcomes: Sequence[Outcome], asked: Sequence[str]) -> list[Outcome]:
    """The runs without those of sweeps that measured again what an earlier one had: the same settings and values."""
    kept: list[Outcome] = []
    for run in outcomes:
        repeats = (
            other.settings == run.settings
            and all(other.value(name) == run.value(name) for name in {*other.facts.metrics, *run.facts.metrics})
            for other in kept
        )
        if run.run_id in asked or not any(repeats):
            kept.append(run)
    if len(kept) < len(outcomes):
        say_once(f"compared once: {counted(len(outcomes) - len(kept), 'run')} that measured again what another did")
    return kept


def _as_recorded(today: DictConfig, chosen: Collection[str], run: Outcome) -> DecisionSettings:
    """How to decide: as is set, else as a run was decided, where its configuration can be read."""
    recorded: dict[str, Any] = {"metric": run.facts.decided_by} if run.facts.decided_by else {}
    with suppress(TrackingError, MalformedError, KeyError, TypeError, ValueError):
        text = tracking.fetch_text(today.tracking, run.run_id, "config/config.yaml", LARGEST_SETTINGS_MB)
        recorded = {**from_yaml(text or "")["decision"], **recorded}
    own = {name: recorded[name] for name in today.decision if name in recorded and f"decision.{name}" not in chosen}
    decided = today.copy()
    decided.decision = {**today.decision, **({} if "decision" in chosen else own)}
    settings: DecisionSettings = Walk(decided).build("decision", DecisionSettings)
    return settings


def check_same_task(one: Outcome, other: Outcome) -> None:
    """Raise `ConfigError` if two runs were measured on different data or by different settings."""
    tasks = one.task, other.task
    if tasks[0]["dataset"] != tasks[1]["dataset"]:
        reason = "measured on different documents, queries or judgments, so their numbers cannot be compared"
        raise ConfigError(f"{_on(one)}, {_on(other)}: {reason}")
    for name in dict.fromkeys([*tasks[0], *tasks[1]]):
        values = [task.get(name) for task in tasks]
        if values[0] != values[1]:
            reason = f"{name} is {values[0]} and {values[1]}" if name != "queries" else "measured on different queries"
            raise ConfigError(f"{one.run_id}, {other.run_id}: {reason}, so their numbers cannot be compared")


def _on(run: Outcome) -> str:
    return f"{run.run_id} on {run.facts.dataset.name} (digest {run.facts.dataset.digest[:SHOWN_DIGITS]})"
