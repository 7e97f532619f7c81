"""The command line: from the arguments of `ragsweep run` to its exit status."""

from __future__ import annotations

import gc
import os
import sys
from contextlib import suppress

import hydra
from hydra.core.global_hydra import GlobalHydra
from hydra.errors import ConfigCompositionException

from ragsweep import tracking
from ragsweep.app.arguments import Arguments, help_of, read_arguments
from ragsweep.app.job import job
from ragsweep.app.messages import VERBOSE, explained, unknown_name
from ragsweep.app.naming import COMMAND, SWEEP
from ragsweep.app.sweep_callback import SweepCallback, end_killed
from ragsweep.app.workers import end_workers
from ragsweep.config.ignored_input import PRIMARY
from ragsweep.core.endings import end_if_signalled, ignore_signals, of_signal
from ragsweep.core.errors import JobFailed
from ragsweep.core.project import CONF, SWEEP_ID, VERSION_BASE, command, sweep_id
from ragsweep.core.terminal import FAILED, FULL_ERROR, INTERRUPTED, TERMINATED

OK = 0
RECORDING = "ragsweep.tracking.run_record"  # the module that opens runs, if this process has loaded it


def run() -> int:
    """Run Hydra on the arguments of this process. Returns 0, 1 where a job failed, or 2 for bad input."""
    if "-v" in sys.argv or os.environ.get(FULL_ERROR) == "1":
        os.environ[VERBOSE] = "1"
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "8")  # else its threads spin where charts are being drawn
    gc.set_threshold(50_000, 10, 10)  # else it walks through all modules again and again while more are imported
    os.environ[FULL_ERROR] = "1"  # so that Hydra hands every error to us instead of printing its own account
    os.environ.pop(SWEEP, None)
    os.environ.pop(SWEEP_ID, None)
    sweep_id()
    status = OK
    try:
        given = read_arguments(sys.argv[1:])
        if shown := help_of(given):
            print(shown)
            raise SystemExit(OK)
        os.environ[COMMAND] = command("run", *given.kept)
        _run_hydra(given)
        end_if_signalled()
        ignore_signals()
    except BaseException as error:  # the status of the process tells them apart
        ignore_signals()  # a second one must not leave a traceback, or the sweep open
        status = explained(of_signal() or error)
        if isinstance(error, Exception) and not isinstance(error, JobFailed):  # a launcher that gave up leaves workers
            end_workers()
    return _close_sweep(status)


def _run_hydra(given: Arguments) -> None:
    """Run the jobs. In a sweep, a setting that the defaults do not have is left to the options of the sweep."""
    primary = PRIMARY
    if given.record:
        from ragsweep.replay.from_record import register

        primary = register(given.record, given.overrides, given.modules)
    overrides = [*given.overrides]
    while True:
        sys.argv = [sys.argv[0], *given.options, *overrides]
        try:
            hydra.main(config_path=str(CONF), config_name=primary, version_base=VERSION_BASE)(job)()
            return
        except ConfigCompositionException as error:
            name = unknown_name(error)
            places = [place for place, override in enumerate(overrides) if override.partition("=")[0] == name]
            if not places or name.startswith("hydra.") or not given.multirun or SweepCallback.sweep:
                raise
            value = overrides[places[0]].partition("=")[2] or "''"
            overrides[places[0]] = f"{name}=choice({value})"  # the defaults do not get what is swept
            GlobalHydra.instance().clear()


def _close_sweep(status: int) -> int:
    """Close what is open, and the sweep with its summary where there is one; the exit status after that."""
    killed = status in (INTERRUPTED, TERMINATED)
    if killed and RECORDING in sys.modules:
        tracking.close_all("KILLED")
    sweep = SweepCallback.sweep
    if sweep is None:
        return status
    try:
        if killed:
            end_killed(sweep)
        elif not tracking.finish(sweep, failed=status != OK):
            return FAILED
    except Exception as error:
        with suppress(Exception):
            sweep.parent.close("FAILED")
        return explained(error)
    return status
