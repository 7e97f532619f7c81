"""The jobs of a sweep, which are listed and checked before it starts."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from itertools import islice, product
from math import prod
from typing import Any, NamedTuple

from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.types import Override
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from ragsweep.app.error_messages import settings_in, unknown_setting, without_hydra
from ragsweep.app.job import as_given, check_tracking, experiments, name_and_settings
from ragsweep.config.composing import SharingLoader, sharing
from ragsweep.config.groups import name_unused, unused_groups
from ragsweep.core.errors import ConfigError, first_line
from ragsweep.core.project import sweep_id
from ragsweep.core.terminal import counted

OUR_SWEEPERS = (".CheckedSweeper", ".RaceSweeper")
MOST_JOBS = 100_000
MOST_KEPT = 100  # experiments that stay built until their jobs run


class Planned(NamedTuple):
    """A job before it starts: its overrides, name, swept settings, digest of what decides its results, and where."""

    overrides: list[str]
    name: str
    swept: Mapping[str, Any]
    digest: str
    experiment: str
    cutoff: Any
    items: str  # digest of what is asked


class Plan(NamedTuple):
    """A sweep before it starts."""

    first: DictConfig  # of the first job; for a sweeper that is not ours, of the sweep
    jobs: list[Planned]  # none if only the sweeper knows them
    swept: list[str]  # names of settings


def plan(config: DictConfig, left: Sequence[str] = ()) -> Plan:
    """List the jobs of a sweep and check them all. Raises `ConfigError` before anything is recorded.

    Every configuration is measured once. A setting applies to those that have it; the defaults lack those `left`.
    """
    try:
        str(config.hydra.sweep.dir)
    except OmegaConfBaseException as error:
        raise ConfigError("hydra.sweep.dir: found what is not known before a sweep starts, expected a path") from error
    loader = sharing(GlobalHydra.instance().config_loader())
    typed = loader.parsed([*as_given(config.hydra.overrides.task), *left])
    if not config.hydra.sweeper._target_.endswith(OUR_SWEEPERS):  # another one chooses its jobs as it goes
        overrides = [*loader.parsed(_params(config.hydra.sweeper)), *typed]
        check_tracking(config)
        if left:
            raise ConfigError(unknown_setting(left[0].partition("=")[0], [*settings_in(config)]))
        return Plan(config, [], [_name(override) for override in overrides if override.is_sweep_override()])
    jobs, swept = _jobs(config, loader, typed)
    return _checked(config, loader, _applicable(config, loader, jobs), swept)


def _jobs(config: DictConfig, loader: SharingLoader, typed: Sequence[Override]) -> tuple[list[list[str]], list[str]]:
    """The overrides of every job, and the names of the swept settings: of each file that is chosen, what it sweeps."""
    choices = jobs_of([override for override in typed if loader.is_structural(override)])
    options = {line for lines in choices for line in lines}
    files: dict[str, tuple[DictConfig, list[set[str]]]] = {}  # what is swept, and the options for which that holds
    for lines in choices:
        sweeper = loader.chosen(config, loader.parsed(lines)).hydra.sweeper
        files.setdefault(OmegaConf.to_yaml(sweeper), (sweeper, []))[1].append({*lines})
    replaced = {_name(override): override for override in typed}
    jobs: list[list[str]] = []
    swept: dict[str, None] = {}
    for sweeper, chosen in files.values():
        params = loader.parsed(_params(sweeper))
        for override in params:
            if override.is_sweep_override() and (now := replaced.get(_name(override))):
                print(f"{now.input_line} replaces {override.input_line} of a file", file=sys.stderr)
        overrides = [*(override for override in params if _name(override) not in replaced), *typed]
        zipped = sweeper.zip or ()
        jobs += [job for job in jobs_of(overrides, zipped) if options.intersection(job) in chosen]
        for override in overrides:
            values = _values_of(override)
            swept |= {_name(override): None} if len(values) > 1 else {}
            if len({*values}) < len(values) and _name(override) not in zipped:
                print(f"{override.input_line}: a value that is listed twice is measured once", file=sys.stderr)
    return jobs, [*swept]


def _params(sweeper: DictConfig) -> list[str]:
    return [f"{name}={value}" for name, value in (sweeper.get("params") or {}).items()]


def _name(override: Override) -> str:
    return override.get_key_element().lstrip("+")


def _values_of(override: Override) -> list[str]:
    """The overrides for which one of a sweep stands. Raises `ConfigError` if that lists no value, or too many."""
    if not override.is_sweep_override():
        return [str(override.input_line)]
    if not override.is_discrete_sweep():  # an interval, of which a grid has no values
        raise ConfigError(f"{override.input_line}: expected a list of values, or a range such as range(0,1.01,0.1)")
    try:
        values = [*islice(override.sweep_string_iterator(), MOST_JOBS + 1)]
    except ValueError as error:
        raise ConfigError(f"{override.input_line}: {first_line(error)}") from error
    if not values:
        raise ConfigError(f"{override.input_line}: lists no value, so that nothing would run")
    return [f"{override.get_key_element()}={value}" for value in values]


def jobs_of(overrides: Sequence[Override], zipped: Sequence[str] = ()) -> list[list[str]]:
    """The overrides of every job: each combination of the values that are listed.

    The values of `zipped` settings belong together: the first with the first, the second with the second. Raises
    `ConfigError` where these are not swept over equally many values, or the jobs are too many.
    """
    axes = {_name(override): [[line] for line in _values_of(override)] for override in overrides}
    if zipped:
        lengths = {name: len(axes.get(name, ())) for name in zipped}
        if len({*lengths.values()}) > 1 or {*lengths.values()} & {0, 1}:
            shown = ", ".join(f"{name} with {counted(number, 'value')}" for name, number in lengths.items())
            raise ConfigError(f"hydra.sweeper.zip: found {shown}; expected settings swept over equally many values")
        rows = zip(*[axes[name] if name == zipped[0] else axes.pop(name) for name in zipped], strict=True)
        axes[zipped[0]] = [[line for lines in row for line in lines] for row in rows]
    if (jobs := prod(map(len, axes.values()))) > MOST_JOBS:
        raise ConfigError(f"the sweep would have {jobs:,} jobs or more; expected at most {MOST_JOBS:,}")
    return [[line for lines in row for line in lines] for row in product(*axes.values())]


def _applicable(config: DictConfig, loader: SharingLoader, jobs: Sequence[list[str]]) -> list[tuple[str, ...]]:
    """The jobs without the settings that their options do not have, each once. Some job must have each setting."""
    composed: dict[tuple[str, ...], dict[str, Any]] = {}
    applicable: dict[tuple[str, ...], None] = {}
    given, used = set[str](), set[str]()
    for job in jobs:
        overrides = loader.parsed(job)
        chosen = [override for override in overrides if loader.is_structural(override)]
        key = tuple(str(override.input_line) for override in chosen)
        if key not in composed:
            composed[key] = OmegaConf.to_container(without_hydra(loader.chosen(config, chosen)))  # type: ignore[assignment]
        values = [override for override in overrides if override not in chosen and not override.is_hydra_override()]
        lacking = [override for override in values if not _has(composed[key], _name(override))]
        given.update(map(_name, values))
        used.update(_name(override) for override in values if override not in lacking)
        applicable[tuple(str(override.input_line) for override in overrides if override not in lacking)] = None
    if given - used:
        settings = dict.fromkeys(name for one in composed.values() for name in settings_in(one))
        raise ConfigError(unknown_setting(min(given - used), [*settings]))
    return [*applicable]


def _has(settings: Any, name: str) -> bool:
    """Whether there is a setting of this name; an item of a list need not be there yet."""
    first, _, rest = name.partition(".")
    if isinstance(settings, list) or first.endswith("]"):
        return True
    return isinstance(settings, dict) and first in settings and (not rest or _has(settings[first], rest))


def _checked(config: DictConfig, loader: SharingLoader, jobs: Sequence[tuple[str, ...]], swept: list[str]) -> Plan:
    """Build the objects of every job, then load what they measure."""
    from ragsweep.experiment import Experiment
    from ragsweep.sweeps.decision_settings import check_at, decision_of

    unused: list[set[str]] = []
    folders: dict[tuple[str, ...], str] = {}
    kept: dict[tuple[str, ...], Experiment | None] = {}
    cutoffs: dict[str, dict[Any, None]] = {}
    planned: dict[tuple[str, str], list[Planned]] = {}

    def built(lines: Sequence[str]) -> Experiment:
        job = loader.load_sweep_config(config, [*lines])
        if "${hydra:" not in str(OmegaConf.to_container(job.hydra.sweep, resolve=False)):  # else known when it runs
            folders[tuple(lines)] = str(job.hydra.sweep.subdir)
        return Experiment.built(without_hydra(job))

    for lines in jobs:
        experiment = built(lines)
        overrides = loader.parsed(lines)
        groups = {_name(line): line.key_or_group.partition(".")[0] for line in overrides if not line.package}
        unused.append(unused_groups([*groups.values()], experiment.config, experiment.used))
        without = {name for name in swept if groups.get(name) in unused[-1]}
        used = tuple(str(override.input_line) for override in overrides if _name(override) not in without)
        if used not in kept:
            experiment = built(used) if without else experiment
            kept[used] = experiment if len(kept) < MOST_KEPT else None
        if kept[used] is experiment:
            experiments[sweep_id(), *(line for line in used if not line.startswith("hydra."))] = experiment
    first = next(filter(None, kept.values())).config  # that of the whole sweep lacks what is swept
    check_tracking(first)
    for used in [*kept]:
        experiment = kept.pop(used) or built(used)  # a new one holds what it loads no longer than here
        name, values = name_and_settings(loader.parsed(used), swept)
        where, cutoff = experiment.config.tracking.experiment, experiment.cutoff
        job = Planned([*used], name, values, experiment.digest, where, cutoff, experiment.items.digest)
        planned.setdefault((job.digest, job.experiment), []).append(job)
        cutoffs.setdefault(experiment.task.cutoff, {})[cutoff] = None
    if len(cutoffs) > 1:
        raise ConfigError(
            f"found jobs with {' and jobs with '.join(sorted(cutoffs))}: expected the same cutoff for all"
        )
    name_unused(set[str].intersection(*unused), swept)
    if [*cutoffs.values()] != [{None: None}]:
        check_at(decision_of(first), [*cutoffs[experiment.task.cutoff]])
    for alike in planned.values():  # which differ only in settings without an effect
        if len(alike) > 1:
            texts = [[line for line in job.overrides if _name(*loader.parsed([line])) in swept] for job in alike]
            names = ", ".join(map(" ".join, texts))
            print(f"{names}: measure the same, so only the first one runs", file=sys.stderr)
    taken: dict[str, str] = {}
    for job, *_ in planned.values():
        folder = folders.get(tuple(job.overrides))
        if folder in taken:
            expected = "expected another one for each job, such as ${hydra.job.override_dirname}"
            raise ConfigError(f"hydra.sweep.subdir: {taken[folder]} and {job.name} would share {folder}; {expected}")
        taken |= {folder: job.name} if folder else {}
    return Plan(first, [jobs[0] for jobs in planned.values()], swept)


def print_plan(plan: Plan) -> None:
    """Print a line per job: whether `tracking.resume=true` would find it finished or run it."""
    from ragsweep import tracking

    runs = [tracking.finished_with(plan.first.tracking, job.digest, job.experiment) for job in plan.jobs]
    for job, run in zip(plan.jobs, runs, strict=True):
        print(f"{job.name}: {f'finished, run {run.info.run_id}' if run else 'would run'}")
    numbers = f"{runs.count(None)} of {len(runs)} would run with tracking.resume=true, all without it"
    print(numbers if runs else "the sweeper chooses the jobs as it goes: none is known yet")
