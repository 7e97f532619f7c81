"""Checks the configuration of a recorded run before it is built: anybody may have written it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from inspect import isclass, ismodule, isroutine
from pathlib import Path
from pkgutil import resolve_name
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import hydra
import yaml
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from ragsweep.config.annotations import (
    PLAIN,
    inner_hint,
    is_component,
    optional,
    settings_class,
    signature_of,
    target_of,
)
from ragsweep.config.configuration_walk import PARTIAL, STORE, TARGET, WHOLE
from ragsweep.config.ignored_input import refuse_ignored
from ragsweep.core.errors import ConfigError, first_line
from ragsweep.core.limits import Mark, mark_of
from ragsweep.core.parsing import MalformedError, from_yaml
from ragsweep.core.project import CONF, VERSION_BASE, conf_folders, placed, project, register_resolvers
from ragsweep.models.encoders.model_files import MINILM, WORDLLAMA
from ragsweep.models.encoders.tokenizer import BY_WORDS
from ragsweep.store.stage_store import Store
from ragsweep.tasks.task import Task

TODAYS = ("store", "tracking")  # groups that come from this machine's configuration, never from a record
OF_HYDRA = ("hydra", "defaults")  # what would steer Hydra itself, to whatever jobs, code or environment it names
BUNDLED = {"model": (MINILM, BY_WORDS), "hosted": (), "tokenizer": (MINILM, BY_WORDS, WORDLLAMA)}  # by a mark
MOST_NODES = 100_000  # settings of a record, with each group as often as others refer to it
MOST_NAMED = 10  # settings in a message
ALLOW = "--allow MODULE permits a module of yours"


def keys_of(overrides: Sequence[str]) -> set[str]:
    """The settings and groups that `name=value` overrides set."""
    return {override.key_or_group for override in _parsed(overrides)}


def _parsed(overrides: Sequence[str]) -> list[Override]:
    try:
        return OverridesParser.create().parse_overrides(list(overrides))
    except HydraException as error:
        raise ConfigError(" ".join(str(error).split())) from error


def composed_today(overrides: Sequence[str], *, only: Sequence[str] = ()) -> tuple[DictConfig, dict[str, Any]]:
    """The configuration of this machine, and the settings that replace recorded ones, from overrides `name=value`.

    Raises:
        ConfigError: An override is wrong, or is in none of the groups to which they are limited.
    """
    register_resolvers()
    parsed = _parsed(overrides)
    for name in sorted(override.key_or_group for override in parsed):
        if only and name.partition(".")[0] not in only:
            raise ConfigError(f"{name}: expected a setting of {' or '.join(only)}")
    refuse_ignored(overrides)
    of_machine = [override for override in parsed if override.key_or_group.partition(".")[0] in (*TODAYS, "decision")]
    lines = [str(override.input_line) for override in of_machine]
    added = [f"++{line}" if line.startswith("decision.") else line for line in lines]  # `check` knows better
    try:
        with hydra.initialize_config_dir(str(CONF), version_base=VERSION_BASE):
            today = hydra.compose("config", added)
        today.store.path = str(Path(today.store.path).resolve())
        replacing = [override for override in parsed if override not in of_machine]
        return today, {override.key_or_group: resolved_path(override.value()) for override in replacing}
    except (HydraException, OmegaConfBaseException) as error:
        raise ConfigError(" ".join(str(error).split())) from error


def resolved_path(value: Any) -> Any:
    """A setting. A path that exists becomes absolute."""
    return str(Path(value).resolve()) if isinstance(value, str) and os.sep in value and Path(value).exists() else value


def trusted(text: str, today: DictConfig, overrides: Mapping[str, Any], modules: Sequence[str]) -> DictConfig:
    """The configuration of a recorded run, checked so that it is safe to build.

    A record can only have objects of classes that our own configuration names, where an annotation asks for their kind,
    built from plain values; files inside the project; and the bundled models. Nothing is downloaded from a hub, no
    other code is imported, and only the stores of this machine's configuration are written.

    Args:
        text: The run's `config/config.yaml`.
        today: The configuration of this machine: its store of intermediate results and its tracking store.
        overrides: Settings from the user, such as the place of a dataset on this machine.
        modules: Modules outside ragsweep whose classes the record may name.

    Raises:
        ConfigError: The record contains something that is not allowed: a class that our configuration does not name,
            an argument for Hydra itself, an interpolation, another model, a path outside the project.
    """
    recorded = {name: value for name, value in settings_in(text).items() if name not in (*TODAYS, *OF_HYDRA)}
    for name, value in overrides.items():
        set_setting(recorded, name, value)
    for name, needed in (("task", TARGET), ("decision", "metric")):
        if not isinstance(recorded.get(name), dict) or needed not in recorded[name]:
            raise ConfigError(f"{name}: config.yaml of the run has no such group of settings")
    recorded["decision"] = {**recorded["decision"], "tokenizer": None}  # the task has it
    check = RecordCheck([value for value in overrides.values() if isinstance(value, str)], modules, recorded)
    check.group("task", Task)
    check.group("decision")
    check.refuse_unnamed()
    todays = {name: OmegaConf.to_container(today[name], resolve=True) for name in TODAYS}
    return DictConfig({name: check.safe[name] for name in recorded if name in check.safe} | todays)


def settings_in(text: str) -> dict[str, Any]:
    """The settings in a run's `config/config.yaml`, unchecked. Raises `ConfigError` if it cannot be read."""
    try:
        recorded = from_yaml(text)
    except MalformedError as error:
        raise ConfigError(f"config.yaml of the run cannot be read ({error})") from error
    if not isinstance(recorded, dict):
        raise ConfigError("config.yaml of the run holds no settings")
    return recorded


