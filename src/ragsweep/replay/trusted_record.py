"""Checks the configuration of a recorded run before it is built: anybody may have written it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Literal, get_args, get_origin

import hydra
import yaml
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from ragsweep.config.components import parameters_of, signature_of, target_of
from ragsweep.config.ignored_input import refuse_repeated
from ragsweep.config.options import named_components, referenced_groups
from ragsweep.config.rules import is_component, is_group
from ragsweep.config.used_settings import STORE
from ragsweep.core.errors import ConfigError, first_line
from ragsweep.core.hydra_versions import VERSION_BASE
from ragsweep.core.parsing import MalformedError, from_yaml
from ragsweep.core.plugins import is_ours
from ragsweep.core.project import CONF, conf_folders, placed, project, register_resolvers
from ragsweep.models.encoders.model_files import MINILM, WORDLLAMA
from ragsweep.models.encoders.tokenizer import BY_WORDS
from ragsweep.replay.marked_settings import check_marked, mark_of
from ragsweep.replay.to_be_named import OUTSIDE, ToBeNamed

TODAYS = ("store", "tracking")  # groups that come from this machine's configuration, never from a record
PARTIAL = "_partial_"
KEY = "api_key_env"  # the environment variable with the key of an endpoint
HEADER_SETTINGS = ("headers", "headers_in_digest", "headers_env")  # of an endpoint: they may carry a key
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
        with hydra.initialize_config_dir(str(CONF), **VERSION_BASE):
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
    names = [name for name in referenced_groups() if name in recorded and name not in TODAYS]
    shared = [recorded[name] for name in names]
    recorded = {name: _shared(value, shared) for name, value in recorded.items() if name not in TODAYS}
    for name, value in overrides.items():
        set_setting(recorded, name, value)
    given = [value for value in overrides.values() if isinstance(value, str)]
    task = recorded.get("task")
    if not isinstance(task, dict) or not isinstance(task.get("_target_"), str):
        raise ConfigError("task: config.yaml of the run has no such group of settings")
    decision = recorded.get("decision")
    if not isinstance(decision, dict):
        raise ConfigError("decision: config.yaml of the run has no such group of settings")
    unnamed = ToBeNamed()
    check_node("task", task, given, modules, unnamed)  # first: what else is read depends on its class
    taken = parameters_of(task, recorded)
    recorded = {name: recorded[name] for name in ("task", *names, *taken) if name in recorded}
    recorded["decision"] = {**decision, "tokenizer": None}  # the task has it
    for name, parameter in taken.items():
        needed = name not in TODAYS and (is_component(parameter.hint) or is_group(parameter.hint))
        if needed and not isinstance(recorded.get(name), dict):
            raise ConfigError(f"{name}: config.yaml of the run has no such group of settings")
    for name in recorded:
        check_node(name, recorded[name], given, modules, unnamed)
    unnamed.refuse()
    recorded = placed_node(recorded, OmegaConf.to_container(today.store, resolve=True))
    recorded |= {name: OmegaConf.to_container(today[name], resolve=True) for name in TODAYS}
    for each in named_components(recorded):  # an option of this machine need not be what was measured
        raise ConfigError(f"{each.path}: found {each.name!r}, expected {each.expected}")
    return DictConfig(recorded)


def _shared(node: Any, shared: Sequence[object]) -> Any:
    """The same configuration, in which equal copies of a shared group are one object again."""
    if isinstance(node, dict):
        inner = {key: _shared(value, shared) for key, value in node.items()}
        return next((group for group in shared if group == node), inner)
    return [_shared(value, shared) for value in node] if isinstance(node, list) else node


def set_setting(recorded: dict[str, Any], name: str, value: object) -> None:
    """Set a setting by its dotted name. Raises `ConfigError` if there is no such setting."""
    *groups, last = name.split(".")
    node: Any = recorded
    for group in groups:
        node = node.get(group) if isinstance(node, dict) else None
    if not isinstance(node, dict) or last not in node:
        raise ConfigError(f"{name}: the recorded configuration has no such setting")
    node[last] = value


def check_node(name: str, node: object, given: Sequence[str], modules: Sequence[str], unnamed: ToBeNamed) -> None:
    """Raise `ConfigError` for the first thing in a node of the record that is not allowed, whoever names it.

    Args:
        name: The dotted name of the node.
        node: The node.
        given: Texts that the user has given, which are allowed.
        modules: Modules whose classes the user allows.
        unnamed: Gets what is allowed only if the user names it.
    """
    if _is_store(name, node):  # it is replaced by this machine's store
        return
    if isinstance(node, dict):
        free = isinstance(node.get("_target_"), str) and _within(node["_target_"], modules)
        for key, value in sorted(node.items(), key=lambda pair: pair[0] != "_target_"):  # before its class is imported
            inner = f"{name}.{key}"
            if not isinstance(key, str):
                raise ConfigError(f"{inner}: found {key!r} as a setting's name, expected a string")
            _note_path(inner, key, unnamed)
            if key.startswith("_") and not free:
                _check_argument_of_hydra(inner, value)
            if isinstance(value, str) and value not in given and (mark := mark_of(node, key)):
                check_marked(mark, inner, value, modules, unnamed)
                continue
            allowed = [*given, value] if key in ("model", KEY) and value in _choices(node, key) else given
            check_node(inner, value, allowed, modules, unnamed)
    elif isinstance(node, list):
        for number, value in enumerate(node):
            check_node(f"{name}.{number}", value, given, modules, unnamed)
    elif isinstance(node, str):
        if node not in given:
            _note_text(name, node, unnamed)
    elif not isinstance(node, bool | int | float | None):
        raise ConfigError(f"{name}: found {node!r}, expected a plain value")


def _choices(node: Mapping[str, object], setting: str) -> tuple[object, ...]:
    """The values that a class of ours lists for a setting, or the variable whose key it sends by default."""
    target = node.get("_target_")
    if not isinstance(target, str) or not is_ours(target):
        return ()
    parameter = signature_of(target_of(target)).parameters.get(setting)
    if setting == KEY:
        return (parameter.default,) if parameter else ()
    hint = parameter and parameter.hint
    return get_args(hint) if get_origin(hint) is Literal else ()


def _note_text(name: str, value: str, unnamed: ToBeNamed) -> None:
    _note_path(name, value, unnamed)
    if name in unnamed.found:
        return
    counts = name.endswith((".tokenizer", ".tokenizer.model")) and value == WORDLLAMA
    if name.endswith((".model", ".tokenizer")) and value not in (MINILM, BY_WORDS) and not counts:
        unnamed.note(name, value, f"a record loads no model but {MINILM}", "MODEL")
    in_header = any(f".{setting}." in name for setting in HEADER_SETTINGS)
    if "://" in value or in_header or name.endswith(f".{KEY}"):
        unnamed.note(name, value, "a record names no server and no key", value)


def _note_path(name: str, value: str, unnamed: ToBeNamed) -> None:
    """Note a text that is a path outside the project. Raises `ConfigError` for an interpolation."""
    if "${" in value:
        raise ConfigError(f"{name}: found {value!r}, an interpolation; a recorded configuration holds plain values")
    try:
        inside = (project() / value).resolve().is_relative_to(project())
    except (OSError, ValueError):  # no file can have such a path
        inside = False
    if not inside or value.startswith("~") or ".." in Path(value).parts:
        unnamed.note(name, value, OUTSIDE, "PATH")


def _check_argument_of_hydra(name: str, value: object) -> None:
    """Raise `ConfigError` unless our own configuration has this in the same group: a `_target_`, or `_partial_`."""
    *parents, key = name.split(".")
    groups = (OTHER_NAMES.get(each, each) for each in reversed(parents))
    ours = next((found for found in map(targets, groups) if found), frozenset())
    if key == "_target_" and isinstance(value, str) and value in ours:
        return
    if key == "_partial_" and value is True and PARTIAL in ours:
        return
    if key == "_target_":
        raise ConfigError(f"{name}: {value} may not be built from a record; --allow MODULE permits a module of yours")
    raise ConfigError(f"{name}: found {value!r}; a recorded configuration of ours has no {key} here")


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
    own = {node["_target_"]} if isinstance(node.get("_target_"), str) else set()
    return own.union({PARTIAL} if node.get("_partial_") is True else set(), *map(_named_in, node.values()))


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


def _is_store(name: str, node: object) -> bool:
    return name.endswith((".store", ".embeddings")) and isinstance(node, dict) and node.get("_target_") == STORE


def placed_node(node: Any, store: Any, name: str = "") -> Any:
    """The record with this machine's store, and with absolute paths to files inside the project."""
    if _is_store(name, node):
        return store
    if isinstance(node, dict):
        return {key: placed_node(value, store, f"{name}.{key}") for key, value in node.items()}
    if isinstance(node, list):
        return [placed_node(value, store) for value in node]
    if isinstance(node, str) and "/" in node and placed(node).exists():
        return str(placed(node))
    return node
