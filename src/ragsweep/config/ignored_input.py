"""Refuses what Hydra would ignore without a word: settings given twice, and options that another one hides."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import accumulate
from pathlib import Path

from ragsweep.core.errors import ConfigError

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
    known: dict[Path, Path] = {}
    for folder in folders:
        for file in filter(Path.is_file, sorted(folder.glob("*/**/*.yaml"))):
            there = known.setdefault(file.relative_to(folder), file)
            if there != file and there.read_bytes() != file.read_bytes():
                raise ConfigError(f"{file}: {there} is an option of this name; rename the file{OF_ANOTHER}")
