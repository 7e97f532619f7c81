"""Prints an error as one line, and chooses the exit status for it."""

from __future__ import annotations

import errno
import os
import re
import sys
import sysconfig
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import hydra
from hydra.core.global_hydra import GlobalHydra
from hydra.errors import HydraException, MissingConfigException, OverrideParseException
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from ragsweep.config.components import nearest
from ragsweep.config.groups import about_unused, groups, is_listed, is_swept, users_of
from ragsweep.core.errors import JobFailed, NotAcceptedError, RagsweepError, UnusableError, first_line
from ragsweep.core.hydra_versions import VERSION_BASE
from ragsweep.core.plugins import our_folders
from ragsweep.core.project import CONF, conf_folders, options_of
from ragsweep.core.terminal import BAD_INPUT, FAILED, NOT_ACCEPTED, interrupted

VERBOSE = "RAGSWEEP_VERBOSE"  # in the environment: show tracebacks
LAUNCHER_PACKAGES = {"hydra_plugins", "joblib", "loky", "ray", "submitit"}  # packages that start jobs


def explained(error: BaseException) -> int:
    """Print an error in one line and return its exit status. A failed job has printed its own."""
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else FAILED
    if isinstance(error, KeyboardInterrupt):
        return interrupted()
    if VERBOSE in os.environ:
        traceback.print_exception(error)
    if isinstance(error, JobFailed):
        return FAILED
    print(f"ragsweep: {in_one_line(error)}", file=sys.stderr)
    if isinstance(error, NotAcceptedError):
        return NOT_ACCEPTED
    if isinstance(error, UnusableError):  # its run is recorded as FAILED
        return FAILED
    bad_input = isinstance(error, RagsweepError | HydraException | OmegaConfBaseException) or _is_from_hydra(error)
    return BAD_INPUT if bad_input else FAILED


def _is_from_hydra(error: BaseException) -> bool:
    """Whether Hydra raised it before it called our code: then an argument is wrong."""
    files = [Path(frame.f_code.co_filename) for frame, _ in traceback.walk_tb(error.__traceback__)][1:]
    about_arguments = isinstance(error, OSError | TypeError | ValueError) and len(files) > 0
    ours = any(file.is_relative_to(folder) for file in files for folder in our_folders())
    return about_arguments and not ours and not any(LAUNCHER_PACKAGES & {*file.parts} for file in files)


def in_one_line(error: BaseException, config: str = "config") -> str:
    """An error as one line, worded for the person who typed the command.

    Args:
        error: The error.
        config: Name of the primary configuration, whose settings are suggested for unknown ones.
    """
    text = " ".join(str(error).split())
    if isinstance(error, MissingConfigException) and error.missing_cfg_file and error.options:
        group, _, option = error.missing_cfg_file.partition("/")  # an option may be meant as a path
        if group not in groups() or group == "hydra":  # which has groups of its own
            group, _, option = error.missing_cfg_file.rpartition("/")
        return f"{group}={option}: expected one of {', '.join(error.options)}{_meant(group, option, error.options)}"
    if isinstance(error, OverrideParseException):
        name, is_set, value = error.override.partition("=")
        hint = "put a value with special characters into quotes, \"name='value'\""
        if not is_set or not name.strip():
            hint = "write it without spaces"
        elif ",," in value or value.startswith(",") or value.endswith(","):
            hint = "an item of the list is empty"
        return f"{error.override}: cannot be read as name=value; {hint}"
    if several := re.search(r"Ambiguous value for argument '(.+?)' 1\.", text):
        return f"{several.group(1)}: several values are a sweep, ragsweep run -m; a list stands in brackets, [1,2]"
    if "Config group override must be a string" in text:
        return _group_without_option()
    unknown = re.search(r"Could not (?:override|append) '([^']+)'", text)
    if isinstance(error, HydraException) and unknown:
        return _unknown_setting(getattr(error.__cause__, "full_key", None) or unknown.group(1), config)
    if isinstance(error, OmegaConfBaseException):
        return f"{error.full_key}: {first_line(error)}" if error.full_key else first_line(error)
    if isinstance(error, RagsweepError | HydraException):
        return text
    if "integer string conversion" in text:
        return "an argument has a number of thousands of digits"
    if isinstance(error, OSError) and (said := _about_files(error)):
        return said
    return (
        f"{type(error).__name__}: {text}{_in_users_code(error)}{'' if VERBOSE in os.environ else ' (-v shows where)'}"
    )


def _about_files(error: OSError) -> str:
    """What an error of the file system means, if it is one of the user's disk."""
    if error.filename and _is_from_hydra(error):
        return f"hydra.run.dir, hydra.sweep.dir: {error.filename} cannot be made ({error.strerror})"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"{error.strerror}: {error.filename or 'the store, the outputs, or the folder of temporary files'}"
    return ""


