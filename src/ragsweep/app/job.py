"""One job: measures one configuration and prints one line about it."""

from __future__ import annotations

import os
import sys
import threading
import warnings
from contextlib import nullcontext, suppress
from pathlib import Path

from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import DictConfig

from ragsweep.app.messages import explained, in_one_line
from ragsweep.app.naming import as_given, name_and_settings, start_no_more_jobs, sweep_of_job, tracked_job
from ragsweep.app.workers import begin_worker
from ragsweep.config.groups import name_unused, unused_groups
from ragsweep.core.endings import end_if_signalled
from ragsweep.core.errors import ConfigError, JobFailed
from ragsweep.core.progress import hide_progress, progress
from ragsweep.core.project import register_resolvers, sweep_id
from ragsweep.core.terminal import FAILED, guard
from ragsweep.tracking.address import sqlite_file
from ragsweep.tracking.place import check_places, name_variables

# Here, since the workers of a launcher import this file alone.
register_resolvers()
warnings.filterwarnings("ignore", message=r"\s+'hydra/launcher/.*' is validated")  # our YAML has the plugins' own names


def job(config: DictConfig) -> float:
    """Measure one configuration; Hydra calls this for every job.

    Returns:
        The metric that decides, for sweepers that look for the best; NaN where nothing was measured.
    """
    guard()  # also in the worker of a launcher
    end_if_signalled()
    in_sweep = sweep_of_job()
    unused = set() if in_sweep else _checked_start(config)
    with progress("loading MLflow") if in_sweep is None else nullcontext():
        from ragsweep import experiment, tracking
        from ragsweep.tracking import run_record  # noqa: F401 - loads MLflow

    tracked = tracked_job(config, unused)
    place = f"{(tracked.number or 0) + 1}/{in_sweep['total'] or '?'} " if in_sweep else ""
    if in_sweep and in_sweep["driver"] != os.getpid() and threading.current_thread() is threading.main_thread():
        begin_worker(in_sweep["driver"], in_sweep["identity"])
        hide_progress()
    if in_sweep and Path(in_sweep["stop"]).exists():
        return float("nan")
    try:
        if not in_sweep:
            tracking.check_uri(config.tracking.uri, config.tracking.artifacts)
            tracking.close_orphans(config.tracking)
        metrics, record, sentences = experiment.run(config, tracked)
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


def _checked_start(config: DictConfig) -> set[str]:
    """Check the input of a single run before anything is recorded. Returns the groups that are set and not used."""
    from ragsweep.experiment import Experiment

    try:
        params = HydraConfig.get().sweeper.get("params")
        if params and "hydra.mode=RUN" not in sys.argv:
            raise ConfigError(f"hydra.sweeper.params: add -m to sweep {', '.join(params)}, or hydra.mode=RUN")
        overrides = as_given(HydraConfig.get().overrides.task)
        experiment = Experiment.built(config)
        parsed = OverridesParser.create().parse_overrides(overrides)
        unused = unused_groups([override.key_or_group for override in parsed], config, experiment.used)
        name_unused(unused)
        check_tracking(config)
        experiment.items  # noqa: B018 - is loaded and checked here
        experiment.keep(overrides, sweep_id())
        if config.get("dry_run"):
            print(f"would run: {name_and_settings(parsed, [], unused)[0]}")
            raise SystemExit(0)
    except (Exception, SystemExit) as error:
        raise _end(error) from error
    return unused


def check_tracking(config: DictConfig) -> None:
    """Check before a dataset is loaded whether the store of a checked configuration can be opened; a server is asked.

    Raises:
        TrackingError: It cannot be opened.
    """
    name_variables(config.tracking.uri, config.tracking.experiment)
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
