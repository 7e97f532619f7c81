"""Plugins: packages that bring configuration groups, commands, tasks and checks of a run.

A plugin is found by its entry point in the group `ragsweep.plugins`, which names a `Plugin`:

    [project.entry-points."ragsweep.plugins"]
    letters = "ragsweep_letters.plugin:PLUGIN"
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path

from ragsweep.core.errors import ConfigError, first_line

GROUP = "ragsweep.plugins"
DISABLED = "RAGSWEEP_DISABLE_PLUGINS"  # in the environment: 1 leaves all plugins out
KERNEL = "ragsweep"


@dataclass(frozen=True)
class Command:
    """A subcommand of `ragsweep`.

    Attributes:
        about: What it does, for `ragsweep --help`.
        main: The function that reads the arguments and returns the exit status, as `module:function`.
    """

    about: str
    main: str


@dataclass(frozen=True)
class Plugin:
    """The contributions of a package. Classes and functions are named, so that nothing is imported before it is used.

    Attributes:
        about: What it is for, for `ragsweep --help`.
        conf: The folder of its configuration groups, such as `Path(__file__).parent / "conf"`; None if it has none.
        defaults: The options of its groups that every configuration has, unless another one is chosen.
        commands: Its subcommands by name.
        checks: The classes of its checks of a run (`ragsweep.tasks.run_check.RunCheck`), as
            `module:class`, by the group that has their settings.
    """

    about: str
    conf: Path | None = None
    defaults: Mapping[str, str] = field(default_factory=dict)
    commands: Mapping[str, Command] = field(default_factory=dict)
    checks: Mapping[str, str] = field(default_factory=dict)


@cache
def plugins() -> Mapping[str, Plugin]:
    """The installed plugins by name, sorted.

    Raises:
        ConfigError: A plugin cannot be loaded, two have the same name, or one is something
            else than a `Plugin`, or has fields of other types, files or folders that do not exist.
    """
    points = sorted(_entry_points(), key=lambda point: point.name)
    names = [point.name for point in points]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ConfigError(f"plugin {twice}: two installed packages have a plugin of this name")
    return {point.name: _loaded(point) for point in points}


def check_groups() -> set[str]:
    """The groups that have the settings of checks of a run."""
    return {group for plugin in plugins().values() for group in plugin.checks}


@cache
def our_packages() -> frozenset[str]:
    """The top-level packages of the kernel and of all plugins, none of which is imported for this."""
    return frozenset({KERNEL, *(point.module.partition(".")[0] for point in _entry_points())})


def is_ours(module: str) -> bool:
    """Whether a module belongs to the kernel or to a plugin."""
    return module.partition(".")[0] in our_packages()


@cache
def our_folders() -> tuple[Path, ...]:
    """The folders of `our_packages`."""
    specs = [find_spec(name) for name in sorted(our_packages())]
    return tuple(Path(place).resolve() for spec in specs if spec for place in spec.submodule_search_locations or ())


def _entry_points() -> tuple[EntryPoint, ...]:
    return () if os.environ.get(DISABLED) == "1" else tuple(entry_points(group=GROUP))


def _loaded(entry_point: EntryPoint) -> Plugin:
    try:
        plugin = entry_point.load()
    except (Exception, SystemExit) as error:  # it is anybody's code
        reason = f"{type(error).__name__}: {first_line(error)}"
        raise ConfigError(f"plugin {entry_point.name}: {entry_point.value} cannot be loaded ({reason})") from error
    if not isinstance(plugin, Plugin):
        kind = type(plugin).__name__
        raise ConfigError(f"plugin {entry_point.name}: {entry_point.value} is a {kind}, expected a ragsweep Plugin")
    if flaw := _flaw(plugin):
        raise ConfigError(f"plugin {entry_point.name}: {flaw}")
    return plugin


def _flaw(plugin: Plugin) -> str | None:
    """A flaw in the folder of a plugin; None if it has none."""
    if plugin.conf is not None and not plugin.conf.is_dir():
        return f"its configuration folder {plugin.conf} does not exist"
    for group, option in plugin.defaults.items():
        if plugin.conf is None or not (plugin.conf / group / f"{option}.yaml").is_file():
            return f"its default {group}={option} is no file of its configuration folder"
    return None
