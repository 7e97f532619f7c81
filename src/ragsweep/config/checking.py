"""Checks every setting by the annotation of its parameter, then builds the objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, get_args, get_origin

from hydra.errors import InstantiationException
from hydra.utils import instantiate
from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from ragsweep.config.components import REQUIRED, components, parameters_of, signature_of, target_of, why_absent
from ragsweep.config.options import SHARED, with_options
from ragsweep.config.rules import as_configured, is_component, is_group, is_node, optional, rule_of
from ragsweep.config.used_settings import HYDRA_KEYS, leaves, nearest
from ragsweep.core.errors import ConfigError, RagsweepError, Terminated, first_line

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
    for name, hint in parameters_of(values["task"], values).items():
        value = values.get(name)
        if is_group(hint):
            _check_group(name, value, hint)
        elif is_component(hint):
            check_component(name, value)
        else:
            rule = rule_of(hint)
            if rule and not rule.accepts(value):
                raise _refused(name, value, rule.expected)
            _check_components(name, value)
    for name, kind in groups.items():
        _check_group(name, values.get(name), kind)
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


def check_component(name: str, node: object) -> None:
    """Check the settings of a component, and of those within it, by the annotations of what they are handed to.

    Args:
        name: The node's place in the configuration, for the error.
        node: Of the configuration, as plain mappings, lists and values.
    """
    if not is_node(node):
        raise _refused(name, node, "a mapping with _target_ and its arguments")
    _check_components(name, node)


def _check_components(name: str, value: object) -> None:
    for path, part in components(name, value):
        check_settings(f"{path}.", part, target_of(part["_target_"]))


def check_settings(prefix: str, settings: Mapping[str, Any], target: Callable[..., Any] | None) -> None:
    """Check settings by the annotations of what takes them, but not the components among them.

    Args:
        prefix: Of their names in an error.
        settings: By name; the target may have further ones.
        target: A class or function; None takes anything.
    """
    signature = signature_of(target)
    for name in settings:
        if not signature.takes_others and name not in signature.parameters and name not in HYDRA_KEYS:
            near = nearest(f"{prefix}{name}", [f"{prefix}{each}" for each in signature.parameters])
            raise ConfigError(f"{prefix}{name}: no such setting{near}")
    for name, parameter in signature.parameters.items():
        if name in settings and parameter.rule and not parameter.accepts(settings[name]):
            raise _refused(f"{prefix}{name}", settings[name], parameter.rule.expected)


def _check_group(name: str, group: object, kind: Callable[..., Any]) -> None:
    """Check the settings of a group. One that is not there takes its default if it has one."""
    parameters = signature_of(kind).parameters
    needed = (key for key, each in parameters.items() if each.default is REQUIRED or not isinstance(group, dict))
    settings = {**dict.fromkeys(needed), **(group if isinstance(group, dict) else {})}
    check_settings(f"{name}.", settings, kind)
    for key, each in parameters.items():
        hint: Any = optional(each.hint) or each.hint
        value: Any = settings.get(key)
        if get_origin(hint) is Mapping and rule_of(get_args(hint)[1]) is None:  # functions, such as metrics
            for inner in value or {}:
                check_component(f"{name}.{key}.{inner}", value[inner])
        else:
            _check_components(f"{name}.{key}", value)


def _refused(name: str, value: object, expected: str) -> ConfigError:
    return ConfigError(f"{name}: found {as_configured(value)}, expected {expected}")


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
        reason = why_absent(str(node["_target_"])) or " ".join(str(cause or error).split())
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
    hints = {key: hint for key, hint in parameters_of(node, config).items() if key in config}
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