def _in_users_code(error: BaseException) -> str:
    """', in FILE, line N' for the last line of a user's own class that ragsweep called; empty if it called none."""
    frames = [(Path(frame.f_code.co_filename), line) for frame, line in traceback.walk_tb(error.__traceback__)]
    is_ours = [any(file.is_relative_to(folder) for folder in our_folders()) for file, _ in frames]
    called = frames[is_ours.index(True) :] if True in is_ours else []
    installed = [Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib", "platlib")]
    theirs = [
        (file, line)
        for file, line in called
        if file.is_file() and not any(file.is_relative_to(folder) for folder in (*our_folders(), *installed))
    ]
    return f", in {theirs[-1][0].name}, line {theirs[-1][1]}" if theirs else ""


def _meant(group: str, option: str, options: Sequence[str]) -> str:
    """What may be meant by an option that there is not: one of nearly this name, or a path that some option reads."""
    readers = {setting: _options_with(group, setting, " ???") for setting in ("documents", "path")}
    if os.path.exists(option) and any(readers.values()):  # noqa: PTH110 - Path.exists fails on a name that is too long
        each = (f"{' or '.join(have)} ({group}.{setting}={option})" for setting, have in readers.items() if have)
        return f"; a path is a setting of {', '.join(each)}"
    return nearest(option, options)


def _unknown_setting(name: str, config: str) -> str:
    group, _, setting = name.partition(".")
    known = _known_settings(name, config)
    if group in groups() and group != "hydra" and not is_listed(group, config):
        if not is_swept(group, sys.argv[1:]):
            return f"{name}: {about_unused(users_of(group))}"
        known.append(name)
    if name in groups() and not is_swept(name, sys.argv[1:]) and not any(each.startswith(f"{name}.") for each in known):
        return f"{name}: nothing is chosen; expected one of {', '.join(options_of(name))}"
    if name in known:
        apart = "sweep apart those that have it, and ragsweep compare SWEEP_ID SWEEP_ID decides between all"
        return f"{name}: not every configuration of this sweep has this setting; {apart}"
    if (have := _options_with(group, setting)) and not any(each.startswith(f"{group}.") for each in known):
        return f"{name}: this setting is only there with {' or '.join(f'{group}={option}' for option in have)}"
    files = (folder / f"{config}.yaml" for folder in conf_folders())
    listed = "ragsweep run --help" if config == "config" else next(filter(Path.is_file, files), f"{config}.yaml")
    return f"{name}: no such setting{nearest(name, known)}; {listed} lists them"


def _options_with(group: str, setting: str, value: str = "") -> list[str]:
    """The options of a group that have a setting, of this value."""
    folders = [conf / group for conf in conf_folders()] if group.isidentifier() and setting else []
    files = {file.stem: file for folder in folders for file in folder.glob("*.yaml")}
    return [
        option
        for option, file in sorted(files.items())
        if any(line.startswith(f"{setting}:{value}") for line in file.read_text("utf-8", errors="replace").splitlines())
    ]


def _group_without_option() -> str:
    """The message for an option that is null or a number, of which Hydra says only that the override is wrong."""
    for argument in sys.argv[1:]:
        group, _, value = argument.lstrip("+").partition("=")
        known = {*(options := options_of(group)), "choice"}  # of Hydra, with several in brackets
        if options and (absent := [each for each in re.findall(r"[^\s,()'\"]+", value) if each not in known]):
            return f"{argument}: found {absent[0]}, expected one of {', '.join(options)}"
    return "the name of an option is read as null or as a number: name its file otherwise"


def _known_settings(unknown: str, primary: str) -> list[str]:
    """The groups, and the settings of the configurations that the other arguments choose; those of a sweep together."""
    given = [argument for argument in sys.argv[1:] if "=" in argument and unknown not in argument]
    others = [argument for argument in given if "," not in argument]
    pairs = (argument.split("=", 1) for argument in given if "," in argument)
    swept = [f"{group}={option}" for group, some in pairs for option in some.split(",") if option in options_of(group)]
    known: dict[str, None] = {}
    GlobalHydra.instance().clear()  # a sweep that is refused here has one open
    with hydra.initialize_config_dir(str(CONF), **VERSION_BASE):
        for chosen in [[*others, each] for each in swept] or [others]:
            try:
                config = hydra.compose(primary, chosen)
            except HydraException:
                config = hydra.compose(primary)
            known |= dict.fromkeys(_paths(OmegaConf.to_container(config)))
    return [*groups(), *known]


def _paths(node: Any, prefix: str = "") -> Iterator[str]:
    """The names of the settings; their values are not read, since one that must be given may be missing."""
    for name, value in node.items():
        if isinstance(value, dict):
            yield from _paths(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}"
