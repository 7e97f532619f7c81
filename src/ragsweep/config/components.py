"""Components: the objects that nodes of the configuration with `_target_` describe."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Container, Iterator
from contextlib import suppress
from functools import cache, partial
from pkgutil import resolve_name
from typing import Any, TypeVar

from hydra.errors import InstantiationException
from hydra.utils import instantiate
from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from ragsweep.config.rules import hints_of, is_group
from ragsweep.core.errors import ConfigError, RagsweepError, first_line
from ragsweep.core.plugins import is_ours
from ragsweep.store.code import digest_of_module

T = TypeVar("T")

HYDRA_UTILS = "hydra.utils."
CONVERT = {"_convert_": "all"}  # Hydra then passes plain lists and mappings


def build(node: DictConfig | ListConfig, name: str) -> Any:
    """Build the object that a node of the configuration describes.

    Args:
        node: Has `_target_`, and the arguments of the target; or a list or a mapping, in which components are built.
        name: The node's place in the configuration, for the error.
    """
    try:
        built = instantiate(node, **CONVERT) if "_convert_" not in node else instantiate(node)
    except InstantiationException as error:
        cause = error.__cause__
        if isinstance(cause, RagsweepError):
            raise cause from error
        reason = " ".join(str(cause or error).split())
        target = f" {node.get('_target_')}" if isinstance(node, DictConfig) and "_target_" in node else ""
        raise ConfigError(f"{name}:{target} cannot be built ({reason})") from error
    except OmegaConfBaseException as error:
        raise ConfigError(f"{name}: {first_line(error)}") from error
    if isinstance(built, partial):  # Hydra's own partial would repeat its checks at every call
        return partial(built.func, *built.args, **built.keywords)
    return built


def parameters_of(node: DictConfig, config: Container[object]) -> dict[str, object]:
    """The parameters, with their annotations, that a component takes from the configuration around its own node.

    A parameter with a default is left out if neither has it.
    """
    target = target_of(str(node._target_))
    if target is None:
        return {}
    parameters = inspect.signature(target).parameters
    taken = {
        name
        for name, parameter in parameters.items()
        if name not in node and (name in config or parameter.default is parameter.empty)
    }
    return {name: hint for name, hint in hints_of(target).items() if name in taken}


def build_around(config: DictConfig, name: str) -> Any:
    """Build a component; arguments that its own node lacks are taken from settings and groups of the same name.

    Args:
        config: The whole configuration.
        name: Of the component's node.
    """
    node = config[name]
    taken = {each: _taken(config, each, hint) for each, hint in parameters_of(node, config).items() if each in config}
    make = build(OmegaConf.create({**node, "_partial_": True}), name)
    try:
        return make(**taken)
    except TypeError as error:
        raise ConfigError(f"{name}: {node.get('_target_')} cannot be built ({first_line(error)})") from error


def _taken(config: DictConfig, name: str, hint: object) -> Any:
    node = config[name]
    if is_group(hint):
        return build_group(node, name, hint)
    return build(node, name) if OmegaConf.is_config(node) else node


def build_group(node: DictConfig, name: str, group: Callable[..., T]) -> T:
    """Build a group of settings; `name` is its place in the configuration."""
    return group(**{key: _members(node[key], f"{name}.{key}") for key in map(str, node)})


def _members(value: Any, name: str) -> Any:
    """A plain value, or a mapping in which components are built."""
    if not isinstance(value, DictConfig):
        return value
    each = {key: value[key] for key in map(str, value)}
    return {key: build(one, f"{name}.{key}") if OmegaConf.is_config(one) else one for key, one in each.items()}


@cache
def target_of(name: str) -> Callable[..., Any] | None:
    """The class or function of this name; None where there is none: building it will raise the error."""
    with suppress(Exception):  # importing a user's module can raise anything
        found: Callable[..., Any] = resolve_name(name)
        return found
    return None


def components(name: str, node: DictConfig) -> Iterator[tuple[str, DictConfig]]:
    """A component and those within it, also in its lists and mappings, by their paths."""
    if isinstance(node.get("_target_"), str):
        yield name, node
    for key in map(str, node):
        value = node[key]
        for at, part in enumerate(value) if isinstance(value, ListConfig) else [(None, value)]:
            if isinstance(part, DictConfig):
                yield from components(f"{name}.{key}" if at is None else f"{name}.{key}.{at}", part)


def digests_of_others(config: DictConfig) -> dict[str, str]:
    """Digest of the code of each class or function from outside ragsweep, by its dotted name."""
    nodes = [part for _, part in components("", config)]
    named = {str(node._target_) for node in nodes}  # hydra.utils.get_method returns what its `path` names
    named |= {str(node.get("path")) for node in nodes if str(node._target_).startswith(HYDRA_UTILS)}
    targets = {name: target_of(name) for name in sorted(named) if not is_ours(name)}
    return {name: digest_of_module(target.__module__) for name, target in targets.items() if target}
