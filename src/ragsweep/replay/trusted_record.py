"""Checks the configuration of a recorded run before it is built: anybody may have written it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from inspect import isclass, ismodule, isroutine
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import hydra
import yaml
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from ragsweep.config.annotations import (
    inner_hint,
    is_component,
    optional,
    settings_class,
    signature_of,
    target_of,
)
from ragsweep.config.ignored_input import refuse_repeated
from ragsweep.config.walk import PARTIAL, STORE, TARGET, WHOLE
from ragsweep.core.errors import ConfigError, first_line
from ragsweep.core.limits import Mark, mark_of
from ragsweep.core.parsing import MalformedError, from_yaml
from ragsweep.core.project import CONF, VERSION_BASE, conf_folders, placed, project, register_resolvers
from ragsweep.models.encoders.model_files import MINILM, WORDLLAMA
from ragsweep.models.encoders.tokenizer import BY_WORDS
from ragsweep.replay.to_be_named import OUTSIDE, ToBeNamed

TODAYS = ("store", "tracking")  # groups that come from this machine's configuration, never from a record
MOST_NODES = 100_000  # settings of a record, with each group as often as others refer to it
OTHER_NAMES = {"model": "language_model", "rewriter": "query"}  # groups of components whose setting has another name


def keys_of(overrides: Sequence[str]) -> set[str]:
    """The settings and groups that `name=value` overrides set."""
    try:
        return {each.key_or_group for each in OverridesParser.create().parse_overrides(list(overrides))}
    except HydraException as error:
        raise ConfigError(" ".join(str(error).split())) from error


def refuse_others(overrides: Sequence[str], *groups: str) -> None:
    """Raise `ConfigError` for the first override that is in none of these groups."""
    for key in sorted(keys_of(overrides)):
        if key.partition(".")[0] not in groups:
            raise ConfigError(f"{key}: expected a setting of {' or '.join(groups)}")


def composed_today(overrides: Sequence[str]) -> tuple[DictConfig, dict[str, Any]]:
    """The configuration of this machine, and the settings that replace recorded ones, from overrides `name=value`."""
    register_resolvers()
    refuse_repeated(overrides)
    try:
        parsed = OverridesParser.create().parse_overrides(list(overrides))
        todays = (*TODAYS, "decision")
        here = [str(each.input_line) for each in parsed if each.key_or_group.partition(".")[0] in todays]
        with hydra.initialize_config_dir(str(CONF), version_base=VERSION_BASE):
            added = [f"++{each}" if each.startswith("decision.") else each for each in here]  # `check` knows better
            today = hydra.compose("config", added)
        if OmegaConf.is_missing(today.tracking, "uri"):
            raise ConfigError("tracking.uri: expected the address of the tracking store")
        today.store.path = str(Path(today.store.path).resolve())
        settings = {each.key_or_group: resolved_path(each.value()) for each in parsed if each.input_line not in here}
    except (HydraException, OmegaConfBaseException) as error:
        raise ConfigError(" ".join(str(error).split())) from error
    return today, settings


def resolved_path(value: Any) -> Any:
    """A setting. A path that exists becomes absolute."""
    return str(Path(value).resolve()) if isinstance(value, str) and os.sep in value and Path(value).exists() else value


def trusted(text: str, today: DictConfig, overrides: Mapping[str, Any], modules: Sequence[str]) -> DictConfig:
    """The configuration of a recorded run, checked so that it is safe to build.

    A record can only have objects of classes that our own configuration has in the same place, built from plain values;
    files inside the project; and the bundled models. Nothing is downloaded from a hub, no other code is imported, and
    only the stores of this machine's configuration are written.

    Args:
        text: The run's `config/config.yaml`.
        today: The configuration of this machine: its store of intermediate results and its tracking store.
        overrides: Settings from the user, such as the place of a dataset on this machine.
        modules: Modules outside ragsweep whose classes the record may name.

    Raises:
        ConfigError: The record contains something that is not allowed: a class that our configuration does not have
            there, an argument for Hydra itself, an interpolation, another model, a path outside the project.
    """
    try:
        recorded = from_yaml(text)
    except MalformedError as error:
        raise ConfigError(f"config.yaml of the run cannot be read ({error})") from error
    if not isinstance(recorded, dict):
        raise ConfigError("config.yaml of the run holds no settings")
    recorded = {name: value for name, value in recorded.items() if name not in TODAYS}
    for name, value in overrides.items():
        set_setting(recorded, name, value)
    task, decision = recorded.get("task"), recorded.get("decision")
    if not isinstance(task, dict) or not isinstance(task.get(TARGET), str):
        raise ConfigError("task: config.yaml of the run has no such group of settings")
    if not isinstance(decision, dict):
        raise ConfigError("decision: config.yaml of the run has no such group of settings")
    recorded["decision"] = {**decision, "tokenizer": None}  # the task has it
    check = RecordCheck([value for value in overrides.values() if isinstance(value, str)], modules, recorded)
    for name in ("task", "decision"):
        check.group(name)
    check.unnamed.refuse()
    check.refuse_many()
    kept = placed_node({name: recorded[name] for name in recorded if name in check.reached})
    return DictConfig(kept | {name: OmegaConf.to_container(today[name], resolve=True) for name in TODAYS})


def set_setting(recorded: dict[str, Any], name: str, value: object) -> None:
    """Set a setting by its dotted name. Raises `ConfigError` if there is no such setting."""
    *groups, last = name.split(".")
    node: Any = recorded
    for group in groups:
        node = node.get(group) if isinstance(node, dict) else None
        if isinstance(node, str) and (whole := WHOLE.fullmatch(node)):
            node = recorded.get(whole[1])
    if not isinstance(node, dict) or last not in node:
        raise ConfigError(f"{name}: the recorded configuration has no such setting")
    node[last] = value


@dataclass
class RecordCheck:
    """Checks what is read from a record, whoever has written it.

    Attributes:
        given: Texts that the user has given, which are allowed.
        modules: Modules whose classes the user allows.
        recorded: The record, whose groups others may be made of; empty if there is none.
        unnamed: What is allowed only if the user names it.
        reached: The groups and settings that were checked, and that those refer to.
    """

    given: Sequence[str]
    modules: Sequence[str]
    recorded: Mapping[str, Any] = field(default_factory=dict)
    unnamed: ToBeNamed = field(default_factory=ToBeNamed)
    reached: set[str] = field(default_factory=set)

    def group(self, name: str, hint: Any = None, mark: Mark | None = None) -> None:
        """Check a group of the record, and those that it refers to."""
        if name not in self.reached:
            self.reached.add(name)
            self.node(name, self.recorded[name], hint, mark)

    def node(self, name: str, node: object, hint: Any = None, mark: Mark | None = None) -> None:
        """Raise `ConfigError` for the first thing in a node that is not allowed by the annotation of its place."""
        if node == "${store}" or _is_store(name, node):  # it is replaced by this machine's store
            return
        if isinstance(node, str) and (whole := WHOLE.fullmatch(node)) and whole[1] in self.recorded:
            self._reference(name, whole[1], hint, mark)
        elif is_component(optional(hint)) and not isinstance(node, dict if is_component(hint) else dict | None):
            kind = optional(hint).__name__  # an option of this machine, given by name, need not be what was measured
            raise ConfigError(f"{name}: found {node!r}, expected a {kind}: _target_ and its arguments")
        elif isinstance(node, dict):
            self._settings(name, node, hint, mark)
        elif isinstance(node, list):
            for number, value in enumerate(node):
                self.node(f"{name}.{number}", value, inner_hint(hint), mark)
        elif isinstance(node, str):
            if node not in self.given:
                self._text(name, node, mark)
        elif not isinstance(node, bool | int | float | None):
            raise ConfigError(f"{name}: found {node!r}, expected a plain value")

    def _reference(self, name: str, group: str, hint: Any, mark: Mark | None) -> None:
        """Check a reference to a group or setting of the record as what would stand here in its place."""
        value = self.recorded.get(group)
        if isinstance(value, dict) and isinstance(value.get(TARGET), str):
            self.group(group, hint)
            self._check_argument_of_hydra(f"{name}.{TARGET}", value[TARGET])
        elif isinstance(value, dict | list):
            if name != f"task.{group}":
                raise ConfigError(f"{name}: found ${{{group}}}, which is no component")
            self.group(group, hint, mark)
        else:
            self.reached.add(group)
            if isinstance(value, str) and "${" in value:
                raise ConfigError(f"{group}: found {value!r}, an interpolation of what is one itself")
            self.node(group, value, hint, mark)

    def _settings(self, name: str, node: Mapping[Any, object], hint: Any, mark: Mark | None) -> None:
        target = node.get(TARGET)
        free = isinstance(target, str) and _within(target, self.modules)
        for key in node:
            if not isinstance(key, str):
                raise ConfigError(f"{name}.{key}: found {key!r} as a setting's name, expected a string")
            self._path(f"{name}.{key}", key)
            if key.startswith("_") and not free:
                self._check_argument_of_hydra(f"{name}.{key}", node[key])
        made_by = target_of(target) if isinstance(target, str) else settings_class(hint)
        parameters = signature_of(made_by).parameters if made_by else {}
        for key, value in node.items():
            if key == TARGET:
                continue
            parameter = parameters.get(key)
            inner = parameter.hint if parameter else inner_hint(hint)
            if parameter and isinstance(value, str) and value == parameter.default:
                continue  # whoever reads the record would get it without the record
            self.node(f"{name}.{key}", value, inner, mark_of(inner) or mark)

    def _text(self, name: str, value: str, mark: Mark | None) -> None:
        names = mark.names if mark else ""
        if names == "code":
            _check_code(name, value, self.modules)
            return
        if names == "data":
            self.unnamed.note(name, value, "a record names nothing of yours", value)
            return
        self._path(name, value)
        if name in self.unnamed.found:
            return
        bundled = {"model": (MINILM, BY_WORDS), "tokenizer": (MINILM, BY_WORDS, WORDLLAMA)}
        if names in bundled and value not in bundled[names]:
            self.unnamed.note(name, value, f"a record loads no model but {MINILM}", "MODEL")
        elif names == "server" or "://" in value:
            self.unnamed.note(name, value, "a record names no server and no key", value)

    def _path(self, name: str, value: str) -> None:
        """Note a text that is a path outside the project. Raises `ConfigError` for an interpolation."""
        if "${" in value:
            raise ConfigError(f"{name}: found {value!r}, an interpolation; a recorded configuration holds plain values")
        try:
            inside = (project() / value).resolve().is_relative_to(project())
        except (OSError, ValueError):  # no file can have such a path
            inside = False
        if not inside or value.startswith("~") or ".." in Path(value).parts:
            self.unnamed.note(name, value, OUTSIDE, "PATH")

    def _check_argument_of_hydra(self, name: str, value: object) -> None:
        """Raise `ConfigError` unless our own configuration has this in the same group: a `_target_`, or `_partial_`."""
        if isinstance(value, str) and name.endswith(TARGET) and _within(value, self.modules):
            return
        *parents, key = name.split(".")
        groups = (OTHER_NAMES.get(parent, parent) for parent in reversed(parents))
        ours = next((found for found in map(targets, groups) if found), frozenset())
        if key == TARGET and isinstance(value, str) and value in ours:
            return
        if key == PARTIAL and value is True and PARTIAL in ours:
            return
        if key == TARGET:
            raise ConfigError(
                f"{name}: {value} may not be built from a record; --allow MODULE permits a module of yours"
            )
        raise ConfigError(f"{name}: found {value!r}; a recorded configuration of ours has no {key} here")

    def refuse_many(self) -> None:
        """Raise `ConfigError` if references make so many components that building them would not end."""
        sizes: dict[str, int] = {}

        def size(node: object, within: frozenset[str]) -> int:
            if isinstance(node, dict | list):
                return 1 + sum(size(inner, within) for inner in (node.values() if isinstance(node, dict) else node))
            whole = WHOLE.fullmatch(node) if isinstance(node, str) else None
            if whole is None or whole[1] not in self.recorded:
                return 1
            if whole[1] in within:
                raise ConfigError(f"{whole[1]}: refers to itself")
            if whole[1] not in sizes:
                sizes[whole[1]] = size(self.recorded[whole[1]], within | {whole[1]})
            return sizes[whole[1]]

        if size(self.recorded["task"], frozenset({"task"})) > MOST_NODES:
            raise ConfigError(f"task: refers to more than {MOST_NODES:,} settings")


@cache
def targets(group: str) -> frozenset[str]:
    """The classes and functions in the configuration of this machine, for one group; also `PARTIAL` if it has that."""
    files = [file for conf in conf_folders() for file in (conf / group).glob("*.yaml")] if group.isidentifier() else []
    found: set[str] = set()
    for file in files:
        with suppress(yaml.YAMLError, OSError, RecursionError):  # Hydra says what is wrong with it when it is chosen
            found |= _named_in(yaml.safe_load(file.read_text(encoding="utf-8", errors="replace")))
    return frozenset(found)


def _named_in(node: Any) -> set[str]:
    """The targets in a value of YAML, and `PARTIAL` if it has that."""
    if isinstance(node, list):
        return set().union(*map(_named_in, node))
    if not isinstance(node, dict):
        return set()
    own = {node[TARGET]} if isinstance(node.get(TARGET), str) else set()
    return own.union({PARTIAL} if node.get(PARTIAL) is True else set(), *map(_named_in, node.values()))


def _within(target: str, modules: Sequence[str]) -> bool:
    """Whether a target is defined in an allowed module. `mine.os.system` is not: it is only imported there."""
    if not any(target.startswith(f"{allowed}.") for allowed in modules):
        return False
    try:
        found = resolve_name(target)
    except Exception as error:  # importing a module can raise anything
        raise ConfigError(f"{target}: cannot be imported ({first_line(error)})") from error
    home = str(getattr(found, "__module__", ""))
    return callable(found) and any(home == allowed or home.startswith(f"{allowed}.") for allowed in modules)


def _check_code(name: str, value: str, modules: Sequence[str]) -> None:
    """Raise `ConfigError` unless what is named stands in an allowed module: `mine:os.system` does not."""
    module, _, path = value.partition(":")
    if not any(module == allowed or module.startswith(f"{allowed}.") for allowed in modules):
        raise ConfigError(f"{name}: {value} may not be called by a record; --allow {module} permits it")
    try:
        found = resolve_name(module)
        for part in path.split("."):
            found = getattr(found, part)
            home = getattr(found, "__module__", None) if isroutine(found) or isclass(found) else module
            if ismodule(found) or str(home).partition(".")[0] != module.partition(".")[0]:
                raise ConfigError(f"{name}: {value} is not defined in {module}")
    except ConfigError:
        raise
    except Exception as error:  # importing a module can raise anything
        raise ConfigError(f"{name}: {value} cannot be imported ({first_line(error)})") from error


def _is_store(name: str, node: object) -> bool:
    return name.endswith((".store", ".embeddings")) and isinstance(node, dict) and node.get(TARGET) == STORE


def placed_node(node: Any, name: str = "") -> Any:
    """The record with this machine's store, and with absolute paths to files inside the project."""
    if _is_store(name, node):
        return "${store}"
    if isinstance(node, dict):
        return {key: placed_node(value, f"{name}.{key}") for key, value in node.items()}
    if isinstance(node, list):
        return [placed_node(value) for value in node]
    if isinstance(node, str) and "/" in node and placed(node).exists():
        return str(placed(node))
    return node
