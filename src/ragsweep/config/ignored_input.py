"""Refuses what Hydra would ignore without a word: settings given twice, and configurations that it does not read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import accumulate
from pathlib import Path

from ragsweep.core.errors import ConfigError
from ragsweep.core.project import command, conf_folders, own_conf, project
from ragsweep.core.terminal import say_once

PRIMARY = "config"  # the primary configuration of `ragsweep run`
OF_ANOTHER = "; if the folder belongs to another program, set RAGSWEEP_PROJECT to a folder for ragsweep"


def refuse_ignored(overrides: Iterable[str]) -> None:
    """Raise `ConfigError` for a setting or group that is given twice, as the last value would win; and for `~/`."""
    given: dict[str, list[str]] = {}
    for override in overrides:
        name, is_set, value = override.partition("=")
        if is_set and not name.startswith("~"):
            given.setdefault(name.strip().lstrip("+"), []).append(value)
            if re.search(r"(^|[,\[])\s*['\"]?~/", value):
                raise ConfigError(f'{override}: ~ is not expanded here; write "{name}=$HOME/..."')
    for name, values in given.items():
        if len(values) > 1:
            raise ConfigError(f"{name}: given {len(values)} times, as {' and as '.join(values)}; give it once")
        for parent in accumulate(name.split(".")[:-1], "{}.{}".format):
            if any(value.lstrip().startswith("{") and value.strip() != "{}" for value in given.get(parent, ())):
                raise ConfigError(f"{name}: {parent}={given[parent][0]} sets it as well; give it once")


def refuse_hidden(folders: Sequence[Path]) -> None:
    """Raise `ConfigError` for an option that an earlier folder has under the same name."""
    options: dict[Path, Path] = {}
    for folder in folders:
        for file in filter(Path.is_file, sorted(folder.glob("*/**/*.yaml"))):
            earlier = options.setdefault(file.relative_to(folder), file)
            if earlier != file and earlier.read_bytes() != file.read_bytes():
                raise ConfigError(f"{file}: {earlier} is an option of this name; rename the file{OF_ANOTHER}")


def refuse_unread(given: Sequence[str] = (), added: str | None = None) -> None:
    """Raise `ConfigError` for a file that Hydra would not read, where everybody who knows Hydra puts settings.

    A `config.yaml` in the project folder itself is only reported, as it may be another program's.

    Args:
        given: The settings that were given, and `-m` before those of a sweep.
        added: A folder of groups besides the project's own.
    """
    for folder in filter(None, (own_conf(), Path(added) if added else None)):
        files = [file for file in sorted(folder.rglob("*.y*ml")) if file.is_file()]  # an editor's lock is a dead link
        for file in files:
            if file.suffix == ".yml":
                raise ConfigError(f"{file}: is not read; rename it to {file.stem}.yaml{OF_ANOTHER}")
            if file.parent in (folder, folder / "hydra") and (file.stem == PRIMARY or not _is_named(file, files)):
                raise ConfigError(f"{file}: is not read; {_instead(file, given)}")
    beside = project() / f"{PRIMARY}.yaml"
    if own_conf() and beside.is_file():  # it may be another program's
        say_once(f"{beside}: is not read; {_instead(beside, given)}")
    if added:
        refuse_hidden([*conf_folders(), Path(added)])


def _is_named(file: Path, files: Sequence[Path]) -> bool:
    """Whether a defaults list in one of these files may name this one."""
    return any(f"/{file.stem}" in other.read_text(encoding="utf-8", errors="replace") for other in files)


def _instead(file: Path, given: Sequence[str]) -> str:
    """What to do with a file that is not read: it is the recorded configuration of a run, or has some settings."""
    if re.search("^task:", file.read_text(encoding="utf-8", errors="replace"), re.MULTILINE):
        return f"as the recorded configuration of a run, it is measured by: {command('run', '--from', file, *given)}"
    place = project() / "conf/experiment/mine.yaml"
    return f"put its settings into {place} after a first line '# @package _global_', for experiment=mine{OF_ANOTHER}"
