"""The command line: what `run.py` does around the experiment, from the arguments to the exit status."""

from __future__ import annotations

import gc
import os
import re
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

import hydra
from hydra._internal.utils import get_args_parser
from hydra.core.global_hydra import GlobalHydra
from hydra.errors import HydraException, MissingConfigException, OverrideParseException
from omegaconf import DictConfig
from omegaconf.errors import OmegaConfBaseException

from ragsweep.address import check_arguments
from ragsweep.config import CONF, SWEEP_ID, leaves, nearest, register_resolvers, sweep_id
from ragsweep.errors import ConfigError, JobFailed, RagsweepError, Terminated, first_line
from ragsweep.multirun import (
    SWEEP,
    SweepCallback,
    end_killed,
    end_workers,
    finish,
    start_no_more_jobs,
    sweep_of_job,
    tracked_job,
)
from ragsweep.terminal import BAD_INPUT, FULL_ERROR, INTERRUPTED, TERMINATED, guard, terminate

VERBOSE = "RAGSWEEP_VERBOSE"  # in the environment: show tracebacks
LAUNCHERS = {"hydra_plugins", "joblib", "loky", "ray", "submitit"}  # packages that start jobs
SECONDS_TO_UNWIND = 0.3  # for the main thread, before its runs are closed beside it

OK, FAILED = 0, 1

_received: list[int] = []  # the signals to end that this process was sent

register_resolvers()
warnings.filterwarnings("ignore", message=r"\s+'hydra/launcher/.*' is validated")  # our YAML has the plugins' own names


def main() -> NoReturn:
    """Run Hydra on the arguments of this process; exit with 0, 1 where a job failed, or 2 for bad input."""
    if "-v" in sys.argv or os.environ.get(FULL_ERROR) == "1":
        os.environ[VERBOSE] = "1"
    sys.argv = [sys.argv[0], *_options_first([argument for argument in sys.argv[1:] if argument != "-v"])]
    guard()
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "8")  # else its threads spin where charts are being drawn
    gc.set_threshold(50_000, 10, 10)  # else it walks through all modules again and again while more are imported
    os.environ[FULL_ERROR] = "1"  # so that Hydra hands every error to us instead of printing its own account
    os.environ.pop(SWEEP, None)
    os.environ.pop(SWEEP_ID, None)
    sweep_id()
    signal.signal(signal.SIGTERM, terminate)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # as nohup leaves it
        signal.signal(signal.SIGHUP, terminate)
    _watch_signals()
    status = OK
    try:
        check_arguments(sys.argv[1:])  # first: an error of Hydra's would repeat them
        _check_options(sys.argv[1:])
        hydra.main(version_base="1.3", config_path=str(CONF), config_name="config")(job)()
        _end_where_signalled()
    except BaseException as error:  # the status of the process tells them apart
        status = explained(error)
        if isinstance(error, Exception) and not isinstance(error, JobFailed):  # a launcher that gave up leaves workers
            end_workers()
    if status in (INTERRUPTED, TERMINATED) and (tracking := sys.modules.get("ragsweep.tracking")):
        tracking.close_all("KILLED")
    if SweepCallback.sweep is not None:
        for ending in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # a second one must not leave the sweep open
            signal.signal(ending, signal.SIG_IGN)
        try:
            if status in (INTERRUPTED, TERMINATED):
                end_killed(SweepCallback.sweep)
            elif not finish(SweepCallback.sweep, failed=status != OK):
                status = FAILED
        except Exception as error:
            with suppress(Exception):
                SweepCallback.sweep.parent.close("FAILED")
            status = explained(error)
    sys.exit(status)


