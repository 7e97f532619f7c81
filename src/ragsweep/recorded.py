"""What was read from a tracking store, where anybody may have written it: it is data, not a program."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import hydra
import yaml
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from ragsweep.config import CONF, PROJECT, register_resolvers
from ragsweep.errors import ConfigError, first_line

OURS = ("ragsweep.datasets", "ragsweep.retrieval", "ragsweep.evaluation")
STORE = "ragsweep.store.Store"
TODAYS = ("store", "tracking")  # places on this machine are chosen here, whatever the record says
SHARED = ("encoder", "index")  # groups that others take over by interpolation
GROUPS = ("dataset", "chunker", "encoder", "index", "retriever", "evaluation", "k", "seed")


def composed_today(overrides: Sequence[str]) -> tuple[DictConfig, dict[str, Any]]:
    """The configuration of this machine, and the settings that replace recorded ones.

    Args:
        overrides: `name=value`: where the stores and data of a record are on this machine.
    """
    register_resolvers()
    try:
        parsed = OverridesParser.create().parse_overrides(list(overrides))
        here = [str(each.input_line) for each in parsed if each.key_or_group.partition(".")[0] in TODAYS]
        with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
            today = hydra.compose("config", here)
        if OmegaConf.is_missing(today.tracking, "uri"):
            raise ConfigError("tracking.uri: expected the address of the tracking store")
        today.store.path = str(Path(today.store.path).resolve())
        settings = {each.key_or_group: _path(each.value()) for each in parsed if each.input_line not in here}
    except (HydraException, OmegaConfBaseException) as error:
        raise ConfigError(" ".join(str(error).split())) from error
    return today, settings


def _path(value: Any) -> Any:
    """A setting; where it names a file or folder here, in full."""
    return str(Path(value).resolve()) if isinstance(value, str) and os.sep in value and Path(value).exists() else value


def printable(text: str) -> str:
    """What a record says, without what a terminal would take for a command."""
    return "".join(each for each in text if each.isprintable() or each == "\n")


def trusted(text: str, today: DictConfig, overrides: Mapping[str, Any], modules: Sequence[str]) -> DictConfig:
    """The configuration of a recorded run, fit to be built here.

    Args:
        text: The run's `config/config.yaml`.
        today: A configuration composed here: gives the store of intermediate results and the tracking store.
        overrides: Settings given by the user of today, such as where a dataset lies on this machine.
        modules: Modules outside of ragsweep whose classes the record may name.

    Raises:
        ConfigError: The record names something that it may not: a class of another module, an interpolation, a path
            outside the project, a group that no configuration has.
    """
    try:
        recorded = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigError(f"config.yaml of the run cannot be read ({first_line(error)})") from error
    if not isinstance(recorded, dict):
        raise ConfigError("config.yaml of the run holds no settings")
    shared = [recorded[name] for name in SHARED if name in recorded]
    recorded = {name: _shared(recorded[name], shared) for name in GROUPS if name in recorded}
    for name, value in overrides.items():
        _set(recorded, name, value)
    store = OmegaConf.to_container(today.store, resolve=True)
    for name, value in _leaves(recorded):
        if isinstance(value, str) and value not in overrides.values():
            _check(name, value, modules)
    recorded = _placed(recorded, store)
    config = OmegaConf.create(recorded | {name: OmegaConf.to_container(today[name], resolve=True) for name in TODAYS})
    assert isinstance(config, DictConfig)
    return config


def _shared(node: Any, shared: Sequence[object]) -> Any:
    """The same with copies of shared groups, of which a resolved configuration has several, made one again."""
    if isinstance(node, dict):
        inner = {key: _shared(value, shared) for key, value in node.items()}
        return next((group for group in shared if group == node), inner)
    return [_shared(value, shared) for value in node] if isinstance(node, list) else node


def _set(recorded: dict[str, Any], name: str, value: object) -> None:
    *groups, last = name.split(".")
    node: Any = recorded
    for group in groups:
        node = node.get(group) if isinstance(node, dict) else None
    if not isinstance(node, dict) or last not in node:
        raise ConfigError(f"{name}: the recorded configuration has no such setting")
    node[last] = value


def _leaves(node: object, name: str = "") -> Iterator[tuple[str, object]]:
    """Every key and every value with its dotted name; but a store of intermediate results is not taken over at all."""
    if isinstance(node, dict) and node.get("_target_") == STORE:
        return
    if isinstance(node, dict | list):
        items = node.items() if isinstance(node, dict) else enumerate(node)
        for key, value in items:
            inner = f"{name}.{key}" if name else str(key)
            yield inner, str(key)
            yield from _leaves(value, inner)
    else:
        yield name, node


def _check(name: str, value: str, modules: Sequence[str]) -> None:
    if "${" in value:
        raise ConfigError(f"{name}: found {value!r}, an interpolation; a recorded configuration holds plain values")
    if name.rpartition(".")[2] == "_target_" and value != "_target_":
        _check_target(name, value, modules)
    if value.startswith("~") or not (PROJECT / value).resolve().is_relative_to(PROJECT):
        raise ConfigError(f"{name}: found {value!r}, outside the project; say where it is here: {name}=PATH")


def _check_target(name: str, value: str, modules: Sequence[str]) -> None:
    module, _, attribute = value.rpartition(".")
    if any(module == allowed or module.startswith(f"{allowed}.") for allowed in modules):
        return
    if any(module == ours or module.startswith(f"{ours}.") for ours in OURS):
        try:
            found = getattr(import_module(module), attribute)
        except (ImportError, AttributeError) as error:
            raise ConfigError(f"{name}: {value} does not exist here") from error
        own = str(getattr(found, "__module__", "")).startswith(OURS)
        if own and (inspect.isclass(found) or inspect.isfunction(found)):
            return
    raise ConfigError(f"{name}: {value} may not be built from a record; --allow MODULE permits a module of yours")


def _placed(node: Any, store: Any) -> Any:
    """The record with the store of today, and with paths inside the project made absolute again."""
    if isinstance(node, dict):
        if node.get("_target_") == STORE:
            return store
        return {key: _placed(value, store) for key, value in node.items()}
    if isinstance(node, list):
        return [_placed(value, store) for value in node]
    if isinstance(node, str) and "/" in node and (PROJECT / node).exists():
        return str(PROJECT / node)
    return node
