"""The command line: from the arguments of `ragsweep run` to its exit status."""

from __future__ import annotations

import gc
import os
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from contextlib import suppress
from string import Template
from typing import NamedTuple

import hydra
from hydra.core.global_hydra import GlobalHydra
from hydra.errors import ConfigCompositionException
from omegaconf import OmegaConf

from ragsweep import tracking
from ragsweep.app.commands import composed
from ragsweep.app.error_messages import explained, unknown_name, without_hydra
from ragsweep.app.job import COMMAND, SWEEP, job
from ragsweep.app.sweep import SweepCallback
from ragsweep.app.workers import end_killed, end_workers
from ragsweep.config.groups import groups
from ragsweep.config.ignored_input import PRIMARY, refuse_ignored, refuse_unread
from ragsweep.core import terminal
from ragsweep.core.errors import ConfigError, JobFailed
from ragsweep.core.project import CONF, SWEEP_ID, VERSION_BASE, command, options_of, sweep_id

HELP = {"--help", "-h"}
FLAGS = {*HELP, "--hydra-help", "--version", "--resolve", "--run", "-r", "--shell-completion", "-sc"}  # of Hydra, too
OF_HYDRA = {"--multirun": "-m", "--config-dir": "-cd", "--cfg": "-c", "--package": "-p", "--info": "-i"}
NOT_READ = {"--config-path": "-cp", "--config-name": "-cn", "--experimental-rerun": "--experimental-rerun"}
PARAMS = "hydra.sweeper.params."
INSTEAD = "--from RUN_ID, or FILE, measures a recorded configuration; your settings go into conf/experiment/NAME.yaml"


class Arguments(NamedTuple):
    """What was typed."""

    options: list[str]  # that Hydra reads
    overrides: list[str]  # name=value
    kept: list[str]  # options that belong to the command of each job
    record: str | None  # the run, or the file, whose configuration is measured
    modules: list[str]  # of the user's, whose classes the record may name


def read_arguments(typed: Sequence[str]) -> Arguments:
    """Read what was typed, in any order. Raises `ConfigError` for what Hydra would ignore."""
    parser = ArgumentParser("ragsweep run", add_help=False, allow_abbrev=False)
    for name, short in (OF_HYDRA | NOT_READ).items():
        parser.add_argument(name, short, action="store_true" if name == "--multirun" else "store")
    parser.add_argument("--from", dest="records", action="append", default=[], metavar="RUN_ID")
    parser.add_argument("--allow", action="append", default=[], metavar="MODULE")
    given, rest = parser.parse_known_args(typed)
    for name in NOT_READ:
        if (value := vars(given)[name[2:].replace("-", "_")]) is not None:
            raise ConfigError(f"{name} {value}: is not read; {INSTEAD}")
    if given.cfg and given.multirun:
        raise ConfigError("--cfg shows one configuration; leave out -m")
    folder = ["--config-dir", given.config_dir] if given.config_dir else []
    if len(given.records) > 1 or "" in given.records or (given.allow and not given.records):
        raise ConfigError("--from: expected the id of one run, or one file; --allow permits it a module")
    record = [text for name in given.records for text in ("--from", name)]
    kept = [*folder, *record, *(text for module in given.allow for text in ("--allow", module))]
    options = [argument for argument in rest if argument.startswith("-") and argument != "-v"]
    if unknown := {*options} - FLAGS:
        raise ConfigError(f"{min(unknown)}: there is no such option; a setting is written as name=value, without -")
    options += [*folder, *(["--multirun"] if given.multirun else [])]
    for name, value in (("--cfg", given.cfg), ("--package", given.package), ("--info", given.info)):
        options += [name, value] if value else []
    overrides = [argument for argument in rest if not argument.startswith("-")]
    refuse_ignored(overrides)
    for override in overrides:
        if override.startswith(PARAMS) and not any(other.startswith("hydra/sweeper=") for other in overrides):
            raise ConfigError(f"{override}: is for files; write {override.removeprefix(PARAMS)}")
    if not HELP & {*rest}:
        refuse_unread(["-m", *overrides] if given.multirun else overrides, given.config_dir)
    return Arguments(options, overrides, kept, next(iter(given.records), None), given.allow)


def help_of(given: Arguments) -> str | None:
    """What `--help` prints, the same as Hydra in a third of its time; None without it."""
    if not HELP & {*given.options} or {*given.options} - {*HELP, "--multirun"}:
        return None
    config = composed(given.overrides, with_hydra=True)
    template = Template(config.hydra.help.template)
    listed = [f"{group}: {', '.join(options_of(group))}\n" for group in sorted({*groups()} - {"hydra"})]
    return template.substitute(APP_CONFIG_GROUPS="".join(listed), CONFIG=OmegaConf.to_yaml(without_hydra(config)))


def run() -> int:
    """Run Hydra on the arguments of this process. Returns 0, 1 where a job failed, or 2 for bad input."""
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "8")  # else its threads spin where charts are being drawn
    gc.set_threshold(50_000, 10, 10)  # else it walks through all modules again and again while more are imported
    os.environ[terminal.FULL_ERROR] = "1"  # so that Hydra hands every error to us instead of printing its own account
    os.environ.pop(SWEEP, None)
    os.environ.pop(SWEEP_ID, None)
    sweep_id()
    status = 0
    try:
        given = read_arguments(sys.argv[1:])
        if shown := help_of(given):
            print(shown)
            raise SystemExit(0)
        os.environ[COMMAND] = command("run", *given.kept)
        _run_hydra(given)
        terminal.end_if_signalled()
        terminal.ignore_signals()
    except BaseException as error:  # the status of the process tells them apart
        terminal.ignore_signals()  # a second one must not leave a traceback, or the sweep open
        status = explained(terminal.of_signal() or error)
        if SweepCallback.sweep and isinstance(error, Exception) and not isinstance(error, JobFailed):
            end_workers()  # a launcher that gave up leaves them
    return _close_sweep(status)


def _run_hydra(given: Arguments) -> None:
    """Run the jobs. In a sweep, a setting that the defaults do not have is left to the options of the sweep."""
    primary = PRIMARY
    if given.record:
        from ragsweep.replay.from_record import register

        primary = register(given.record, given.overrides, given.modules)
    overrides = [*given.overrides]
    SweepCallback.left.clear()
    while True:
        sys.argv = [sys.argv[0], *given.options, *overrides]
        try:
            hydra.main(config_path=str(CONF), config_name=primary, version_base=VERSION_BASE)(job)()
            return
        except ConfigCompositionException as error:
            name = unknown_name(error)
            places = [place for place, override in enumerate(overrides) if override.partition("=")[0] == name]
            if not places or name.startswith("hydra.") or "--multirun" not in given.options or SweepCallback.sweep:
                raise
            SweepCallback.left.append(overrides.pop(places[0]))
            GlobalHydra.instance().clear()


def _close_sweep(status: int) -> int:
    """Close what is open, and the sweep with its summary where there is one; the exit status after that."""
    killed = status in (terminal.INTERRUPTED, terminal.TERMINATED)
    if killed and "ragsweep.tracking.run_record" in sys.modules:  # the module that opens runs
        tracking.close_all("KILLED")
    if (sweep := SweepCallback.sweep) is None:
        return status
    try:
        if killed:
            end_killed(sweep)
        elif not tracking.finish(sweep, failed=status != 0):
            return terminal.FAILED
    except Exception as error:
        with suppress(Exception):
            sweep.parent.close("FAILED")
        return explained(error)
    return status