def job(config: DictConfig) -> float:
    """Measure one configuration and say so in one line; what Hydra calls for every job.

    Returns:
        The F1 at k, for sweepers that look for the best; NaN where nothing was measured.
    """
    from ragsweep import experiment, tracking

    guard()  # also in the worker of a launcher
    _end_where_signalled()
    in_sweep = sweep_of_job()
    tracked = tracked_job(config)
    place = f"{(tracked.number or 0) + 1}/{in_sweep['total'] or '?'} " if in_sweep else ""
    if in_sweep and in_sweep["driver"] != os.getpid() and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends Ctrl-C to all; the sweep ends its workers
        if getattr(signal.getsignal(signal.SIGTERM), "__module__", "").startswith(("ray.", "submitit.")):
            signal.signal(signal.SIGTERM, terminate)  # theirs looks like sys.exit in a retriever, or does nothing
    if in_sweep and Path(in_sweep["stop"]).exists():
        return float("nan")
    try:
        if not in_sweep:
            tracking.check_store(config)
            experiment.Experiment.of(config)  # bad input is refused before the store is touched
            if config.get("dry_run"):
                print(f"would run: {tracked.name}")
                return float("nan")
            tracking.close_orphans(config.tracking)
        means, record = experiment.run(config, tracked)
    except Exception as error:
        if not in_sweep:  # else Hydra would add a line of its own
            with suppress(OSError):  # a folder that is not empty stays
                tracked.folder.rmdir()
            raise SystemExit(explained(error)) from error
        if config.tracking.fail_fast:
            start_no_more_jobs()
        print(f"{place}{tracked.name} FAILED: {_one_line(error)}", file=sys.stderr)
        raise JobFailed(tracked.name) from error
    f1 = means["f1"]
    print(f"{place}{tracked.name} f1={f1:.4f}{'' if record else ' (finished before)'}", flush=True)
    if record and not in_sweep:
        print("  ".join(f"{name} {mean:.4f}" for name, mean in means.items()))
        address = tracking.run_address(config.tracking, record.experiment_id, str(record.run_id))
        print(f"{address}{tracking.server_hint(config.tracking)}")
        if record.trouble:
            push = tracking.push_command(tracked.folder, config.tracking.uri, config.tracking.artifacts)
            print(f"ragsweep: the tracking store lacks this run ({record.trouble}); {push} uploads it", file=sys.stderr)
            raise SystemExit(FAILED)
    return f1


def _options_first(arguments: Sequence[str]) -> list[str]:
    """The arguments with overrides last: Hydra's parser does not find them on both sides of an option."""
    actions = get_args_parser()._actions
    with_value = {name for action in actions if action.nargs is None for name in action.option_strings}
    options: list[str] = []
    overrides: list[str] = []
    for before, each in zip(["", *arguments], arguments, strict=False):
        is_option = each.startswith("-") or before in with_value or not ("=" in each or each.startswith("~"))
        (options if is_option else overrides).append(each)
    return [*options, *overrides]


def _check_options(arguments: Sequence[str]) -> None:
    """Raise `ConfigError` for options that Hydra does not know; its parser would print its usage, and exit."""
    parser = get_args_parser()

    def refuse(message: str) -> NoReturn:
        raise ConfigError(f"{message}; python run.py --help shows examples")

    parser.error = refuse  # type: ignore[method-assign]
    parser.parse_args(arguments)


def _watch_signals() -> None:
    """Close what this process and its workers have open as KILLED, also while a library holds the main thread."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)

    def close_in_time() -> None:
        while number := os.read(reading, 1):
            if number[0] in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                _received.append(number[0])
                time.sleep(SECONDS_TO_UNWIND)
                if tracking := sys.modules.get("ragsweep.tracking"):
                    tracking.close_all("KILLED")
                    if sweep := SweepCallback.sweep:
                        tracking.close_open(sweep.job, sweep.parent)

    threading.Thread(target=close_in_time, daemon=True).start()


def _end_where_signalled() -> None:
    """Raise once more what a signal to end has raised: a library's code may have caught it, and gone on."""
    if _received:
        raise KeyboardInterrupt if _received[0] == signal.SIGINT else Terminated(TERMINATED)


