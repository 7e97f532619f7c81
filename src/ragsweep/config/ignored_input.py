"""Refuses what Hydra would ignore without a word: settings that are given twice, and files that it does not read."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import hydra.conf

from ragsweep.core.errors import ConfigError
from ragsweep.core.parsing import MalformedError, from_yaml
from ragsweep.core.project import CONF, conf_folders, own_conf, placed, project, shipped_conf

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


def refuse_hidden(folders: Sequence[Path]) -> None:
    """Raise `ConfigError` for an option that an earlier folder, or Hydra itself, has under the same name."""
    known: dict[Path, Path] = {}
    for folder in (Path(hydra.conf.__file__).parent, *folders):
        for file in sorted(folder.glob("*/**/*.yaml")):
            there = known.setdefault(file.relative_to(folder), file)
            if there != file and there.read_bytes() != file.read_bytes():
                raise ConfigError(f"{file}: {there} is an option of this name; rename the file")


def refuse_unread(
    given: Sequence[str], primary: str | None = None, path: str | None = None, added: str | None = None
) -> None:
    """Raise `ConfigError` for a file of the user's configuration that Hydra does not read.

    Args:
        given: The settings that were given, and `-m` before those of a sweep.
        primary: Name of the primary configuration, if one was given.
        path: Folder of the primary configuration, if it is not ragsweep's own.
        added: Another folder of groups.
    """
    if path and Path(path).is_dir() and not Path(path).is_absolute():
        raise ConfigError(f"--config-path {path}: expected an absolute path, {Path(path).resolve()}")
    file_name = f"{(primary or PRIMARY).removesuffix('.yaml')}.yaml"
    first = [Path(path)] if path else shipped_conf()
    if added:
        refuse_hidden([*(first if path else conf_folders()), Path(added)])
    if not any((folder / file_name).is_file() for folder in first):
        return  # then the user's file of this name is read
    for folder in filter(None, (None if path else own_conf(), Path(added) if added else None)):
        for file in sorted(folder.rglob("*.y*ml"), key=lambda file: file.name != file_name):
            if (file.parent == folder and file.name == file_name) or _is_unread(file, folder, given):
                raise ConfigError(f"{file}: is not read; {_instead(file, given)}")
    if added and primary:
        raise ConfigError(f"{Path(added) / file_name}: no such file; --config-name {primary} would be ragsweep's own")
    ours = {*_settings(CONF / "config.yaml"), *(group.name for folder in shipped_conf() for group in folder.iterdir())}
    beside = project() / "config.yaml"
    if not path and beside.is_file() and set() < _settings(beside).keys() <= ours:
        raise ConfigError(f"{beside}: is not read; {_instead(beside, given)}")


def _is_unread(file: Path, folder: Path, given: Sequence[str]) -> bool:
    """Whether no choice of a group, no defaults list and no name of a primary configuration leads to a file."""
    *groups, _ = file.relative_to(folder).parts
    if file.suffix == ".yml":
        return not groups or (CONF / groups[0]).is_dir()
    if groups not in ([], ["hydra"]) or f"hydra={file.stem}" in {override.lstrip("+") for override in given}:
        return False
    listed = rf"(?m)^\s*- (override )?/?(hydra: )?{re.escape(file.stem)}\s*$"
    others = (other for other in folder.rglob("*.yaml") if other != file)
    is_based_on_ours = re.search(rf"(?m)^\s*- /?{PRIMARY}\s*$", _text(file))
    return not (is_based_on_ours or any(re.search(listed, _text(other)) for other in others))


def _instead(file: Path, given: Sequence[str]) -> str:
    """What to do with the settings of a file that is not read."""
    settings = _settings(file)
    is_complete = {"task", "tracking"} <= settings.keys()
    if file.suffix == ".yml" and (is_complete or (CONF / file.parent.name).is_dir()):
        return f"rename it to {file.stem}.yaml"
    if file.parent.name == "hydra":
        return f"add +hydra={file.stem}"
    if is_complete:
        moved = [f"{name}={there}" for name, there in _bundled(settings)]
        chosen = ["--config-path", str(file.parent.resolve()), "--config-name", file.stem, *moved, *given]
        return f"the configuration of a run is measured by {shlex.join(['ragsweep', 'run', *chosen])}"
    groups = ", a choice in its defaults list as '- override /retriever: sparse'" if "defaults" in settings else ""
    place = project() / "conf/experiment/mine.yaml"
    return f"put its settings into {place} after a first line '# @package _global_'{groups}, and add experiment=mine"


def _bundled(settings: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Path]]:
    """The settings that name bundled data as if it lay in this folder, and where it is."""
    for name, value in settings.items():
        if isinstance(value, dict):
            yield from _bundled(value, f"{prefix}{name}.")
        elif isinstance(value, str) and "/" in value and not Path(value).exists() and placed(value).exists():
            yield f"{prefix}{name}", placed(value)


def _settings(file: Path) -> Mapping[str, Any]:
    try:
        content = from_yaml(_text(file))
    except MalformedError:  # Hydra says so where the file is used
        return {}
    return content if isinstance(content, dict) else {}


def _text(file: Path) -> str:
    return file.read_text("utf-8", errors="replace")
