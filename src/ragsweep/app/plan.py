"""Lists and checks the jobs of a sweep before it starts, and describes them for a dry run."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from itertools import islice, product
from typing import Any, NamedTuple

from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import ConfigCompositionException
from omegaconf import DictConfig, OmegaConf

from ragsweep.app.job import check_tracking
from ragsweep.app.naming import as_given, name_and_settings
from ragsweep.config.composing import sharing
from ragsweep.config.groups import name_unused, unused_groups
from ragsweep.core.errors import ConfigError, first_line
from ragsweep.core.project import sweep_id
from ragsweep.core.terminal import counted

MOST_JOBS = 100_000
MOST_KEPT = 100  # experiments that stay built until their jobs run


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
    return jobs_of(overrides), swept


def _name(override: Override) -> str:
    return override.get_key_element().lstrip("+")


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
    return [list(job) for job in product(*values.values())]


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


def check_all(config: DictConfig, jobs: Sequence[list[str]], swept: Sequence[str]) -> tuple[DictConfig, list[Planned]]:
    """Build the objects of every job, then load what they measure: bad input stops a sweep before anything is recorded.

    Returns:
        The configuration of the first job, and what is planned.
    """
    from ragsweep.experiment import Experiment
    from ragsweep.sweeps.decision_settings import check_at, decision_of
    from ragsweep.tasks.task_capabilities import cutoff_of

    loader = sharing(GlobalHydra.instance().config_loader())
    parser = OverridesParser.create(config_loader=loader)
    parsed = [parser.parse_overrides(overrides) for overrides in jobs]
    unused: list[set[str]] = []

    def built(number: int) -> Experiment:
        try:
            job = loader.load_sweep_config(config, jobs[number])
        except ValueError as error:  # Hydra raises this for a group that is set to null
            raise ConfigCompositionException(str(error)) from error
        experiment = Experiment.built(without_hydra(job))
        overridden = [override.key_or_group for override in parsed[number]]
        unused.append(unused_groups(overridden, experiment.config, experiment.used))
        return experiment

    kept: dict[int, Experiment] = {}
    for number, overrides in enumerate(parsed):
        experiment = built(number)
        if number < MOST_KEPT:
            kept[number] = experiment
            experiment.keep([str(each.input_line) for each in overrides if not each.is_hydra_override()], sweep_id())
    first = kept[0].config if kept else config  # that of the whole sweep lacks what is swept
    check_tracking(first)
    planned, cutoffs = [], dict[str, dict[Any, None]]()
    for number, overrides in enumerate(parsed):
        current = kept.pop(number, None) or built(number)
        where = current.config.tracking.experiment
        planned.append(Planned(*name_and_settings(overrides, swept), current.digest, where))
        cutoffs.setdefault(cutoff_of(current.task), {})[current.cutoff] = None
    if len(cutoffs) > 1:
        raise ConfigError(
            f"found jobs with {' and jobs with '.join(sorted(cutoffs))}: expected the same cutoff for all"
        )
    name_unused(set[str].intersection(*unused) if unused else (), swept)
    for values in cutoffs.values():
        if {*values} != {None}:
            check_at(decision_of(first), [*values])
    return first, planned


def without_hydra(config: DictConfig) -> DictConfig:
    """A configuration without Hydra's own."""
    return OmegaConf.masked_copy(config, [str(key) for key in config if key != "hydra"])


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