def explained(error: BaseException) -> int:
    """Say in one line what went wrong, unless that has been said; the exit status that belongs to it."""
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else FAILED
    if isinstance(error, KeyboardInterrupt):
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    if VERBOSE in os.environ:
        traceback.print_exception(error)
    if isinstance(error, JobFailed):
        return FAILED
    print(f"ragsweep: {_one_line(error)}", file=sys.stderr)
    bad_input = isinstance(error, RagsweepError | HydraException | OmegaConfBaseException) or _is_from_hydra(error)
    return BAD_INPUT if bad_input else FAILED


def _is_from_hydra(error: BaseException) -> bool:
    """Whether it was raised before our code was reached: what Hydra cannot read or make is an argument."""
    files = [Path(frame.f_code.co_filename) for frame, _ in traceback.walk_tb(error.__traceback__)][1:]
    about_arguments = isinstance(error, OSError | TypeError | ValueError) and len(files) > 0
    ours = any(file.is_relative_to(Path(__file__).parent) for file in files)
    return about_arguments and not ours and not any(LAUNCHERS & {*file.parts} for file in files)


def _one_line(error: BaseException) -> str:
    text = " ".join(str(error).split())
    if isinstance(error, MissingConfigException) and error.missing_cfg_file and error.options:
        group, _, option = error.missing_cfg_file.rpartition("/")
        return f"{group}={option}: expected one of {', '.join(error.options)}{nearest(option, list(error.options))}"
    if isinstance(error, OverrideParseException):
        hint = "put a value with special characters into quotes, \"name='value'\""
        return f"{error.override}: cannot be read as name=value; {hint}"
    if several := re.search(r"Ambiguous value for argument '(.+?)' 1\.", text):
        return f"{several.group(1)}: several values are a sweep, run.py -m; a list stands in brackets, [1,2]"
    if "Config group override must be a string" in text:
        return _group_without_option()
    unknown = re.search(r"Could not (?:override|append) '([^']+)'", text)
    if isinstance(error, HydraException) and unknown:
        return _unknown_setting(getattr(error.__cause__, "full_key", None) or unknown.group(1))
    if isinstance(error, OmegaConfBaseException):
        return f"{error.full_key}: {first_line(error)}" if error.full_key else first_line(error)
    if isinstance(error, RagsweepError | HydraException):
        return text
    if "integer string conversion" in text:
        return "an argument has a number of thousands of digits"
    if isinstance(error, OSError) and error.filename and _is_from_hydra(error):
        return f"hydra.run.dir, hydra.sweep.dir: {error.filename} cannot be made ({error.strerror})"
    return f"{type(error).__name__}: {text} (-v shows where)"


def _unknown_setting(name: str) -> str:
    known = _known_settings(name)
    if name in known:
        return f"{name}: not every configuration of this sweep has this setting"
    return f"{name}: no such setting{nearest(name, known)}; python run.py --help lists them"


def _group_without_option() -> str:
    """What Hydra only calls a wrong override: a group that is set to null, which it cannot be."""
    groups = {argument.partition("=")[0].lstrip("+"): argument for argument in sys.argv[1:] if "null" in argument}
    for group, argument in groups.items():
        if (CONF / group).is_dir():
            options = ", ".join(sorted(path.stem for path in (CONF / group).glob("*.yaml")))
            return f"{argument}: found null, expected one of {options}"
    return f"{', '.join(groups.values())}: a group cannot be null"


def _known_settings(unknown: str) -> list[str]:
    """Groups and settings of the configuration that the other arguments describe."""
    others = [
        argument for argument in sys.argv[1:] if "=" in argument and "," not in argument and unknown not in argument
    ]
    groups = [path.name for path in CONF.iterdir() if path.is_dir()]
    GlobalHydra.instance().clear()  # a sweep that is refused here has one open
    with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
        try:
            config = hydra.compose("config", others)
        except HydraException:
            config = hydra.compose("config")
    return groups + [name for name, _ in leaves(config)]
