"""Components that are given by the name of an option, and components that several others share."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from typing import Any, NamedTuple, get_args, get_origin

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from ragsweep.config.components import parameters_of, signature_of, target_of
from ragsweep.config.rules import is_component, is_node, optional, rule_of
from ragsweep.core.errors import ConfigError, first_line
from ragsweep.core.project import conf_folders, option_file, options_of

SHARED = ("encoder", "index", "fusion")  # components that others refer to; null where nothing needs them
GROUPS_NAMED_OTHERWISE = {"Ranker": "retriever", "Rewriter": "query"}  # of components whose group has another name
MOST_LEVELS = 8  # levels of options that name other options


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
    parent: dict[str, Any]
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
    nodes: Any = OmegaConf.to_container(config)
    for level in range(MOST_LEVELS + 1):
        found = [*named_components(nodes)]
        if not found:
            return OmegaConf.create(nodes) if level else config
        for each in found:
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


@cache
def option_of_class(group: str, kind: str, settings: frozenset[tuple[str, str]] = frozenset()) -> str:
    """The option of a group that makes a component of this class; the class itself if not exactly one does.

    Args:
        group: The group; another name has no options.
        kind: The name of the class, as `name_of` returns it.
        settings: Those of the component, with their values as text: of several options, the one that has these counts.
    """
    if not group.isidentifier():  # a record may name any path
        return kind
    target = re.compile(rf"^_target_: *(?:\S+\.)?{re.escape(kind)}(?:\s|$)", re.MULTILINE)
    files = {name: option_file(group, name) for name in options_of(group)}
    found = [name for name, file in files.items() if file and target.search(file.read_text("utf-8", errors="replace"))]
    if len(found) > 1:
        found = [name for name in found if _may_have(Named("", {}, "", name, group, ""), dict(settings))]
    return found[0] if len(found) == 1 else kind


def _may_have(option: Named, settings: Mapping[str, str]) -> bool:
    """Whether the values in the file of an option are those of these settings, as far as they are given."""
    try:
        content = _content(option)
    except ConfigError:
        return False
    plain = {key: value for key, value in (content or {}).items() if "$" not in str(value) and key in settings}
    return bool(plain) and all(str(value) == settings[key] for key, value in plain.items())


def named_components(nodes: Mapping[str, Any]) -> Iterator[Named]:
    """The components that are given by a name, in all that the task takes and in what they share.

    Args:
        nodes: A configuration as plain mappings, lists and values, in which references are not filled in.
    """
    if is_node(nodes.get("task")):
        hints = {key: each.hint for key, each in parameters_of(nodes["task"], nodes).items() if key in nodes}
        yield from _within("", nodes, hints, sorted({"task", *SHARED, *hints}))


def _within(path: str, node: Any, hints: Mapping[str, object], keys: Iterable[str] = ()) -> Iterator[Named]:
    for key in keys or [*node]:
        child, hint, where = node.get(key), hints.get(key), f"{path}{key}"
        if isinstance(child, dict):
            yield from _within(f"{where}.", child, _hints(child, hint))
        elif isinstance(child, list):
            for number, each in enumerate(child):
                if isinstance(each, dict):
                    yield from _within(f"{where}.{number}.", each, _hints(each, None))
        elif isinstance(child, str) and child != "???" and "${" not in child:  # neither missing nor a reference
            kind = optional(hint) or hint
            if is_component(kind) and (group := _group(key, kind)):
                rule = rule_of(kind)
                yield Named(where, node, key, child, group, rule.expected if rule else "")


def _hints(node: Mapping[str, Any], hint: object) -> Mapping[str, object]:
    """The annotations of what a component takes, or of the values of a mapping."""
    if is_node(node):
        return {name: each.hint for name, each in signature_of(target_of(node["_target_"])).parameters.items()}
    hint = optional(hint) or hint
    return dict.fromkeys(node, get_args(hint)[1]) if get_origin(hint) is Mapping else {}


def _group(key: str, kind: Any) -> str | None:
    """The group whose options can be given for a parameter."""
    names = [key, kind.__name__.lower(), GROUPS_NAMED_OTHERWISE.get(kind.__name__, "")]
    return next((name for name in names if name.isidentifier() and options_of(name)), None)


def _content(named: Named) -> Any:
    """The settings of an option as plain values, without what they refer to filled in."""
    file = option_file(named.group, named.name)
    if file is None:
        there_is = ", ".join(options_of(named.group))
        raise ConfigError(f"{named.path}: found {named.name!r}, expected one of {there_is}, or {named.expected}")
    try:
        content: Any = OmegaConf.to_container(OmegaConf.load(file))
    except (OSError, ValueError, YAMLError, OmegaConfBaseException) as error:
        raise ConfigError(f"{file}: {first_line(error)}") from error
    if "defaults" in content:
        what = f"{named.group}={named.name} is composed of other options"
        raise ConfigError(f"{named.path}: {what}, so it cannot be given by its name here; expected {named.expected}")
    return content if "_target_" in content else content.get(named.group)  # null in an option such as `none`


def own_copy(config: DictConfig, setting: str) -> None:
    """Replace a reference to a group by a copy, so that changing the setting changes this place only.

    Where a component is given by the name of an option, the settings of the option take its place.

    Raises:
        ConfigError: There is no option of this name, or it is composed of other options.
    """
    node: Any = config
    path: list[str] = []
    with suppress(OmegaConfBaseException):
        for key in setting.split(".")[:-1]:
            if not isinstance(node, DictConfig) or key not in node:
                return
            path.append(key)
            if OmegaConf.is_interpolation(node, key) and isinstance(node[key], DictConfig):
                node[key] = copy.deepcopy(node[key])
            elif isinstance(node[key], str):
                nodes: Any = OmegaConf.to_container(config)
                for each in named_components(nodes):
                    if each.path == ".".join(path):
                        node[key] = _content(each)
            node = node[key]
