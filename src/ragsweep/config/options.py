"""Components that are given by the name of an option, and components that are shared until one of them is changed."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from typing import Any, NamedTuple, get_args, get_origin

from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from ragsweep.config.components import parameters_of, target_of
from ragsweep.config.rules import hints_of, is_component, optional, rule_of
from ragsweep.core.errors import ConfigError, first_line
from ragsweep.core.project import conf_folders, option_file, options_of

SHARED = ("encoder", "index", "fusion")  # components that others refer to; null where nothing needs them
GROUPS = {"Ranker": "retriever", "Rewriter": "query"}  # of components whose group has another name
DEEPEST = 8  # levels of options that name other options


class Named(NamedTuple):
    """A component that is given by a name.

    Attributes:
        path: Its place in the configuration.
        parent: The node that it is in.
        key: Its name there.
        name: Of the option.
        group: That has the options.
        expected: What a component of this type is, in words.
    """

    path: str
    parent: DictConfig
    key: str
    name: str
    group: str
    expected: str


def with_options(config: DictConfig) -> DictConfig:
    """The configuration, in which the file of an option stands where a component is given by its name.

    A string stands for a component where its parameter takes one and a group has options for it: the group that is
    named like the parameter, or else like the type of the component.

    Raises:
        ConfigError: There is no option of this name, or it is composed of other options.
    """
    for _ in range(DEEPEST):
        found = [*named_components(config)]
        if not found:
            return config
        config = copy.deepcopy(config)
        for each in named_components(config):
            each.parent[each.key] = _content(each)
    leads = "an option whose file names itself, or others that do"
    raise ConfigError(f"{found[0].path}: found {found[0].name!r}, {leads}")


@cache
def referenced_groups() -> list[str]:
    """The groups that a configuration file refers to as a whole, as `encoder: ${encoder}` does, sorted."""
    folders = conf_folders()
    texts = [file.read_text("utf-8", errors="replace") for conf in folders for file in sorted(conf.rglob("*.yaml"))]
    named = {name for text in texts for name in re.findall(r"\$\{(\w+)\}", text)}
    return sorted(name for name in named if any((conf / name).is_dir() for conf in folders))


def named_components(config: DictConfig) -> Iterator[Named]:
    """The components that are given by a name, in all that the task takes and in what they share."""
    task = config.get("task")
    if not isinstance(task, DictConfig) or not isinstance(task.get("_target_"), str):
        return
    hints = {key: hint for key, hint in parameters_of(task, config).items() if key in config}
    yield from _within("", config, hints, sorted({"task", *SHARED, *hints}))


def _within(
    path: str, node: DictConfig, hints: Mapping[str, object], keys: Iterable[str] | None = None
) -> Iterator[Named]:
    for key in keys or [*node]:
        if not _is_given(node, key):
            continue
        child, hint, where = node[key], hints.get(key), f"{path}.{key}" if path else str(key)
        if isinstance(child, DictConfig):
            yield from _within(where, child, _hints(child, hint))
        elif isinstance(child, ListConfig):
            for number in range(len(child)):
                if _is_given(child, number) and isinstance(child[number], DictConfig):
                    yield from _within(f"{where}.{number}", child[number], _hints(child[number], None))
        elif isinstance(child, str):
            kind = optional(hint) or hint
            if is_component(kind) and (group := _group(key, kind)):
                rule = rule_of(kind)
                yield Named(where, node, key, child, group, rule.expected if rule else "")


def _is_given(node: DictConfig | ListConfig, key: Any) -> bool:
    """Whether a node has a value of its own at a key: not missing, null, or a reference to another place."""
    if isinstance(node, DictConfig) and key not in node.keys():  # noqa: SIM118 - `in node` would follow a reference
        return False
    return not OmegaConf.is_interpolation(node, key) and not OmegaConf.is_missing(node, key) and node[key] is not None


def _hints(node: DictConfig, hint: object) -> Mapping[str, object]:
    """The annotations of what a component takes, or of the values of a mapping."""
    name = node["_target_"] if _is_given(node, "_target_") else None
    if isinstance(name, str):
        called = target_of(name)
        return hints_of(called) if called else {}
    hint = optional(hint) or hint
    return dict.fromkeys(map(str, node), get_args(hint)[1]) if get_origin(hint) is Mapping else {}


def _group(key: str, kind: Any) -> str | None:
    """The group whose options can be given for a parameter."""
    names = [key, kind.__name__.lower(), GROUPS.get(kind.__name__, "")]
    return next((name for name in names if name.isidentifier() and options_of(name)), None)


def _content(named: Named) -> Any:
    """The settings of an option, without what they refer to filled in."""
    file = option_file(named.group, named.name)
    if file is None:
        there_is = ", ".join(options_of(named.group))
        raise ConfigError(f"{named.path}: found {named.name!r}, expected one of {there_is}, or {named.expected}")
    try:
        content = OmegaConf.load(file)
    except (OSError, ValueError, YAMLError, OmegaConfBaseException) as error:
        raise ConfigError(f"{file}: {first_line(error)}") from error
    if "defaults" in content:
        what = f"{named.group}={named.name} is composed of other options"
        raise ConfigError(f"{named.path}: {what}, so it cannot be given by its name here; expected {named.expected}")
    settings = OmegaConf.select(content, named.group) if "_target_" not in content else content
    return settings  # null in an option such as `none`, which sets the group itself


def own_copy(config: DictConfig, setting: str) -> None:
    """Give what a setting is in a copy of its own, where it refers to another group: so only this one is changed.

    Where what it is in is given by the name of an option, the option's file takes its place.

    Raises:
        ConfigError: There is no option of this name, or it is composed of other options.
    """
    node: Any = config
    with suppress(OmegaConfBaseException):
        for key in setting.split(".")[:-1]:
            if not isinstance(node, DictConfig) or key not in node:
                return
            if OmegaConf.is_interpolation(node, key) and isinstance(node[key], DictConfig):
                node[key] = copy.deepcopy(node[key])
            elif isinstance(node[key], str):
                for each in named_components(config):
                    if each.parent is node and each.key == key:
                        node[key] = _content(each)
            node = node[key]
