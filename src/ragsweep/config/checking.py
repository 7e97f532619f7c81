"""Checks every setting by the annotation of its parameter, then builds the objects."""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pkgutil import resolve_name
from typing import Any

from hydra.errors import InstantiationException
from hydra.utils import instantiate
from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.errors import InterpolationResolutionError, MissingMandatoryValue, OmegaConfBaseException

from ragsweep.config.components import check_argument, check_component, check_group, parameters_of
from ragsweep.config.options import SHARED, with_options
from ragsweep.config.rules import is_group
from ragsweep.core.errors import ConfigError, RagsweepError, Terminated, first_line
from ragsweep.core.project import options_of

NEEDED = ("task", "store")  # components that every run has
CONVERT = {"_convert_": "all"}  # Hydra then passes plain lists and mappings


def check(config: DictConfig, groups: Mapping[str, Callable[..., Any]]) -> DictConfig:
    """Check every setting, and return the configuration with its references filled in.

    Args:
        config: The configuration.
        groups: The annotated classes of the groups that are not components, by name.

    Raises:
        ConfigError: For the first setting that is missing or invalid.
    """
    values = plain(with_options(config))
    for name in (*NEEDED, *(name for name in SHARED if values.get(name) is not None)):
        check_component(name, values.get(name))
    for name, parameter in parameters_of(values["task"], values).items():
        check_argument(name, values.get(name), parameter)
    for name, kind in groups.items():
        check_group(name, values.get(name), kind)
    return DictConfig(values)


def plain(config: DictConfig) -> dict[str, Any]:
    """A configuration as plain mappings, lists and values. Raises `ConfigError` where it lacks a value."""
    try:
        values: Any = OmegaConf.to_container(config, resolve=True, throw_on_missing=True)
    except (OmegaConfBaseException, ValueError) as error:
        for _ in leaves(config):  # has the better messages
            pass
        raise ConfigError(first_line(error)) from error
    for _ in leaves(values):  # refuses names that are no texts
        pass
    return dict(values)


def leaves(config: Mapping[Any, Any] | DictConfig, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every setting as `(dotted.name, resolved value)`; raise `ConfigError` where one has no value."""
    for key in config:
        name = prefix + str(key)
        if not isinstance(key, str):
            raise ConfigError(f"{name}: found {key!r} as a name, expected a string; put it in quotes")
        try:
            value = config[key]
        except MissingMandatoryValue as error:
            name = error.full_key or name  # of the node itself, which another group may refer to
            raise ConfigError(f"{name}: no value; set it with {name}=VALUE") from error
        except InterpolationResolutionError as error:
            missing = re.search(r"[Mm]issing mandatory value: (\S+)", str(error))
            if missing:
                raise ConfigError(f"{missing.group(1)}: no value; set it with {missing.group(1)}=VALUE") from error
            absent = re.fullmatch(r"Interpolation key '(([^'.]+)[^']*)' not found", first_line(error))
            if absent and (options := options_of(absent[2])):
                if absent[1] == absent[2]:
                    raise ConfigError(
                        f"{absent[1]}: nothing is chosen; expected one of {', '.join(options)}"
                    ) from error
                raise ConfigError(
                    f"{absent[1]}: {name} is made of it, but what is chosen has no such setting"
                ) from error
            raise ConfigError(f"{name}: {first_line(error)}") from error
        if isinstance(value, dict | DictConfig):
            yield from leaves(value, f"{name}.")
        else:
            yield name, value


def _why_absent(name: str) -> str | None:
    """Why there is no class or function of this name, and what may be meant; None where there is one."""
    try:
        resolve_name(name)
    except (Exception, SystemExit) as error:
        module, _, last = name.rpartition(".")
        there = dir(sys.modules[module]) if module in sys.modules else []
        close = difflib.get_close_matches(last, [each for each in there if not each.startswith("_")], n=1)
        meant = f"; did you mean {module}.{close[0]}?" if close else ""
        return f"{type(error).__name__}: {first_line(error)}{meant}"
    return None


def build(node: Any, name: str, kind: Callable[..., Any] | None = None) -> Any:
    """Build what a node of the configuration describes.

    Args:
        node: A component, which has `_target_`; a list or mapping, in which components are built; or a plain value.
        name: The node's place in the configuration, for the error.
        kind: The class of a group of settings.
    """
    if kind is not None:
        return kind(**build(node, name))
    if isinstance(node, ListConfig):
        return [build(each, f"{name}.{number}") for number, each in enumerate(node)]
    if not isinstance(node, DictConfig):
        return node
    if "_target_" not in node:
        return {key: build(node[key], f"{name}.{key}") for key in map(str, node)}
    try:
        built = instantiate(node, **CONVERT) if "_convert_" not in node else instantiate(node)
    except InstantiationException as error:
        cause = error.__cause__
        if isinstance(cause, RagsweepError):
            raise cause from error
        reason = _why_absent(str(node["_target_"])) or " ".join(str(cause or error).split())
        raise ConfigError(f"{name}: {node.get('_target_')} cannot be built ({reason})") from error
    except OmegaConfBaseException as error:
        raise ConfigError(f"{name}: {first_line(error)}") from error
    except SystemExit as error:  # a user's code must not end a run as if it had succeeded
        if isinstance(error, Terminated):
            raise
        raise ConfigError(f"{name}: {node.get('_target_')} called sys.exit({error.code})") from error
    if isinstance(built, partial):  # Hydra's own partial would repeat its checks at every call
        return partial(built.func, *built.args, **built.keywords)
    return built


def build_around(config: DictConfig, name: str) -> Any:
    """Build a component; arguments that its own node lacks are taken from settings and groups of the same name.

    Args:
        config: The whole configuration, checked.
        name: Of the component's node.
    """
    node = config[name]
    hints = {key: each.hint for key, each in parameters_of(node, config).items() if key in config}
    taken = {key: build(config[key], key, hint if is_group(hint) else None) for key, hint in hints.items()}
    make = build(OmegaConf.create({**node, "_partial_": True}), name)
    try:
        return make(**taken)
    except TypeError as error:
        raise ConfigError(f"{name}: {node.get('_target_')} cannot be built ({first_line(error)})") from error


def checked_and_built(name: str, node: Any) -> Any:
    """Check a component of a configuration whose other parts are not checked, and build it."""
    check_component(name, OmegaConf.to_container(node, resolve=True) if OmegaConf.is_config(node) else node)
    return build(node, name)
