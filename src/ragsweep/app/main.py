"""The command `ragsweep`: finds the subcommand, and starts it."""

from __future__ import annotations

import os
import sys
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import NoReturn

from ragsweep.core.endings import answer_ctrl_c
from ragsweep.core.project import PROJECT, project
from ragsweep.core.terminal import BAD_INPUT, end_of_script, guard, interrupted, one_line, shortened, with_lost_output

COMMANDS = {
    "init": "prepare this folder: a place for PDF files, a template for questions, a dataset for both",
    "run": "measure one configuration, or a sweep over many with -m",
    "audit": "say what is wrong with a dataset before a sweep is wasted on it",
    "generate": "make a test set from your own documents",
    "compare": "compare runs and sweeps, and say which differences are more than chance",
    "gate": "check that a run is not worse than another one by more than a margin",
    "explain": "show what a run retrieved for a query, and why",
    "review": "judge pages that nobody judged and that retrievers agree on, and see what that changes",
    "reproduce": "run a recorded run or sweep again, and compare every number",
    "convert": "write a dataset of any format as another one",
    "push": "upload runs that the tracking server could not take when they were made",
    "store": "show or clear the stored embeddings, indexes and rankings",
    "ui": "show the runs of this folder in MLflow",
}


def main(command: str | None = None, project_folder: Path | None = None) -> NoReturn:
    """Run the subcommand that the arguments of this process name, and exit with its status.

    Args:
        command: The subcommand; None reads it from the arguments.
        project_folder: The project, where it is not the current folder.
    """
    guard()
    answer_ctrl_c()
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
    if command is None:
        command = _subcommand()
    if command == "run":
        try:
            from ragsweep.app import cli
        except KeyboardInterrupt:
            sys.exit(interrupted())
        cli.main()
    sys.exit(end_of_script(command, lambda: import_module(f"ragsweep.app.commands.{command}").main()))


def _subcommand() -> str:
    """The subcommand, which is taken out of the arguments; exits where there is none to start."""
    first = sys.argv[1] if len(sys.argv) > 1 else "--help"
    if first in COMMANDS:
        del sys.argv[1]
        return first
    if first in ("-h", "--help", "help"):
        print(usage())
    elif first == "--version":
        print(f"ragsweep {version('ragsweep')}")
    elif first == "-sc":  # the shell asks for completions
        return _completed()
    else:
        name, is_setting, _ = first.partition("=")  # its value may be a secret
        close = ["run"] if is_setting else get_close_matches(name, COMMANDS, n=1)
        meant = f"run {name}=..." if is_setting else close[0] if close else ""
        hint = f" (did you mean ragsweep {meant}?)" if close else f"; expected one of {', '.join(COMMANDS)}"
        _refuse(f"{shortened(one_line(name))}: no such command{hint}")
    sys.exit(with_lost_output(0))


def usage() -> str:
    """The subcommands, a line each."""
    lines = [f"  ragsweep {name:<10} {what}" for name, what in COMMANDS.items()]
    return "\n".join(
        [
            "ragsweep: which retrieval configuration should I ship, and can I trust that answer?",
            "",
            *lines,
            "",
            "ragsweep COMMAND --help says more about a command, ragsweep --version says which version this is.",
        ]
    )


def _completed() -> str:
    """Let Hydra complete the arguments of `ragsweep run`, or print the subcommands and exit."""
    line = os.environ.get("COMP_LINE", "")
    words = line.split()
    if sys.argv[2:3] and sys.argv[2].startswith("query=") and (words[1:2] != ["run"] or line.endswith(" run")):
        if len(words) < 3:
            print(*COMMANDS)
        sys.exit(0)
    os.environ["COMP_LINE"] = line.replace(" run ", " ", 1)  # Hydra knows programs without subcommands
    return "run"


def _refuse(problem: str) -> NoReturn:
    print(f"ragsweep: {problem}", file=sys.stderr)
    sys.exit(BAD_INPUT)
