"""Which groups of a configuration are used, and which options of other groups use one."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from hydra.core.override_parser.types import Override
from omegaconf import DictConfig, OmegaConf

from ragsweep.config.components import REQUIRED, nearest, parameters_of, signature_of, target_of
from ragsweep.config.rules import as_configured
from ragsweep.core.errors import ConfigError
from ragsweep.core.plugins import check_groups, plugins
from ragsweep.core.project import CONF, conf_folders, option_file

REFERENCE = re.compile(r"\$\{(\w+)[.}]")
OF_EVERY_RUN = ("task", "decision", "tracking", "hydra")  # groups that every run uses
ABOUT_A_START = ("dry_run",)  # settings that are of no run
USERS_SHOWN = 4
PRIMARY = "config"  # of ragsweep run; the primary configuration of another command has its name


def groups() -> list[str]:
    """The names of all groups."""
    return [path.name for conf in conf_folders() for path in conf.iterdir() if path.is_dir()]


def unused_groups(config: DictConfig) -> set[str]:
    """The groups in a configuration that neither its task takes nor anything that is used refers to.

    Args:
        config: As it was composed, with its references.
    """
    nodes: Any = OmegaConf.to_container(config)
    there = {name for name in groups() if isinstance(nodes.get(name), dict)}
    of_every_run = {*OF_EVERY_RUN, *check_groups(), *parameters_of(config.task, config)}
    waiting = [name for name in there if name in of_every_run]
    used = set(waiting)
    while waiting:
        found = there & {*REFERENCE.findall(str(nodes[waiting.pop()]))} - used
        waiting += found
        used |= found
    return there - used


def refuse_unused(config: DictConfig, overrides: Sequence[Override]) -> set[str]:
    """The groups that are set and that nothing uses; what was added to the configuration without a use is refused.

    Raises:
        ConfigError: Names the group, and what uses it; or the setting that there is not; or one that was deleted, for
            which the default of a class would be used, while the record says nothing of it.
    """
    unused = unused_groups(config) & {override.key_or_group.partition(".")[0] for override in overrides}
    for override in overrides:
        name = override.key_or_group.partition(".")[0]
        if override.is_add() and name in unused:
            raise ConfigError(f"{name}: {about_unused(users_of(name))}")
        if override.is_add() or override.is_force_add():
            _refuse_unknown(config, override.key_or_group)
        elif override.is_delete():
            _refuse_hidden_default(config, override.key_or_group)
    return unused


def _refuse_unknown(config: DictConfig, setting: str) -> None:
    name = setting.partition(".")[0]
    if name not in config or (setting == name and OmegaConf.is_dict(config[name])):  # an option of a user's group
        return
    known = {*groups(), *OF_EVERY_RUN, *ABOUT_A_START, *parameters_of(config.task, config)}
    if name not in known | {*REFERENCE.findall(str(OmegaConf.to_container(config)))}:
        raise ConfigError(f"{name}: no such setting{nearest(name, sorted(known))}")


def _refuse_hidden_default(config: DictConfig, setting: str) -> None:
    place, _, key = setting.rpartition(".")
    node: Any = OmegaConf.select(config, place) if place else None
    if OmegaConf.is_dict(node) and "_target_" in node and key not in node:
        parameter = signature_of(target_of(str(node["_target_"]))).parameters.get(key)
        if parameter is not None and parameter.default is not REQUIRED:
            default = f"{setting}={as_configured(parameter.default)}"
            raise ConfigError(f"{setting}: cannot be deleted, as its default would be used; set {default}")


def name_unused(unused: Collection[str], swept: Collection[str] = ()) -> None:
    """Print which groups are set without an effect.

    Args:
        unused: The groups that nothing uses, in no configuration of a sweep.
        swept: The settings that are swept.

    Raises:
        ConfigError: One of the groups is swept, so its configurations would be the same under other names.
    """
    for group in sorted(unused):
        about = about_unused(_references_to(group))
        if any(name.partition(".")[0] == group for name in swept):
            raise ConfigError(f"{group}: sweeping it changes nothing, as {about}")
        print(f"{group}: no effect, as {about}", file=sys.stderr)


def about_unused(users: Iterable[tuple[str, str]]) -> str:
    """That nothing uses a group, and what would.

    Args:
        users: What does, and under which name if that is not the name of the group.
    """
    known = sorted(dict.fromkeys(users), key=lambda user: not is_listed(user[0].partition("=")[0], PRIMARY))
    unused = "nothing uses this group in this configuration"
    if len(known) == 1:
        [(user, name)] = known
        return f"{unused}; {user} {f'has its own, {name}' if name else 'does'}"
    if not known:
        return unused
    more = f" and {len(known) - USERS_SHOWN} more" if len(known) > USERS_SHOWN else ""
    return f"{unused}; {', '.join(user for user, _ in known[:USERS_SHOWN])}{more} do"


def is_listed(group: str, primary: str) -> bool:
    """Whether the defaults list of a primary configuration has a group, which may be null there."""
    name = f"{primary}.yaml"
    file = next(folder / name for folder in conf_folders() if (folder / name).is_file())
    chosen_by_plugins = {each for plugin in plugins().values() for each in plugin.defaults}
    return group in chosen_by_plugins or any(
        group == path for path, _ in _defaults(Path(name), file.read_text("utf-8"))
    )


def is_swept(group: str, arguments: Sequence[str]) -> bool:
    """Whether a sweep has several options of a group that may bring another one."""
    users = {user.partition("=")[0] for user, _ in users_of(group)}
    return any(name in users and "," in value for name, _, value in (each.partition("=") for each in arguments))


def _references_to(group: str) -> Iterator[tuple[str, str]]:
    """The options whose file refers to a group."""
    for conf in conf_folders():
        for file in sorted(conf.glob("*/*.yaml")):
            if group in REFERENCE.findall(file.read_text("utf-8", errors="replace")):
                yield f"{file.parent.name}={file.stem}", ""


@cache
def references_of(group: str, option: str) -> set[str]:
    """The groups that the file of an option names: as `${group}`, or in its defaults list."""
    file = option_file(group, option)
    if file is None:
        return set()
    text = file.read_text("utf-8", errors="replace")
    return {*REFERENCE.findall(text), *(path or group for path, _ in _defaults(Path(group, file.name), text))}


def users_of(group: str) -> Iterator[tuple[str, str]]:
    """The options of other groups, and the commands, whose defaults list has a group; and under which other name."""
    for conf in conf_folders():
        for file in sorted(conf.rglob("*.yaml")):
            text = file.read_text("utf-8", errors="replace")
            for path, package in _defaults(file.relative_to(conf), text):
                if path == group and file != CONF / f"{PRIMARY}.yaml":
                    option = f"{file.parent.name}={file.stem}" if file.parent != conf else f"ragsweep {file.stem}"
                    inside = file.parent != conf and "@package _global_" not in text and package
                    yield option, f"{file.parent.name}.{package}" if inside else ""


@cache
def _defaults(file: Path, text: str) -> tuple[tuple[str, str], ...]:
    """The groups in the defaults list of a file, and the packages that they are put into, empty for their own."""
    if "defaults:" not in text:
        return ()
    try:
        listed = yaml.safe_load(text)
    except yaml.YAMLError:  # Hydra says so where the file is used
        return ()
    found = (listed or {}).get("defaults", ()) if isinstance(listed, dict | None) else ()
    named = [str(key).partition("@") for each in found if isinstance(each, dict) for key in each]
    absolute = file.parent == Path()
    return tuple(
        (name.removeprefix("/") if name.startswith("/") or absolute else "", package)
        for name, _, package in named
        if not name.startswith("override ")
    )