def set_setting(recorded: dict[str, Any], name: str, value: object) -> None:
    """Set a setting by its dotted name. Raises `ConfigError` if there is no such setting."""
    if not has_setting(recorded, name):
        raise ConfigError(f"{name}: the recorded configuration has no such setting")
    _holder(recorded, name)[name.rpartition(".")[2]] = value


def has_setting(recorded: dict[str, Any], name: str) -> bool:
    """Whether a record has a setting of this dotted name."""
    holder = _holder(recorded, name)
    return isinstance(holder, dict) and name.rpartition(".")[2] in holder


def _holder(recorded: dict[str, Any], name: str) -> Any:
    """The settings among which one stands, also in a group that is referred to."""
    node: Any = recorded
    for group in name.split(".")[:-1]:
        node = node.get(group) if isinstance(node, dict) else None
        if isinstance(node, str) and (reference := WHOLE.fullmatch(node)):
            node = recorded.get(reference[1])
    return node


@dataclass
class RecordCheck:
    """Checks what is read from a record, whoever has written it.

    Attributes:
        given: Texts that the user has given, which are allowed.
        modules: Modules whose classes the user allows.
        recorded: The record, whose groups others may be made of; empty if there is none.
        safe: The groups and settings that were checked, with this machine's store and absolute paths of the project.
        unnamed: What is allowed only if the user names it: by its name the value, why, and what to give.
    """

    given: Sequence[str]
    modules: Sequence[str]
    recorded: Mapping[str, Any] = field(default_factory=dict)
    safe: dict[str, Any] = field(default_factory=dict)
    unnamed: dict[str, tuple[str, str, str]] = field(default_factory=dict)
    _open: list[str] = field(default_factory=list)  # groups that refer to one another, from the task on
    _nodes: int = 0

    def group(self, name: str, hint: Any = None, mark: Mark | None = None) -> None:
        """Check a group or setting of the record by the annotation of what takes it."""
        if name in self._open:
            raise ConfigError(f"{name}: refers to itself")
        self._open.append(name)
        self.safe[name] = self.node(name, self.recorded[name], hint, mark)
        self._open.pop()

    def node(self, name: str, node: object, hint: Any = None, mark: Mark | None = None) -> Any:
        """The node as it may be built, by the annotation of its place.

        Raises:
            ConfigError: For the first thing in it that is not allowed.
        """
        kind = optional(hint)
        self._nodes += 1
        if self._nodes > MOST_NODES:  # building them would not end
            raise ConfigError(f"{name}: the task refers to more than {MOST_NODES:,} settings")
        if node == "${store}" or (isinstance(node, dict) and node.get(TARGET) == STORE and kind in (None, Store)):
            return "${store}"
        if isinstance(node, str) and (reference := WHOLE.fullmatch(node)) and reference[1] in self.recorded:
            self._reference(name, reference[1], hint, mark)
            return node
        if is_component(kind) and not isinstance(node, dict if kind is hint else dict | None):
            fault = f"{name}: found {node!r}"  # an option of this machine, given by name, need not be what was measured
            raise ConfigError(f"{fault}, expected a {kind.__name__}: _target_ and its arguments")
        if isinstance(node, dict):
            return self._settings(name, node, hint, mark)
        if isinstance(node, list):
            return [self.node(f"{name}.{number}", item, inner_hint(hint), mark) for number, item in enumerate(node)]
        if isinstance(node, str):
            self._text(name, node, mark)
            return str(placed(node)) if "/" in node and placed(node).exists() else node
        if not isinstance(node, bool | int | float | None):
            raise ConfigError(f"{name}: found {node!r}, expected a plain value")
        return node

    def _reference(self, name: str, group: str, hint: Any, mark: Mark | None) -> None:
        """Check a group or setting of the record as what would stand here in its place."""
        value = self.recorded[group]
        if isinstance(value, dict | list) and TARGET not in value and settings_class(hint) is None:
            raise ConfigError(f"{name}: found ${{{group}}}, which is no component")
        self.group(group, hint, mark)

    def _settings(self, name: str, node: Mapping[Any, object], hint: Any, mark: Mark | None) -> Any:
        made_by = self._made_by(name, node, hint)
        parameters = signature_of(made_by).parameters if made_by else {}
        safe = dict(node)
        for key, value in node.items():
            if not isinstance(key, str):
                raise ConfigError(f"{name}.{key}: found {key!r} as a setting's name, expected a string")
            self._text(f"{name}.{key}", key)
            parameter = parameters.get(key)
            inner = parameter.hint if parameter else inner_hint(hint)
            is_default = parameter and isinstance(value, str) and value == parameter.default
            if key != TARGET and not is_default:  # whoever reads the record would get that without the record
                safe[key] = self.node(f"{name}.{key}", value, inner, mark_of(inner) or mark)
        return safe

    def _made_by(self, name: str, node: Mapping[Any, object], hint: Any) -> Any:
        """The class or function that a node is built with; None for plain settings, or where it cannot be imported.

        Raises `ConfigError` for another one than an allowed module defines, or our configuration names and its place
        takes, and for arguments of Hydra itself.
        """
        made_by: Any = settings_class(hint)
        if TARGET in node:
            target = str(node[TARGET])
            made_by = _defined(target, self.modules)
            if not (isclass(made_by) or isroutine(made_by)):
                is_ours = target != STORE and is_configured(target)
                made_by = target_of(target) if is_ours else None
                if not (is_ours and _fits(made_by, hint)):
                    raise ConfigError(f"{name}.{TARGET}: {node[TARGET]} may not be built from a record; {ALLOW}")
        for key, value in node.items():
            of_function = key == PARTIAL and value is True and isroutine(made_by)
            if str(key).startswith("_") and key != TARGET and not of_function:
                raise ConfigError(f"{name}.{key}: found {value!r}; a recorded configuration of ours has no {key} here")
        return made_by

    def _text(self, name: str, value: str, mark: Mark | None = None) -> None:
        """Note a text that the user has to name. Raises `ConfigError` for one that is not allowed."""
        names = mark.names if mark else ""
        if value in self.given:
            return
        if "${" in value:
            raise ConfigError(f"{name}: found {value!r}, an interpolation; a recorded configuration holds plain values")
        if names == "code" and _defined(value, self.modules) is None:
            raise ConfigError(f"{name}: {value} may not be called by a record; {ALLOW}")
        if names == "data":
            self.unnamed[name] = value, "; a record names nothing of yours", value
        elif _is_outside(value):
            self.unnamed[name] = value, ", outside the project", "PATH"
        elif names in BUNDLED and value not in BUNDLED[names]:
            self.unnamed[name] = value, f"; a record loads no model but {MINILM}", "MODEL"
        elif names == "server" or "://" in value:
            self.unnamed[name] = value, "; a record names no server and no key", value

    def refuse_unnamed(self) -> None:
        """Raise `ConfigError` that names all settings that the user has to name."""
        if settings := [*self.unnamed.items()][:MOST_NAMED]:
            faults = "; ".join(f"{name}: found {value!r}{reason}" for name, (value, reason, _) in settings)
            raise ConfigError(f"{faults}; to allow, add: {' '.join(f'{name}={own}' for name, (*_, own) in settings)}")


