"""Prints an error as one line, and chooses the exit status for it."""

from __future__ import annotations

import os
import re
import sys
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import hydra
from hydra.core.global_hydra import GlobalHydra
from hydra.errors import HydraException, MissingConfigException, OverrideParseException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import MarkedYAMLError

from ragsweep.config.annotations import nearest
from ragsweep.config.groups import groups
from ragsweep.core.errors import JobFailed, NotAcceptedError, RagsweepError, UnusableError, first_line
from ragsweep.core.plugins import our_folders
from ragsweep.core.project import CONF, VERSION_BASE, options_of
from ragsweep.core.terminal import BAD_INPUT, FAILED, FULL_ERROR, NOT_ACCEPTED, VERBOSE, interrupted

ABOUT_INPUT = (RagsweepError, HydraException, MarkedYAMLError)
PHRASES = {  # of Hydra, with the setting, and what is said of it instead
    r"Ambiguous value for argument '(.+?)' 1\.": "several values are a sweep, ragsweep run -m; a list is [1,2]",
    r"Multiple values for (.+?)\.": "is there already; leave out the +, or write override before it in a defaults list",
    r"An item is already at '(.+?)'": "is there already; leave out the +",
    r"Hydra's configuration is not supported : '(.+)'": "Hydra's settings are not swept; a list is [a,b]",
}


def explained(error: BaseException, command: str = "ragsweep") -> int:
    """Print an error in one line and return its exit status. A failed job has printed its own."""
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else FAILED
    if isinstance(error, KeyboardInterrupt):
        return interrupted()
    if VERBOSE in os.environ:
        traceback.print_exception(error)
    if isinstance(error, JobFailed):
        return FAILED
    print(f"{command}: {in_one_line(error)}", file=sys.stderr)
    if isinstance(error, NotAcceptedError):
        return NOT_ACCEPTED
    bad_input = isinstance(error, (*ABOUT_INPUT, OmegaConfBaseException)) or _is_from_hydra(error)
    return BAD_INPUT if bad_input and not isinstance(error, UnusableError) else FAILED  # whose run is recorded


def _is_from_hydra(error: BaseException) -> bool:
    """Whether Hydra raised it before it called our code: then an argument is wrong."""
    files = [Path(frame.f_code.co_filename) for frame, _ in traceback.walk_tb(error.__traceback__)]
    files = [file for file in files if file != Path(__file__).with_name("cli.py")]
    ours = any(file.is_relative_to(folder) for file in files for folder in our_folders())
    of_launcher = any({"hydra_plugins", "joblib", "loky", "ray", "submitit"} & {*file.parts} for file in files)
    return isinstance(error, OSError | TypeError | ValueError) and bool(files) and not ours and not of_launcher


def in_one_line(error: BaseException, config: str = "config") -> str:
    """An error as one line, for the person who typed the command; `config` has the settings that it may name."""
    text = " ".join(str(error).split())
    if isinstance(error, MarkedYAMLError) and (mark := error.problem_mark):
        text = f"{mark.name}, line {mark.line + 1}: {error.problem}"
    text = text or (in_one_line(error.__cause__) if error.__cause__ else type(error).__name__)
    if isinstance(error, MissingConfigException) and error.missing_cfg_file:
        group, _, option = error.missing_cfg_file.partition("/")  # an option may be meant as a path
        if group not in groups() or group == "hydra":  # which has groups of its own
            group, _, option = error.missing_cfg_file.rpartition("/")
        if error.options:
            return f"{group}={option}: expected one of {', '.join(error.options)}{nearest(option, error.options)}"
        file = re.match("In '(.+?)'", text)
        return f"{f'conf/{file[1]}.yaml: ' if file else ''}{group}={option}: there is no group {group}"
    if isinstance(error, OverrideParseException):
        return f"{error.override}: cannot be read as name=value; quote special characters, \"name='value'\""
    for phrase, words in PHRASES.items():
        if about := re.search(phrase, text):
            return f"{about[1]}: {words}"
    if text.startswith("Config group override"):
        odd = [typed for typed in sys.argv[1:] if re.search(r"=(.*\W)?(null|true|false|[\d.]+)\b", typed)]
        options = {typed: options_of(typed.partition("=")[0]) for typed in odd}
        return next((f"{typed}: expected one of {', '.join(names)}" for typed, names in options.items() if names), text)
    if unknown := unknown_name(error):
        file = re.match(r"In '(\w+/.+?)': ", text)
        no_group = f"there is no group {unknown}: write /retriever, below a first line '# @package _global_'"
        return f"conf/{file[1]}.yaml: {no_group}" if file else _unknown_in(unknown, config)
    if isinstance(error, OmegaConfBaseException):
        return f"{error.full_key}: {first_line(error)}" if error.full_key else first_line(error)
    if isinstance(error, ABOUT_INPUT):
        return text
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or 'the store, the outputs, or the folder of temporary files'}: {error.strerror}"
    last = traceback.extract_tb(error.__traceback__)[-1:]
    where = [f", in {Path(frame.filename).name}, line {frame.lineno}" for frame in last]
    hint = "" if VERBOSE in os.environ else f" ({FULL_ERROR}=1 shows where)"
    return f"{type(error).__name__}: {text}{''.join(where)}{hint}"


def unknown_name(error: BaseException) -> str:
    """The setting that an error of Hydra's does not know; empty for another error."""
    named = re.search(r"Could not (?:override|append) '([^']+)'", str(error))
    if named is None or not isinstance(error, HydraException):
        return ""
    return str(getattr(error.__cause__, "full_key", None) or named[1])


def unknown_setting(name: str, settings: Sequence[str], listed: str = "ragsweep run --help") -> str:
    """The message for a setting that there is not, with the most similar one of those that there are."""
    if name in groups() and not any(setting.startswith(f"{name}.") for setting in settings):
        return f"{name}: nothing is chosen; expected one of {', '.join(options_of(name))}"
    return f"{name}: no such setting{nearest(name, [*groups(), *settings, '+dry_run'])}; {listed} lists them"


def _unknown_in(name: str, primary: str) -> str:
    """The message for a setting that the configuration which the other arguments choose does not have."""
    overrides = [typed for typed in sys.argv[1:] if "=" in typed and "," not in typed and name not in typed]
    GlobalHydra.instance().clear()  # a sweep that is refused here has one open
    with hydra.initialize_config_dir(str(CONF), version_base=VERSION_BASE):
        try:
            config = hydra.compose(primary, overrides)
        except HydraException:
            config = hydra.compose(primary)
    listed = "ragsweep run --help" if primary == "config" else f"{primary}.yaml"
    return unknown_setting(name, [*settings_in(OmegaConf.to_container(config))], listed)


def without_hydra(config: DictConfig) -> DictConfig:
    """A configuration without Hydra's own."""
    return OmegaConf.masked_copy(config, [str(key) for key in config if key != "hydra"])


def settings_in(node: Any, prefix: str = "") -> Iterator[str]:
    """The names of the settings; their values are not read, since one that must be given may be missing."""
    for name, value in node.items():
        yield from settings_in(value, f"{prefix}{name}.") if isinstance(value, dict) else [f"{prefix}{name}"]
