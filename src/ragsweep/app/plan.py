"""Lists and checks the jobs of a sweep before it starts, and describes them for a dry run."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from itertools import islice, product
from typing import Any, NamedTuple

from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.types import Override, OverrideType
from omegaconf import DictConfig, OmegaConf

from ragsweep.app.job import check_tracking
from ragsweep.app.messages import settings_in, unknown_setting
from ragsweep.app.naming import as_given, name_and_settings
from ragsweep.config.composing import SharingLoader, sharing
from ragsweep.config.groups import name_unused, unused_groups
from ragsweep.core.errors import ConfigError, first_line
from ragsweep.core.project import sweep_id
from ragsweep.core.terminal import counted

MOST_JOBS = 100_000
MOST_KEPT = 100  # experiments that stay built until their jobs run
OURS = ".CheckedSweeper"  # the sweeper whose jobs are known before it starts
PARAMS, ZIP = "hydra.sweeper.params", "hydra.sweeper.zip"


class Planned(NamedTuple):
    """A job before it starts: its overrides, name, swept settings, digest of what decides its results, and where."""

    overrides: list[str]
    name: str
    swept: Mapping[str, Any]
    digest: str
    experiment: str


class Plan(NamedTuple):
    """A sweep before it starts.

    Attributes:
        first: The configuration of its first job; of another sweeper than ours, that of the sweep.
        jobs: Its jobs; none if only the sweeper knows them.
        swept: The names of the settings that are swept.
    """

    first: DictConfig
    jobs: list[Planned]
    swept: list[str]


def plan(config: DictConfig) -> Plan:
    """List the jobs of a sweep and check them all: bad input stops it before anything is recorded.

    Every configuration is measured once, and a setting applies to those that have it.

    Raises:
        ConfigError: For the first thing that is wrong.
    """
    loader = sharing(GlobalHydra.instance().config_loader())
    typed = loader.parsed(as_given(config.hydra.overrides.task))
    if not config.hydra.sweeper._target_.endswith(OURS):
        overrides = [*loader.parsed(_params(config.hydra.sweeper)), *typed]
        _check_values(overrides)
        check_tracking(config)
        return Plan(config, [], [_name(override) for override in overrides if override.is_sweep_override()])
    jobs, swept = _jobs_of_files(config, loader, typed)
    return _checked(config, loader, _applicable(config, loader, jobs), swept)


def _jobs_of_files(
    config: DictConfig, loader: SharingLoader, typed: Sequence[Override]
) -> tuple[list[list[str]], list[str]]:
    """The overrides of every job, and the names of the swept settings: of each file that is chosen, what it sweeps."""
    choices = [override for override in typed if loader.is_choice(override)]
    _check_values(typed)
    chosen: dict[str, list[frozenset[str]]] = {}  # by what is swept, the options for which that holds
    sweepers: dict[str, DictConfig] = {}
    for lines in jobs_of(choices):
        sweeper = loader.chosen(config, loader.parsed(lines)).hydra.sweeper
        chosen.setdefault(key := OmegaConf.to_yaml(sweeper), []).append(frozenset(lines))
        sweepers[key] = sweeper
    options = frozenset().union(*(lines for of_one in chosen.values() for lines in of_one))
    replaced = {_name(override): override for override in typed}
    jobs: list[list[str]] = []
    swept: dict[str, None] = {}
    for key, sweeper in sweepers.items():
        overrides = []
        for override in loader.parsed(_params(sweeper)):
            if override.is_sweep_override() and (now := replaced.get(_name(override))):
                print(f"{now.input_line} replaces {override.input_line} of {PARAMS}", file=sys.stderr)
            overrides += [] if _name(override) in replaced else [override]
        overrides += typed
        _check_values(overrides)
        for override in overrides:
            values = _values_of(override)
            swept |= {_name(override): None} if len(values) > 1 else {}
            if len({*values}) < len(values) and _name(override) not in (sweeper.zip or ()):
                print(f"{override.input_line}: a value that is listed twice is measured once", file=sys.stderr)
        jobs += [job for job in jobs_of(overrides, sweeper.zip or ()) if options.intersection(job) in chosen[key]]
    return jobs, [*swept]


def _params(sweeper: DictConfig) -> list[str]:
    return [f"{name}={value}" for name, value in (sweeper.get("params") or {}).items()]


def _name(override: Override) -> str:
    return override.get_key_element().lstrip("+")


def _values_of(override: Override) -> list[str]:
    """The overrides for which one of a sweep stands, one for each value that it lists.

    Raises:
        ConfigError: It is an interval, of which a grid has no values.
    """
    key = override.get_key_element()
    if not override.is_sweep_override():
        return [str(override.input_line)]
    if not override.is_discrete_sweep():
        raise ConfigError(f"{override.input_line}: expected a list of values, or a range such as range(0,1.01,0.1)")
    return [f"{key}={value}" for value in override.sweep_string_iterator()]


def jobs_of(overrides: Sequence[Override], zipped: Sequence[str] = ()) -> list[list[str]]:
    """The overrides of every job: each combination of the values that are listed.

    Args:
        overrides: One for each setting.
        zipped: Settings whose values belong together: the first with the first, the second with the second.

    Raises:
        ConfigError: What is zipped is not swept, or not over equally many values.
    """
    axes = {_name(override): [[line] for line in _values_of(override)] for override in overrides}
    if zipped:
        lengths = {name: len(axes.get(name, ())) for name in zipped}
        if len({*lengths.values()}) > 1 or {*lengths.values()} & {0, 1}:
            shown = ", ".join(f"{name} with {counted(number, 'value')}" for name, number in lengths.items())
            raise ConfigError(f"{ZIP}: found {shown}; expected settings that are swept over equally many values")
        rows = zip(*(axes[name] for name in zipped), strict=True)
        axes[zipped[0]] = [[line for lines in row for line in lines] for row in rows]
        for name in zipped[1:]:
            del axes[name]
    return [[line for lines in row for line in lines] for row in product(*axes.values())]


def _check_values(overrides: Sequence[Override]) -> None:
    """Raise `ConfigError` where a swept setting lists no value, or the jobs are too many to be listed."""
    jobs = 1
    for override in overrides:
        if override.is_sweep_override() and override.is_discrete_sweep():
            try:
                values = sum(1 for _ in islice(override.sweep_iterator(), MOST_JOBS + 1))
            except ValueError as error:
                raise ConfigError(f"{override.input_line}: {first_line(error)}") from error
            if not values:
                raise ConfigError(f"{override.input_line}: lists no value, so that nothing would run")
            jobs *= values
    if jobs > MOST_JOBS:
        raise ConfigError(f"the sweep would have {jobs:,} jobs or more; expected at most {MOST_JOBS:,}")


def _applicable(config: DictConfig, loader: SharingLoader, jobs: Sequence[list[str]]) -> list[list[str]]:
    """The jobs without the settings that their options do not have, each job once.

    Raises:
        ConfigError: No job has a setting.
    """
    composed: dict[tuple[str, ...], dict[str, Any]] = {}
    lacking: list[set[str]] = []
    names: set[str] = set()
    for job in jobs:
        overrides = loader.parsed(job)
        chosen = [override for override in overrides if loader.is_choice(override) or override.type in ADDS]
        key = tuple(str(override.input_line) for override in chosen)
        if key not in composed:
            composed[key] = OmegaConf.to_container(without_hydra(loader.chosen(config, chosen)))  # type: ignore[assignment]
        values = [override for override in overrides if override not in chosen and not override.is_hydra_override()]
        lacking.append({_name(override) for override in values if not _has(composed[key], _name(override))})
        names.update(_name(override) for override in values)
    if unknown := names.intersection(*lacking):
        settings = dict.fromkeys(name for one in composed.values() for name in settings_in(one))
        raise ConfigError(unknown_setting(min(unknown), [*settings]))
    applicable = [
        tuple(line for line in job if _name(*loader.parsed([line])) not in without)
        for job, without in zip(jobs, lacking, strict=True)
    ]
    return [[*job] for job in dict.fromkeys(applicable)]


ADDS = (OverrideType.ADD, OverrideType.FORCE_ADD, OverrideType.DEL)


def _has(settings: Any, name: str) -> bool:
    """Whether there is a setting of this name; an item of a list need not be there yet."""
    for part in name.split("."):
        if isinstance(settings, list) or part.endswith("]"):
            return True
        if not isinstance(settings, dict) or part not in settings:
            return False
        settings = settings[part]
    return True


def _checked(config: DictConfig, loader: SharingLoader, jobs: Sequence[list[str]], swept: list[str]) -> Plan:
    """Build the objects of every job, then load what they measure."""
    from ragsweep.experiment import Experiment
    from ragsweep.sweeps.decision_settings import check_at, decision_of
    from ragsweep.tasks.task_capabilities import cutoff_of

    unused: list[set[str]] = []
    folders: dict[str, str] = {}

    def built(lines: Sequence[str]) -> Experiment:
        job = loader.load_sweep_config(config, [*lines])
        _check_folder(job, " ".join(line for line in lines if _name(*loader.parsed([line])) in swept), folders)
        return Experiment.built(without_hydra(job))

    kept: dict[tuple[str, ...], Experiment | None] = {}
    for lines in jobs:
        experiment = built(lines)
        overrides = loader.parsed(lines)
        unused.append(unused_groups([each.key_or_group for each in overrides], experiment.config, experiment.used))
        without = {_name(each) for each in overrides if each.key_or_group.partition(".")[0] in unused[-1]} & {*swept}
        used = tuple(str(each.input_line) for each in overrides if _name(each) not in without)
        if used not in kept:
            experiment = built(used) if without else experiment
            kept[used] = experiment if len(kept) < MOST_KEPT else None
            experiment.keep([line for line in used if not line.startswith("hydra.")], sweep_id())
    first = next(filter(None, kept.values())).config  # that of the whole sweep lacks what is swept
    check_tracking(first)
    cutoffs = dict[str, dict[Any, None]]()
    planned: dict[str, list[Planned]] = {}
    for used in [*kept]:
        current = kept.pop(used) or built(used)
        name, values = name_and_settings(loader.parsed(used), swept)
        job = Planned([*used], name, values, current.digest, current.config.tracking.experiment)
        planned.setdefault(job.digest, []).append(job)
        cutoffs.setdefault(cutoff_of(current.task), {})[current.cutoff] = None
    if len(cutoffs) > 1:
        raise ConfigError(
            f"found jobs with {' and jobs with '.join(sorted(cutoffs))}: expected the same cutoff for all"
        )
    name_unused(set[str].intersection(*unused), swept)
    for cutoff_values in cutoffs.values():
        if {*cutoff_values} != {None}:
            check_at(decision_of(first), [*cutoff_values])
    _say_what_measures_the_same([jobs for jobs in planned.values() if len({job.name for job in jobs}) > 1])
    return Plan(first, [jobs[0] for jobs in planned.values()], swept)


def _check_folder(job: DictConfig, name: str, folders: dict[str, str]) -> None:
    """Raise `ConfigError` where two jobs would write into one folder."""
    folder = OmegaConf.to_container(job.hydra.sweep, resolve=False)["subdir"]  # type: ignore[call-overload, index]
    if "${hydra:" in str(folder):  # is known when the job runs
        return
    folder = str(job.hydra.sweep.subdir)
    if folders.setdefault(folder, name) != name:
        raise ConfigError(
            f"hydra.sweep.subdir: {folders[folder]} and {name} would write into the folder {folder}; "
            "expected another one for each job, such as ${hydra.job.override_dirname}"
        )


def without_hydra(config: DictConfig) -> DictConfig:
    """A configuration without Hydra's own."""
    return OmegaConf.masked_copy(config, [str(key) for key in config if key != "hydra"])


def _say_what_measures_the_same(alike: Sequence[Sequence[Planned]]) -> None:
    """Name the jobs that measure the same, of which one runs: they differ only in settings without an effect."""
    for jobs in alike[:1]:
        more = f", and {counted(len(alike) - 1, 'more such group')}" if len(alike) > 1 else ""
        names = ", ".join(dict.fromkeys(job.name for job in jobs))
        print(f"these measure the same, so the first one runs for all of them: {names}{more}", file=sys.stderr)


def say_what_would_run(plan: Plan) -> None:
    """Print a line per job: whether `tracking.resume=true` would find it finished or run it."""
    from ragsweep import tracking

    if not plan.jobs:
        print("the sweeper chooses the jobs as it goes: none is known yet")
        return
    missing = 0
    for job in plan.jobs:
        run = tracking.finished_with(plan.first.tracking, job.digest, job.experiment)
        missing += run is None
        print(f"{job.name}: {'would run' if run is None else f'finished, run {run.info.run_id}'}")
    print(f"{missing} of {len(plan.jobs)} would run with tracking.resume=true, all without it")
