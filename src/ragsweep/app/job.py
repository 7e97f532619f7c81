"""One job: its name and command, and how one configuration is measured, with one line about it."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
import threading
import warnings
from collections.abc import Collection, Sequence
from contextlib import nullcontext, suppress
from math import isfinite
from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, OverrideType
from omegaconf import DictConfig, OmegaConf

from ragsweep.app.error_messages import explained, in_one_line
from ragsweep.app.workers import begin_worker
from ragsweep.config.groups import name_unused, unused_groups
from ragsweep.core.digest import shortened_with_digest
from ragsweep.core.errors import ConfigError, JobFailed
from ragsweep.core.progress import hide_progress, progress
from ragsweep.core.project import register_resolvers, sweep_id
from ragsweep.core.terminal import FAILED, end_if_signalled, guard
from ragsweep.tracking.store_address import check_address, check_places, say_variable, sqlite_file, store_overrides

SWEEP = "RAGSWEEP_SWEEP"  # in the environment: what every job needs to know about its sweep, as JSON
COMMAND = "RAGSWEEP_COMMAND"  # in the environment: the beginning of the command of every job
UNNAMED = ("dataset", "corpus", "questions", "tracking", "store", "hydra", "dry_run")  # do not name a run
NOT_REPEATED = ("tracking.resume=", "dry_run=", "hydra.job.env_set")  # which may have passwords

experiments: dict[tuple[str, ...], Any] = {}  # built before jobs begin, by sweep and overrides; each is run once
# Here, since the workers of a launcher import this file alone.
register_resolvers()
warnings.filterwarnings("ignore", message=r"\s+'hydra/launcher/.*' is validated")  # our YAML has the plugins' own names


def job(config: DictConfig) -> Any:
    """Measure one configuration, for Hydra.

    Returns:
        The metric that decides; NaN where nothing was measured. In a round of a race, what `race.measure_some` returns.
    """
    guard()  # also in the worker of a launcher
    end_if_signalled()
    in_sweep: dict[str, Any] | None = json.loads(os.environ[SWEEP]) if SWEEP in os.environ else None
    about = HydraConfig.get()
    typed = as_given(about.overrides.task)
    parsed = OverridesParser.create().parse_overrides(typed)
    unused = set() if in_sweep else _checked_start(config, typed, parsed)
    with progress("loading MLflow") if in_sweep is None else nullcontext():
        from ragsweep import experiment, tracking
        from ragsweep.tracking import run_record  # noqa: F401 - loads MLflow

    name, settings = name_and_settings(parsed, in_sweep["swept"] if in_sweep else [], unused)
    mode = ["hydra.mode=RUN"] if about.sweeper.get("params") else []
    in_its_sweep: dict[str, Any] = {**in_sweep["job"], "number": about.job.num} if in_sweep else {"parent_run_id": None}
    tracked = tracking.Job(
        name=name,
        folder=Path(about.runtime.output_dir),
        overrides=typed,
        command=command_of([*typed, *mode], config.tracking),
        swept=settings if in_sweep else {},
        sweep_id=sweep_id(),
        tracking=config.tracking,
        **in_its_sweep,
    )
    place = f"{about.job.num + 1}/{tracked.total or '?'} " if in_sweep else ""
    if in_sweep and in_sweep["driver"][0] != os.getpid() and threading.current_thread() is threading.main_thread():
        begin_worker(*in_sweep["driver"])
        hide_progress()
    if in_sweep and Path(in_sweep["stop"]).exists():
        return float("nan")
    try:
        if not in_sweep:
            tracking.check_uri(config.tracking.uri, config.tracking.artifacts)
            tracking.close_orphans(config.tracking)
        kept = (sweep_id(), *typed)
        if in_sweep and in_sweep["race"]:
            from ragsweep.app import race_rounds

            if (work := race_rounds.work_of(Path(in_sweep["race"]), about.job.num)) is not None:
                experiments[kept] = experiments.get(kept) or experiment.Experiment.of(config)
                return race_rounds.do(work, experiments[kept], tracked)
        metrics, record, sentences = experiment.run(config, tracked, experiments.pop(kept, None))
    except Exception as error:
        end_if_signalled()
        if not in_sweep:
            raise _end(error) from error
        if config.tracking.fail_fast:
            start_no_more_jobs()
        print(f"{place}{tracked.name} FAILED: {in_one_line(error)}", file=sys.stderr)
        raise JobFailed(tracked.name) from error
    decides = str(config.decision.metric)
    print(f"{place}{tracked.name} {decides}={metrics[decides]:.4f}{'' if record else ' (finished before)'}", flush=True)
    if record and not in_sweep:
        print("  ".join(f"{name} {mean:.4f}" for name, mean in metrics.items()), *sentences, sep="\n")
        address = tracking.run_address(config.tracking, record.experiment_id, str(record.run_id))
        print(*tracking.how_to_open(config.tracking), address, sep="\n")
        if record.trouble:
            push = tracking.push_command(tracked.folder, config.tracking.uri, config.tracking.artifacts)
            print(f"ragsweep: the tracking store lacks this run ({record.trouble}); {push} uploads it", file=sys.stderr)
            raise SystemExit(FAILED)
    return metrics[decides]


def _checked_start(config: DictConfig, typed: Sequence[str], parsed: Sequence[Override]) -> set[str]:
    """Check the input of a single run before anything is recorded. Returns the groups that are set and not used."""
    from ragsweep.experiment import Experiment

    try:
        params = HydraConfig.get().sweeper.get("params")
        if params and "hydra.mode=RUN" not in sys.argv:
            raise ConfigError(f"hydra.sweeper.params: add -m to sweep {', '.join(params)}, or hydra.mode=RUN")
        experiment = Experiment.built(config)
        unused = unused_groups([item.key_or_group for item in parsed if not item.package], config, experiment.used)
        name_unused(unused)
        check_tracking(config)
        experiment.items  # noqa: B018 - is loaded and checked here
        experiments[sweep_id(), *typed] = experiment
        if config.get("dry_run"):
            print(f"would run: {name_and_settings(parsed, [], unused)[0]}")
            raise SystemExit(0)
    except (Exception, SystemExit) as error:
        raise _end(error) from error
    return unused


def check_tracking(config: DictConfig) -> None:
    """Raise `TrackingError`, before a dataset is loaded, if the store cannot be opened; a server is asked."""
    check_address(config.tracking.uri)
    say_variable(config.tracking.uri)
    if sqlite_file(config.tracking.uri):
        check_places(config)
    else:
        from ragsweep import tracking

        tracking.check_uri(config.tracking.uri, config.tracking.artifacts)


def _end(error: BaseException) -> SystemExit:
    """Say what went wrong with a single run, and leave no empty folder; Hydra would add a line to another exception."""
    with suppress(OSError):  # a folder that is not empty stays
        Path(HydraConfig.get().runtime.output_dir).rmdir()
    return SystemExit(explained(error))


def start_no_more_jobs() -> None:
    """Make the jobs of the sweep that have not begun yet end as soon as they start, on any machine."""
    with suppress(OSError, KeyError):  # of a single run, which is no job of a sweep
        Path(json.loads(os.environ[SWEEP])["stop"]).touch()


def command_of(arguments: Sequence[str], store: DictConfig) -> str:
    """The command that runs this again from any folder, on the same store."""
    kept = [argument for argument in arguments if not argument.lstrip("+").startswith(NOT_REPEATED)]
    return " ".join([os.environ[COMMAND], *map(shlex.quote, [*kept, *store_overrides(store, kept)])])


def name_and_settings(
    parsed: Sequence[Override], swept: Sequence[str], unused: Collection[str] = ()
) -> tuple[str, dict[str, Any]]:
    """The name of a run and the settings in it: the swept ones, or else all that were set, in groups that are used."""
    from ragsweep.sweeps.configuration_names import short_names, short_values
    from ragsweep.tracking.mlflow_names import LONGEST_MLFLOW_NAME

    kept = [item for item in parsed if item.type is not OverrideType.DEL]
    used = [item for item in kept if item.key_or_group.partition(".")[0] not in unused]
    by_name = {item.get_key_element().lstrip("+"): item for item in used}
    telling = [name for name in by_name if name.partition(".")[0] not in UNNAMED]
    shown = [name for name in swept or telling if name in by_name]
    values = [_text(by_name[name]) for name in shown]
    words = [_word(name, short_values([text])[text]) for name, text in zip(short_names(shown), values, strict=True)]
    words_of_command = shlex.split(os.environ.get(COMMAND, ""))
    record = words_of_command[words_of_command.index("--from") + 1] if "--from" in words_of_command else ""
    unchanged = f"from {Path(record).name if '.' in record else record[:8]}" if record else "defaults"
    settings = {name: _plain(by_name[name]) for name in shown}
    return shortened_with_digest(" ".join(words) or unchanged, LONGEST_MLFLOW_NAME), settings


def _word(name: str, value: str) -> str:
    """A setting as part of a run's name; a named configuration is shown by its name alone."""
    if name == "configuration":
        return value
    with suppress(ValueError):  # a range makes values like 0.7000000000000001
        value = f"{float(value):.12g}" if "." in value else value
    return f"{name}={value}"


def _text(override: Override) -> str:
    """An override's value as it was typed, without the backslashes that Hydra writes before some characters."""
    text = override.get_value_element_as_str()
    return text if text.startswith(("'", '"')) else re.sub(r"\\(.)", r"\1", text)


def _plain(override: Override) -> Any:
    """An override's value as JSON can hold it."""
    value = override.value()
    plain = isinstance(value, bool | int | None) or (isinstance(value, float) and isfinite(value))
    return value if plain else _text(override)


def as_given(overrides: Any) -> list[str]:
    """The overrides as they were typed; one that names an unknown setting, as `${nosuch}`, could not be resolved."""
    return OmegaConf.to_container(overrides, resolve=False)  # type: ignore[return-value]
