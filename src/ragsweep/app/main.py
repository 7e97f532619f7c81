"""The command `ragsweep`: finds the subcommand, and starts it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from difflib import get_close_matches
from importlib.metadata import version
from pathlib import Path
from pkgutil import resolve_name
from typing import NoReturn

from ragsweep.core import terminal
from ragsweep.core.errors import ConfigError
from ragsweep.core.plugins import DISABLED, Command, plugins
from ragsweep.core.project import PROJECT, project
from ragsweep.core.terminal import answer_signals
from ragsweep.tracking.store_address import check_arguments

COMMANDS = {  # by name, the module of this package that has the function of this name, and what it does
    "init": ("commands.datasets", "prepare this folder: a place for PDF files, example questions, a dataset for both"),
    "run": ("cli", "measure one configuration, or a sweep over many with -m"),
    "compare": ("commands.records", "compare runs and sweeps, and say which differences are more than chance"),
    "gate": ("commands.records", "check that a run is not worse than another one by more than a margin"),
    "explain": ("commands.records", "show what a run retrieved for a query, and why"),
    "reproduce": ("commands.records", "run a recorded run or sweep again, and compare every number"),
    "export": ("commands.records", "write a recorded configuration as a folder that answers questions"),
    "check": ("commands.records", "ask an exported retriever its recorded questions again"),
    "convert": ("commands.datasets", "write a dataset of any format in the layout of BEIR"),
    "push": ("commands.stores", "upload runs that the tracking server could not take when they were made"),
    "store": ("commands.stores", "show or clear the stored embeddings, indexes and rankings"),
    "ui": ("commands.stores", "show the runs of this folder in MLflow"),
}


def main(command: str | None = None, project_folder: Path | None = None) -> NoReturn:
    """Run a subcommand, or else the one that the arguments name, in a project, or else here; exit with its status."""
    if "-v" in sys.argv or os.environ.get(terminal.FULL_ERROR) == "1":
        os.environ[terminal.VERBOSE] = "1"
    terminal.guard()
    answer_signals()
    if project_folder:
        os.environ[PROJECT] = str(project_folder.resolve())
    try:
        os.environ[PROJECT] = str(project())  # stays the same when the current folder changes, and in workers
    except OSError as error:
        _refuse(f"the current folder cannot be used ({error.strerror})")
    if not project().is_dir():
        _refuse(f"{PROJECT}: {project()} is not a folder")
    if str(project()) not in sys.path:
        sys.path.append(str(project()))  # here are the user's own retrievers; installed packages come first
    try:
        commands()
    except ConfigError as error:
        _refuse(f"{error}; uninstall it, or set {DISABLED}=1 to start without plugins")
    sys.exit(_status_of(command or _subcommand()))


def _subcommand() -> str:
    """The subcommand, which is taken out of the arguments; exits where there is none to start."""
    first = sys.argv[1] if len(sys.argv) > 1 else "--help"
    if first in commands():
        del sys.argv[1]
        return first
    if first in ("-h", "--help", "help"):
        print(usage())
    elif first == "--version":
        print(f"ragsweep {version('ragsweep')}")
    elif first == "-sc":  # the shell asks for completions of `ragsweep run`; Hydra knows programs without subcommands
        os.environ["COMP_LINE"] = os.environ.get("COMP_LINE", "").replace(" run ", " ", 1)
        return "run"
    else:
        name, is_setting, _ = first.partition("=")  # its value may be a secret
        close = ["run"] if is_setting else get_close_matches(name, commands(), n=1)
        meant = f"run {name}=..." if is_setting else close[0] if close else ""
        hint = f" (did you mean ragsweep {meant}?)" if close else f"; expected one of {', '.join(commands())}"
        _refuse(f"{terminal.shortened(terminal.one_line(name))}: no such command{hint}")
    sys.exit(terminal.with_lost_output(0))


def commands() -> dict[str, Command]:
    """All subcommands by name. Raises `ConfigError` where a plugin brings one that is there already."""
    listed = {name: Command(about, f"ragsweep.app.{module}:{name}") for name, (module, about) in COMMANDS.items()}
    for name, plugin in plugins().items():
        if taken := sorted(listed.keys() & plugin.commands.keys()):
            raise ConfigError(f"plugin {name}: the command {taken[0]!r} is there already")
        listed |= plugin.commands
    return listed


def usage() -> str:
    """The subcommands, a line each: the kernel's, then those of each plugin."""
    line = "  ragsweep {:<10} {}".format
    lines = ["ragsweep: which retrieval configuration should I ship, and can I trust that answer?", ""]
    lines += [line(name, about) for name, (_, about) in COMMANDS.items()]
    for name, plugin in plugins().items():
        lines += ["", f"{name}: {plugin.about}"]
        lines += [line(own, command.about) for own, command in plugin.commands.items()]
    lines += ["", "ragsweep COMMAND --help says more about a command, ragsweep --version says which version this is."]
    return "\n".join(lines)


def _refuse(problem: str) -> NoReturn:
    print(f"ragsweep: {problem}", file=sys.stderr)
    sys.exit(terminal.BAD_INPUT)


def _status_of(name: str) -> int:
    """Run a subcommand and return its exit status; errors are printed in one line, which begins with its name."""
    try:
        check_arguments(sys.argv[1:])  # first: another error could repeat a password
        run: Callable[[], int] = resolve_name(commands()[name].main)
        try:
            return terminal.with_lost_output(run())
        finally:
            if (endpoint := sys.modules.get("ragsweep.models.language.endpoint")) is not None:  # else nothing was asked
                endpoint.say_spent()
    except KeyboardInterrupt:
        return terminal.interrupted()
    except Exception as error:
        from ragsweep.app.error_messages import explained

        explained(error, "ragsweep" if name == "run" else name)
        return terminal.BAD_INPUT  # other statuses of a command are results
