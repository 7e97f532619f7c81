"""Refuses what Hydra would ignore without a word: settings given twice, and configurations that it does not read."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from itertools import accumulate
from pathlib import Path

from ragsweep.core.errors import ConfigError
from ragsweep.core.project import conf_folders, own_conf, project, shipped_conf

PRIMARY = "config"  # the primary configuration of `ragsweep run`


def refuse_repeated(overrides: Iterable[str]) -> None:
    """Raise `ConfigError` for a setting or group that is given twice: all values but the last would be dropped."""
    given: dict[str, list[str]] = {}
    for override in overrides:
        name, is_set, value = override.partition("=")
        if is_set and not name.startswith("~"):
            given.setdefault(name.strip().lstrip("+"), []).append(value)
    for name, values in given.items():
        if len(values) > 1:
            raise ConfigError(f"{name}: given {len(values)} times, as {' and as '.join(values)}; give it once")
        for parent in accumulate(name.split(".")[:-1], "{}.{}".format):
            if any(value.lstrip().startswith("{") and value.strip() != "{}" for value in given.get(parent, ())):
                raise ConfigError(f"{name}: {parent}={given[parent][0]} sets it as well; give it once")


def refuse_hidden(folders: Sequence[Path]) -> None:
    """Raise `ConfigError` for an option that an earlier folder has under the same name."""
    known: dict[Path, Path] = {}
    for folder in folders:
        for file in sorted(folder.glob("*/**/*.yaml")):
            there = known.setdefault(file.relative_to(folder), file)
            if there != file and there.read_bytes() != file.read_bytes():
                raise ConfigError(f"{file}: {there} is an option of this name; rename the file")


def refuse_unread(
    given: Sequence[str], primary: str | None = None, path: str | None = None, added: str | None = None
) -> None:
    """Raise `ConfigError` for a primary configuration of the user's in whose place Hydra reads ragsweep's own.

    Args:
        given: The settings that were given, and `-m` before those of a sweep.
        primary: Name of the primary configuration, if one was given.
        path: Folder of the primary configuration, if it is not ragsweep's own.
        added: Another folder of groups.
    """
    name = f"{(primary or PRIMARY).removesuffix('.yaml')}.yaml"
    if path or not any((folder / name).is_file() for folder in shipped_conf()):
        return  # then the user's file of this name is read
    for folder in filter(None, (own_conf(), Path(added) if added else None)):
        if (folder / name).is_file():
            raise ConfigError(f"{folder / name}: is not read; {_instead(folder / name, given)}")
    if added and primary:
        raise ConfigError(f"{Path(added) / name}: no such file; --config-name {primary} would be ragsweep's own")
    if added:
        refuse_hidden([*conf_folders(), Path(added)])


def _instead(file: Path, given: Sequence[str]) -> str:
    """What to do with a file that is not read: it has some settings, or the whole configuration of a run."""
    command = ["ragsweep", "run", "--config-path", str(file.parent.resolve()), "--config-name", file.stem, *given]
    place = project() / "conf/experiment/mine.yaml"
    return (
        f"put its settings into {place} after a first line '# @package _global_', and add experiment=mine; "
        f"the configuration of a run is measured by {shlex.join(command)}"
    )
