"""Which groups there are, and which of them a configuration sets without using them."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable
from functools import cache
from typing import Any

from omegaconf import OmegaConf

from ragsweep.config.annotations import nearest
from ragsweep.core.errors import ConfigError
from ragsweep.core.plugins import check_groups
from ragsweep.core.project import CONF, conf_folders

OF_EVERY_RUN = ("task", "decision", "tracking", "hydra")  # groups that every run uses
GLOBAL = ("experiment", "strategy")  # groups whose files set what lies outside them


def groups() -> list[str]:
    """The names of all groups."""
    return [path.name for conf in conf_folders() for path in conf.iterdir() if path.is_dir()]


def unused_groups(overridden: Iterable[str], config: Any, used: Collection[str]) -> set[str]:
    """The groups that are set, and what was added beside them, that nothing in a configuration uses.

    Args:
        overridden: The names of the settings and groups that are set.
        config: The configuration.
        used: The groups and settings that were used.

    Raises:
        ConfigError: A file sets nothing outside its group, or what was added has almost the name of a group.
    """
    named = {name.partition(".")[0].partition("@")[0] for name in overridden}
    set_groups = {name for name in named & {*groups()} if OmegaConf.is_dict(config.get(name))}
    for group in set_groups.intersection(GLOBAL):
        raise ConfigError(f"{group}: a file in conf/{group} needs the first line '# @package _global_' to set anything")
    names = [*groups(), *_primary_names()]
    added = {str(name) for name in config} - {*names, *used}
    for name in sorted(added):
        if hint := nearest(name, names):
            raise ConfigError(f"{name}: no such setting{hint}")
    return (set_groups | added) - {*used, *OF_EVERY_RUN, *check_groups()}


@cache
def _primary_names() -> set[str]:
    return {*map(str, OmegaConf.load(CONF / "config.yaml")), "dry_run"}


def name_unused(unused: Collection[str], swept: Collection[str] = ()) -> None:
    """Print the groups that are set, and that nothing uses in any configuration of a sweep.

    Raises:
        ConfigError: One of the groups is swept, so its configurations would be the same under other names.
    """
    for group in sorted(unused):
        if any(name.partition(".")[0] == group for name in swept):
            raise ConfigError(f"{group}: sweeping it changes nothing, as nothing that is measured uses {group}")
        print(f"{group}: no effect: nothing that is measured uses {group}", file=sys.stderr)