@cache
def is_configured(target: str) -> bool:
    """Whether a group of this machine's configuration names this class or function."""
    for file in (file for conf in conf_folders() for file in conf.glob("*/*.yaml")):
        with suppress(yaml.YAMLError, OSError, RecursionError):  # Hydra says what is wrong with it when it is chosen
            text = file.read_text(encoding="utf-8", errors="replace")
            if target in text and (TARGET, target) in settings_within(yaml.safe_load(text)):
                return True
    return False


def _fits(made_by: Any, hint: Any) -> bool:
    """Whether what a class or function makes may stand where this annotation asks for a component."""
    kinds = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    kinds = tuple(get_args(kind)[0] if get_origin(kind) is Annotated else kind for kind in kinds)
    components = tuple(kind for kind in kinds if is_component(kind))
    if made_by is None or not components:
        return not {*kinds} <= {*PLAIN}  # a text or a number is no component
    made = made_by if isclass(made_by) else get_type_hints(made_by).get("return")
    return isclass(made) and issubclass(made, components)


def settings_within(node: Any) -> Iterator[tuple[object, Any]]:
    """All settings in a node, at any depth, by their last names; those of a list by number."""
    for key, value in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        yield key, value
        yield from settings_within(value)


def _defined(target: str, modules: Sequence[str]) -> Any:
    """What an allowed module defines under a dotted name; None where it does not, or where it only imports that.

    `mine.os.system` is imported. Of a method, the object and its class are looked at, too.
    """

    def is_allowed(module: object) -> bool:
        return any(f"{module}.".startswith(f"{allowed}.") for allowed in modules)

    path = target.replace(":", ".").split(".")
    steps = [step for end in range(1, len(path) + 1) if is_allowed(step := ".".join(path[:end]))]
    try:
        objects = [resolve_name(step) for step in steps]
    except Exception as error:  # importing a module can raise anything
        raise ConfigError(f"{target}: cannot be imported ({first_line(error)})") from error
    named = [value for value in objects if ismodule(value) or isroutine(value) or isclass(value)]  # not instances
    homes = [value.__name__ if ismodule(value) else getattr(value, "__module__", None) for value in named]
    return objects[-1] if objects and all(map(is_allowed, homes)) else None


def _is_outside(value: str) -> bool:
    """Whether a text is a path that may lead out of the project."""
    try:
        inside = (project() / value).resolve().is_relative_to(project())
    except (OSError, ValueError):  # no file can have such a path
        return True
    return not inside or value.startswith("~") or ".." in Path(value).parts
