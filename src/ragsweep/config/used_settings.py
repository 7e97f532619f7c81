"""The settings of a configuration by their paths, and which of them were used."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from typing import Any

from omegaconf import DictConfig, ListConfig, OmegaConf

from ragsweep.config.components import HYDRA_KEYS, parameters_of
from ragsweep.core.errors import ConfigError, first_line
from ragsweep.core.project import portable
from ragsweep.store.code import kind_of, name_of
from ragsweep.store.key_capabilities import HasFingerprint, LimitsSettings

STORE = "ragsweep.store.stage_store.Store"
PLAIN = (bool, int, float, str, type(None))


def settings_of_task(config: DictConfig, task: object) -> tuple[dict[str, Any], dict[str, object]]:
    """The settings that a run of a task uses, and the components and groups that they were read from, by their paths.

    Raises:
        ConfigError: The task does not keep one of its arguments, or a setting is smaller than the one that limits it.
    """
    without_effect = ("store", *declared(task, "without_effect", (tuple, list, set, frozenset), ()))
    taken = [name for name in parameters_of(config.task, config) if name in config and name not in without_effect]
    groups = {name: _kept_by(task, name) for name in taken if OmegaConf.is_config(config[name])}
    own = effective_settings(config, {"task": task})
    settings = effective_settings(config, groups) | {name: own[name] for name in own.keys() - {"task"}}
    settings |= {name: config[name] for name in taken if name not in groups}
    settings = {path: value for path, value in settings.items() if path not in without_effect}
    shown = short_paths(settings, config)
    parts = {path: part for path, _, part in used_components(config, {**groups, "task": task})}
    for path, part in parts.items():
        limits = declared(part, "at_least", (dict,), {}) if isinstance(part, LimitsSettings) else {}
        for name, other in limits.items():
            value, least = settings.get(f"{path}.{name}"), settings.get(other)
            if isinstance(value, int) and isinstance(least, int) and value < least:
                raise ConfigError(f"{shown[f'{path}.{name}']}: found {value}, expected at least {other} ({least})")
    return settings, parts


def _kept_by(task: object, name: str) -> Any:
    """An argument of the task that is a component or a group of settings."""
    try:
        return getattr(task, name)
    except AttributeError as error:
        raise ConfigError(
            f"task: {kind_of(task)} has no attribute {name}; it must keep its argument of this name"
        ) from error


def effective_settings(config: DictConfig, built: Mapping[str, object]) -> dict[str, Any]:
    """The settings that were used, flat, by their paths in the configuration.

    A value is read from the built object where that has an attribute of the setting's name. Groups that nothing uses
    are absent, and so is what an object lists as `without_effect`.

    Args:
        config: The configuration.
        built: Objects by the name of their node.
    """
    settings: dict[str, Any] = {}
    for path, node, part in used_components(config, built):
        if "_partial_" in node:
            arguments = ", ".join(f"{key}={_written(node[key])}" for key in map(str, node) if key not in HYDRA_KEYS)
            settings[path] = f"{node._target_}({arguments})"
            continue
        if "_target_" in node:
            settings[path] = str(node._target_) if OmegaConf.is_config(part) else name_of(part)
        if isinstance(part, HasFingerprint):
            settings[f"{path}.fingerprint"] = part.fingerprint
        for key, given, value in _arguments(node, part):
            if _has_parts(given):
                inner = ((f"{path}.{key}.{number}", each) for number, each in enumerate(given))
                settings |= {name: portable(each) for name, each in inner if not isinstance(each, DictConfig)}
            elif not isinstance(given, DictConfig):
                plain = OmegaConf.to_container(given) if isinstance(given, ListConfig) else given
                settings[f"{path}.{key}"] = portable(value if isinstance(value, PLAIN) else plain)
    return dict(sorted(settings.items()))


def used_components(config: DictConfig, built: Mapping[str, object]) -> Iterator[tuple[str, DictConfig, object]]:
    """Every component and group that is used, with its path and its node; arguments as of `effective_settings`."""
    for name, part in built.items():
        yield from _within(config[name], part, name)


def _within(node: DictConfig, part: object, path: str) -> Iterator[tuple[str, DictConfig, object]]:
    yield path, node, part
    for key, given, value in _arguments(node, part) if "_partial_" not in node else ():
        if isinstance(given, DictConfig):
            yield from _within(given, value, f"{path}.{key}")
        elif _has_parts(given):
            objects = value if isinstance(value, list | tuple) and len(value) == len(given) else given
            for number, each in enumerate(given):
                if isinstance(each, DictConfig):
                    yield from _within(each, objects[number], f"{path}.{key}.{number}")


def _arguments(node: DictConfig, part: object) -> Iterator[tuple[str, Any, Any]]:
    """The arguments of a node that have an effect: name, value as given, value as the object has it."""
    without_effect = declared(part, "without_effect", (tuple, list, set, frozenset), ())
    for key in map(str, node):
        given = node[key]
        if key in HYDRA_KEYS or key in without_effect:
            continue
        if isinstance(given, DictConfig) and given.get("_target_") == STORE:  # it changes no result
            continue
        yield key, given, _used(part, key, given)


def declared(part: object, name: str, kinds: tuple[type, ...], default: Any) -> Any:
    """What a component says of itself in an attribute, which a user's class may have got wrong.

    Args:
        part: The component.
        name: The attribute.
        kinds: The types that it may have.
        default: Its value for a component without it.

    Raises:
        ConfigError: It cannot be read, or has another type: names the class and the attribute.
    """
    try:
        value = getattr(part, name, default)
    except Exception as error:  # it may be a property, which can raise anything
        raise ConfigError(f"{kind_of(part)}.{name}: cannot be read ({first_line(error)})") from error
    if not isinstance(value, kinds):
        expected = " or ".join(kind.__name__ for kind in kinds)
        raise ConfigError(f"{kind_of(part)}.{name}: found a {type(value).__name__}, expected a {expected}")
    return value


def _has_parts(given: object) -> bool:
    """Whether an argument is a list in which some are components or groups."""
    return isinstance(given, ListConfig) and any(isinstance(each, DictConfig) for each in given)


def short_paths(settings: Mapping[str, Any], config: DictConfig) -> dict[str, str]:
    """The paths of settings, each with the name under which a user sets it.

    A group that a single part takes over, such as the encoder of the dense retriever, is named `encoder` instead of
    `retriever.dense.encoder`.
    """
    short = {path: path for path in settings}
    for group in (name for name in map(str, config) if name not in settings):
        paths = [path for path in short.values() if path.endswith(f".{group}")]
        if len(paths) == 1 and OmegaConf.select(config, paths[0]) == config[group]:
            within = re.compile(rf"{re.escape(paths[0])}(?=\.|$)")
            short = {path: within.sub(group, name, count=1) for path, name in short.items()}
    return short


def _used(part: object, key: str, given: Any) -> Any:
    """The value of the setting in the object; plain attributes of the class do not count."""
    if isinstance(part, Mapping):
        return part.get(key, given)
    in_class = inspect.getattr_static(type(part), key, None)
    computed = inspect.isdatadescriptor(in_class) or isinstance(in_class, cached_property)
    return getattr(part, key, given) if computed or key in getattr(part, "__dict__", ()) else given


def _written(value: Any) -> str:
    """An argument as text, in quotes where it could be read as another value or as several."""
    if not isinstance(value, str):
        return str(value)
    with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
        ast.literal_eval(value)
        return repr(value)
    return value if re.fullmatch(r"[\w.\-/ ]*", value) else repr(value)
