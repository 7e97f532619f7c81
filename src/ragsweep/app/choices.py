"""Lists what can be chosen, and for what: the middle of `ragsweep run --help`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from omegaconf import OmegaConf

from ragsweep.config.components import parameters_of
from ragsweep.config.groups import OF_EVERY_RUN, groups, references_of, users_of
from ragsweep.core.plugins import check_groups
from ragsweep.core.project import option_file, options_of

FOR_EVERY_TASK = {*OF_EVERY_RUN, "experiment", "strategy"}


def choices() -> str:
    """Every group with its options, a line each, and the tasks that use it if that is not all of them."""
    used = {task: groups_of(task) for task in options_of("task")}
    lines = []
    for group in sorted({*groups()} - {"hydra"}):
        users = users_in(used, group)
        note = f"   [{', '.join(users)}]" if users else ""
        lines.append(f"{group}: {', '.join(options_of(group))}{note}")
    return "\n".join(lines)


def users_in(used: Mapping[str, set[str]], group: str) -> list[str]:
    """The tasks that use a group, or else the commands; empty if every run uses it. `used` has the groups by task."""
    tasks = [f"task={task}" for task, names in used.items() if group in names]
    everywhere = group in FOR_EVERY_TASK or group in check_groups() or len(tasks) == len(used)
    return [] if everywhere else tasks or _commands(group) or ["your own components"]


def _commands(group: str) -> list[str]:
    """The commands other than `ragsweep run` whose configuration has a group."""
    return sorted({user for user, _ in users_of(group) if user.startswith("ragsweep ")})


def groups_of(task: str) -> set[str]:
    """The groups that a task takes, and those that their options refer to."""
    file = option_file("task", task)
    if file is None:
        return set()
    config: Any = OmegaConf.load(file)
    node = config.task if "task" in config else config
    known = {*groups()}
    waiting = [name for name in (*parameters_of(node, known), *references_of("task", task)) if name in known]
    used = set(waiting)
    while waiting:
        group = waiting.pop()
        for option in options_of(group):
            found = known & {*references_of(group, option)} - used
            waiting += found
            used |= found
    return used
