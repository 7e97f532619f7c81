"""Lists and checks the jobs of a sweep before it starts, and describes them for a dry run."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice, product
from typing import Any, NamedTuple

from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import ConfigCompositionException
from omegaconf import DictConfig, OmegaConf

from ragsweep.app.job import check_tracking
from ragsweep.app.naming import Shown, as_given, name_and_settings, values_shown
from ragsweep.app.option_values import expanded
from ragsweep.config.composing import sharing
from ragsweep.config.groups import name_unused, refuse_unused
from ragsweep.core.errors import ConfigError, first_line
from ragsweep.core.project import sweep_id
from ragsweep.core.terminal import counted

MOST_JOBS = 100_000
MOST_CONFIGURATIONS_KEPT = 100  # configurations


class Planned(NamedTuple):
    """A job before it starts: its name, its swept settings, the digest of all that decides its results, and where."""

    name: str
    swept: Mapping[str, Any]
    digest: str
    experiment: str


def list_jobs(config: DictConfig) -> tuple[list[list[str]], list[str]]:
    """The overrides of every job, and the names of the swept settings; no jobs if only the sweeper knows them."""
    parser = OverridesParser.create(config_loader=GlobalHydra.instance().config_loader())
    params = [f"{name}={value}" for name, value in (config.hydra.sweeper.get("params") or {}).items()]
    overrides = parser.parse_overrides(params + as_given(config.hydra.overrides.task))
    last = {_name(override): override for override in overrides}  # the command line comes after the files
    swept = [name for name, override in last.items() if override.is_sweep_override()]
    for override in overrides:
        if override.is_sweep_override() and (now := last[_name(override)]) is not override:
            print(f"{now.input_line} replaces {override.input_line} of hydra.sweeper.params", file=sys.stderr)
    _check_values([*last.values()])
    if not config.hydra.sweeper._target_.endswith((".BasicSweeper", ".CheckedSweeper")):
        return [], swept
    jobs = jobs_of(overrides)
    return jobs, with_own_settings(jobs, swept)


def _name(override: Override) -> str:
    return override.get_key_element().lstrip("+")


def with_own_settings(jobs: Iterable[Sequence[str]], swept: Sequence[str]) -> list[str]:
    """The swept settings, each followed by those that its values set, as `chunker=recursive:96` does."""
    given = [dict(each.lstrip("+").split("=", 1) for each in job if "=" in each) for job in jobs]
    own = dict.fromkeys(name for job in given for name in job if name not in swept)
    varied = [name for name in own if len({job.get(name) for job in given}) > 1]
    return [each for name in swept for each in (name, *(other for other in varied if other.startswith(f"{name}.")))]


def jobs_of(overrides: Sequence[Override]) -> list[list[str]]:
    """The overrides of every job, each combination of the values that are listed; the last value of a name counts.

    Raises:
        ConfigError: A setting is swept over an interval, of which a grid has no values.
    """
    values: dict[str, list[str]] = {}
    for override in overrides:
        key = override.get_key_element()
        if not override.is_sweep_override():
            values[_name(override)] = [f"{key}={override.get_value_element_as_str()}"]
        elif override.is_discrete_sweep():
            values[_name(override)] = [f"{key}={value}" for value in override.sweep_string_iterator()]
        else:
            raise ConfigError(f"{override.input_line}: expected a list of values or a range")
    return [expanded(job) for job in product(*values.values())]


def _check_values(overrides: Sequence[Override]) -> None:
    """Raise `ConfigError` where a swept setting lists no value, or the jobs are too many to be listed."""
    jobs = 1
    for override in overrides:
        if override.is_sweep_override():
            try:
                values = sum(1 for _ in islice(override.sweep_iterator(), MOST_JOBS + 1))
            except ValueError as error:
                raise ConfigError(f"{override.input_line}: {first_line(error)}") from error
            if not values:
                raise ConfigError(f"{override.input_line}: lists no value, so that nothing would run")
            jobs *= values
    if jobs > MOST_JOBS:
        raise ConfigError(f"the sweep would have {jobs:,} jobs or more; expected at most {MOST_JOBS:,}")


def check_all(
    config: DictConfig, jobs: Sequence[list[str]], swept: Sequence[str]
) -> tuple[DictConfig, list[Planned], Shown]:
    """Build the objects of every job, so that bad input stops the sweep before anything is recorded.

    Returns:
        The configuration of the first job, what is planned, and the values in the names of the jobs, of `values_shown`.
    """
    from ragsweep.experiment import Experiment, checked
    from ragsweep.sweeps.decision_settings import check_at, decision_of
    from ragsweep.tasks.task_capabilities import cutoff_of

    loader = sharing(GlobalHydra.instance().config_loader())

    def composed(overrides: list[str]) -> DictConfig:
        try:
            return loader.load_sweep_config(config, overrides)
        except ValueError as error:  # Hydra raises this for a group that is set to null
            raise ConfigCompositionException(str(error)) from error

    def prepared(overrides: list[str]) -> tuple[DictConfig, list[str]]:
        job = composed(overrides)
        unused.append(refuse_unused(job, parser.parse_overrides(overrides)))
        without_hydra = OmegaConf.masked_copy(job, [str(key) for key in job if key != "hydra"])
        return checked(without_hydra), as_given(job.hydra.overrides.task)

    parser = OverridesParser.create(config_loader=loader)
    unused: list[set[str]] = []
    kept: dict[tuple[str, ...], tuple[DictConfig, list[str]]] = {}
    checked_before: set[str] = set()
    for overrides in jobs:  # every value once, before anything is loaded or built
        if not checked_before.issuperset(overrides):
            ready = prepared(overrides)
            checked_before.update(overrides)
            if len(kept) < MOST_CONFIGURATIONS_KEPT:
                kept[tuple(overrides)] = ready
    first = composed(jobs[0]) if jobs else config  # the configuration of the whole sweep lacks what is swept
    check_tracking(first)
    planned, cutoffs, named = [], [], set[str]()
    parsed = [parser.parse_overrides(overrides) for overrides in jobs]
    shown = values_shown(parsed, swept)
    for overrides, each in zip(jobs, parsed, strict=True):
        ready = kept.pop(tuple(overrides)) if tuple(overrides) in kept else prepared(overrides)
        experiment = Experiment.planned(*ready, sweep_id())
        where = experiment.config.tracking.experiment
        planned.append(Planned(*name_and_settings(each, swept, shown), experiment.digest, where))
        cutoffs.append(experiment.cutoff)
        named.add(cutoff_of(experiment.task))
    if len(named) > 1:
        raise ConfigError(f"found jobs with {' and jobs with '.join(sorted(named))}: expected the same cutoff for all")
    name_unused(set[str].intersection(*unused) if unused else (), swept)
    if any(cutoff is not None for cutoff in cutoffs):
        check_at(decision_of(experiment.config), list(dict.fromkeys(cutoffs)))
    return first, planned, shown


def say_what_has_no_effect(planned: Sequence[Planned]) -> None:
    """Name the configurations that will measure the same, because they differ only in settings without an effect."""
    alike: dict[str, list[str]] = {}
    for job in planned:
        alike.setdefault(job.digest, []).append(job.name)
    same = [names for names in alike.values() if len(names) > 1]
    if same:
        more = f", and {counted(len(same) - 1, 'more such group')}" if len(same) > 1 else ""
        twice = len({*same[0]}) == 1  # such as 0.5,0.50
        why = "a value is listed twice" if twice else "a swept setting has no effect in them"
        print(f"these measure the same, because {why}: {', '.join(same[0])}{more}", file=sys.stderr)


def say_what_would_run(first: DictConfig, planned: Sequence[Planned]) -> None:
    """Print a line per job: whether `tracking.resume=true` would find it finished or run it."""
    from ragsweep import tracking

    if not planned:
        print("the sweeper chooses the jobs as it goes: none is known yet")
        return
    missing = 0
    for job in planned:
        run = tracking.finished_with(first.tracking, job.digest)
        missing += run is None
        print(f"{job.name}: {'would run' if run is None else f'finished, run {run.info.run_id}'}")
    print(f"{missing} of {len(planned)} would run with tracking.resume=true, all without it")
