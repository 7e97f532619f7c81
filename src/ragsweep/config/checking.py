"""Validates a configuration: every setting by the annotation of the class that it is handed to."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from typing import Any

from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from ragsweep.config.components import components, parameters_of, target_of
from ragsweep.config.options import SHARED, with_options
from ragsweep.config.rules import (
    Rule,
    as_configured,
    has_plain_values,
    hints_of,
    is_component,
    is_group,
    parameters,
    required,
    rule_of,
    rules_of,
)
from ragsweep.config.used_settings import HYDRA_KEYS, leaves, nearest
from ragsweep.core.digest import digest
from ragsweep.core.errors import ConfigError

NEEDED = ("task", "store")  # components that every run has

_passed: set[str] = set()  # digests of configurations that need not be checked again


def check(config: DictConfig, groups: Mapping[str, Callable[..., Any]]) -> DictConfig:
    """The configuration with what it refers to filled in.

    Args:
        config: The configuration.
        groups: The annotated classes of the groups that are not components, by name.

    Raises:
        ConfigError: For the first setting that is missing or invalid.
    """
    config = with_options(config)
    key = None
    with suppress(OmegaConfBaseException, ValueError):  # `leaves` and the rules have the better messages
        values = OmegaConf.to_container(config, resolve=True, throw_on_missing=True)
        config = DictConfig(values)
        key = digest([repr(values), sorted(groups)])
        if key in _passed:
            return config
    for _ in leaves(config):  # raises where a value is missing
        pass
    for name in NEEDED:
        check_component(name, config.get(name))
    for name in SHARED:
        if config.get(name) is not None:
            check_component(name, config.get(name))
    for name, hint in parameters_of(config.task, config).items():
        _check_parameter(name, OmegaConf.select(config, name), hint)
    for group, annotated in groups.items():
        _check_group(group, OmegaConf.select(config, group), annotated)
    if key:
        _passed.add(key)
    return config


def _check_parameter(name: str, value: object, hint: object) -> None:
    """Check what a task takes: a component, a group of settings, or a plain value."""
    if is_group(hint):
        _check_group(name, value, hint)
    elif is_component(hint):
        check_component(name, value)
    else:
        _check(name, value, rule_of(hint))
        for path, node in _components_in(name, value):
            check_component(path, node)


def _components_in(name: str, value: object) -> Iterator[tuple[str, DictConfig]]:
    """The components in a value that need not be one, such as a list: those that are not within another component."""
    if isinstance(value, DictConfig) and isinstance(value.get("_target_"), str):
        yield name, value
    elif isinstance(value, DictConfig):
        for key in map(str, value):
            yield from _components_in(f"{name}.{key}", value[key])
    elif isinstance(value, ListConfig):
        for number, each in enumerate(value):
            yield from _components_in(f"{name}.{number}", each)


def _check_names(name: str, node: DictConfig, known: Collection[str] | None) -> None:
    """Raise `ConfigError` for the first setting that is none of the known ones; None knows all."""
    for key in map(str, node):
        if known is not None and key not in known and key not in HYDRA_KEYS:
            hint = nearest(f"{name}.{key}", [f"{name}.{each}" for each in known])
            raise ConfigError(f"{name}.{key}: no such setting{hint}")


def _check_group(name: str, group: object, annotated: Callable[..., Any]) -> None:
    """Check the settings of a group. One that is not there takes its default if it has one."""
    if isinstance(group, DictConfig):
        _check_names(name, group, parameters(annotated))
    for key, rule in rules_of(annotated).items():
        if not isinstance(group, DictConfig) or key in group or key in required(annotated):
            _check(f"{name}.{key}", group.get(key) if isinstance(group, DictConfig) else None, rule)
    for path, node in _nodes(name, group, annotated) if isinstance(group, DictConfig) else ():
        check_component(path, node)


def _nodes(name: str, group: DictConfig, annotated: Callable[..., Any]) -> Iterator[tuple[str, object]]:
    """The components in the mappings of a group, such as its metrics."""
    plain = {key for key, hint in hints_of(annotated).items() if has_plain_values(hint)}
    for key in map(str, group):
        if isinstance(group[key], DictConfig) and key not in plain:
            yield from ((f"{name}.{key}.{inner}", group[key][inner]) for inner in map(str, group[key]))


def _check(name: str, value: object, rule: Rule | None) -> None:
    found = OmegaConf.to_container(value) if OmegaConf.is_config(value) else value
    if rule and not rule.accepts(found):
        raise ConfigError(f"{name}: found {as_configured(found)}, expected {rule.expected}")


def check_component(name: str, node: object) -> None:
    """Check the settings of a component, and of those within it, by the annotations of what they are handed to."""
    if not isinstance(node, DictConfig) or not isinstance(node.get("_target_"), str):
        _check(name, node, Rule("a mapping with _target_ and its arguments", lambda _: False))
        return
    for path, part in components(name, node):
        target = target_of(str(part._target_))
        if target:
            _check_names(path, part, parameters(target))
        for key, rule in (rules_of(target) if target else {}).items():
            if key in part:
                _check(f"{path}.{key}", part[key], rule)
