"""Validates a configuration: every setting by the annotation of the class that it is handed to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from ragsweep.core.components import components, is_ours, target_of
from ragsweep.core.constraints import Rule, rules_of, shown
from ragsweep.core.errors import ConfigError
from ragsweep.core.settings import leaves

GROUPS = ("dataset", "chunker", "retriever")  # each is one component
SHARED = ("store", "encoder", "index")  # each is one, too, for whatever takes it over by interpolation
OPTIONAL = ("encoder", "index")  # what needs one says so


def check(config: DictConfig, settings: Mapping[str, Callable[..., Any]]) -> DictConfig:
    """The configuration with what it refers to filled in.

    Args:
        config: The configuration.
        settings: The annotated classes of the groups that are no component, by name; "" is the configuration itself.

    Raises:
        ConfigError: For the first setting that is missing or cannot be what it is.
    """
    with suppress(OmegaConfBaseException):  # `leaves` says better what is missing
        config = DictConfig(OmegaConf.to_container(config, resolve=True, throw_on_missing=True))
    for _ in leaves(config):  # each has a value
        pass
    for name in (*SHARED, *GROUPS):
        if config.get(name) is not None or name not in OPTIONAL:
            _check_component(name, config.get(name))
    for group, annotated in settings.items():
        for key, rule in rules_of(annotated).items():
            name = f"{group}.{key}" if group else key
            _check(name, OmegaConf.select(config, name), rule)
    metrics = OmegaConf.select(config, "evaluation.metrics")
    if not isinstance(metrics, DictConfig) or "f1" not in metrics:
        raise ConfigError("evaluation.metrics: f1 is missing; a sweep is decided by it")
    for name in map(str, metrics):
        _check_component(f"evaluation.metrics.{name}", metrics[name])
    _check_depths(config)
    return config


def _check(name: str, value: object, rule: Rule | None) -> None:
    found = OmegaConf.to_container(value) if OmegaConf.is_config(value) else value
    if rule and not rule.accepts(found):
        raise ConfigError(f"{name}: found {shown(found)}, expected {rule.expected}")


def _check_component(name: str, node: object) -> None:
    """Check the settings of a component, and of those within it, by the annotations of what they are handed to."""
    if not isinstance(node, DictConfig) or not isinstance(node.get("_target_"), str):
        _check(name, node, Rule("a mapping with _target_ and its arguments", lambda _: False))
        return
    for path, part in components(name, node):
        target = target_of(str(part._target_))
        for key, rule in (rules_of(target) if target else {}).items():
            if key in part:
                _check(f"{path}.{key}", part[key], rule)


def _check_depths(config: DictConfig) -> None:
    """Refuse a k that goes deeper than what a part of the retriever can give."""
    unused: tuple[str, ...] = ()
    for name, part in components("retriever", config.retriever):
        if not is_ours(part) or f"{name}.".startswith(unused or ("?",)):
            continue
        idle = {1: "sparse", 0: "dense"}.get(part.get("alpha"))
        unused += (f"{name}.{idle}.",) if idle else ()
        for setting in ("ef_search", *(() if idle else ("candidates",))):
            depth = part.get(setting)
            if isinstance(depth, int) and depth < config.k:
                group = name.rpartition(".")[2]
                shown_name = group if config.get(group) == part else name  # as its user sets it
                raise ConfigError(f"{shown_name}.{setting}: found {depth}, expected at least k ({config.k})")
