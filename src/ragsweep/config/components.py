"""Components: the objects that nodes of the configuration with `_target_` describe, and what they may be built with."""

from __future__ import annotations

import difflib
import inspect
import sys
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pkgutil import resolve_name
from types import SimpleNamespace
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints

from omegaconf import DictConfig, OmegaConf

from ragsweep.config.rules import Rule, as_configured, is_component, is_group, is_node, optional, rule_of
from ragsweep.core.errors import ConfigError
from ragsweep.core.plugins import is_ours
from ragsweep.store.code import digest_of_module

REQUIRED = inspect.Parameter.empty  # in place of a default
HYDRA_UTILS = "hydra.utils."
HYDRA_KEYS = ("_target_", "_partial_", "_recursive_", "_convert_")


class Parameter(NamedTuple):
    """What a class or function can be built with.

    Attributes:
        hint: Its annotation; None without one.
        default: Its default, or `REQUIRED`.
        rule: Of its values; None where all are accepted.
    """

    hint: object
    default: object
    rule: Rule | None

    def check(self, name: str, value: object) -> None:
        """Raise `ConfigError` unless the annotation accepts a value, or it is the default, which it need not accept."""
        is_default = (type(value), value) == (type(self.default), self.default)
        if self.rule and not is_default and not self.rule.accepts(value):
            raise _refused(name, value, self.rule.expected)


class Signature(NamedTuple):
    """The parameters of a class or function by name, and whether it takes others as well."""

    parameters: Mapping[str, Parameter]
    takes_others: bool


@cache
def target_of(name: str) -> Callable[..., Any] | None:
    """The class or function of this name; None where there is none: building it will raise the error."""
    with suppress(Exception, SystemExit):  # importing a user's module can raise anything
        found: Callable[..., Any] = resolve_name(name)
        return found
    return None


@cache
def signature_of(target: Callable[..., Any] | None) -> Signature:
    """The signature of a class or function; one that there is not, or that cannot be read, takes anything."""
    try:
        found = inspect.signature(target).parameters.values() if target else None
    except (TypeError, ValueError):  # one that is written in C
        found = None
    if found is None:
        return Signature({}, True)
    annotated: Any = target
    if inspect.isclass(target):  # the class whose `__init__` is called, and its fields where they make it
        made_by = next(each for each in target.__mro__ if "__init__" in vars(each))
        annotated = made_by if "__dataclass_fields__" in vars(made_by) else vars(made_by)["__init__"]
    hints = _hints_of(annotated)
    named = [each for each in found if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)]
    parameters = {
        name: Parameter(hints.get(name), default, rule_of(hints.get(name)))
        for name, default in ((each.name, each.default) for each in named)
    }
    return Signature(parameters, any(each.kind is each.VAR_KEYWORD for each in found))


def _hints_of(annotated: Any) -> Mapping[str, object]:
    """The annotations of a class or function; one that cannot be resolved, as it can be any code, is left out."""
    with suppress(Exception):
        return get_type_hints(annotated, include_extras=True)
    hints: dict[str, object] = {}
    for each in reversed(annotated.__mro__) if inspect.isclass(annotated) else [inspect.unwrap(annotated)]:
        names = vars(sys.modules[each.__module__]) if each.__module__ in sys.modules else {}
        for name, hint in inspect.get_annotations(each).items():
            with suppress(Exception):
                hints |= get_type_hints(SimpleNamespace(__annotations__={name: hint}), names, include_extras=True)
    return hints


def parameters_of(node: Any, config: Container[object]) -> dict[str, Parameter]:
    """The annotated parameters that a component takes from the configuration around its own node.

    A parameter with a default is left out if neither has it.
    """
    return {
        name: each
        for name, each in signature_of(target_of(str(node["_target_"]))).parameters.items()
        if each.hint is not None and name not in node and (name in config or each.default is REQUIRED)
    }


def components(name: str, value: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The components in a plain value by their paths: itself, and those in its mappings and lists."""
    if is_node(value):
        yield name, value
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield from components(f"{name}.{key}", part)


def digests_of_others(config: DictConfig) -> dict[str, str]:
    """Digest of the code of each class or function from outside ragsweep, by its dotted name."""
    nodes = [part for _, part in components("", OmegaConf.to_container(config, resolve=True))]
    named = {str(node["_target_"]) for node in nodes}  # hydra.utils.get_method returns what its `path` names
    named |= {str(node.get("path")) for node in nodes if str(node["_target_"]).startswith(HYDRA_UTILS)}
    targets = {name: target_of(name) for name in sorted(named) if not is_ours(name)}
    return {name: digest_of_module(target.__module__) for name, target in targets.items() if target}


def check_component(name: str, node: object) -> None:
    """Check the settings of a component, and of those within it, by the annotations of what they are handed to.

    Args:
        name: The node's place in the configuration, for the error.
        node: Of the configuration, as plain mappings, lists and values.
    """
    if not is_node(node):
        raise _refused(name, node, "a mapping with _target_ and its arguments")
    _check_components(name, node)


def check_argument(name: str, value: object, parameter: Parameter) -> None:
    """Check what a component takes from the configuration around its node: a group, a component, or a plain value."""
    if is_group(parameter.hint):
        check_group(name, value, parameter.hint)
    elif is_component(parameter.hint):
        check_component(name, value)
    else:
        parameter.check(name, value)
        _check_components(name, value)


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
        if name in settings:
            parameter.check(f"{prefix}{name}", settings[name])


def check_group(name: str, group: object, kind: Callable[..., Any]) -> None:
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


def nearest(word: str, known: Sequence[str]) -> str:
    """' (did you mean ...?)' for the known name most like `word`, or the names of its group, or both."""
    group, _, last = word.rpartition(".")
    known = [name for name in known if not name.endswith("_")]  # not _target_ and its like
    beside = [name for name in known if name.rpartition(".")[0] == group]
    has = f"{group} has {', '.join(name.rpartition('.')[2] for name in beside)}" if group and beside else ""
    for names, cutoff, before in ((beside, 0.7, ""), (known, 0.75, has)):  # of other groups must be more alike
        by_last = {name.rpartition(".")[2].casefold(): name for name in names}
        if close := difflib.get_close_matches(last.casefold(), list(by_last), n=1, cutoff=cutoff):
            return f" ({before}{'; ' if before else ''}did you mean {by_last[close[0]]}?)"
    return has and f" ({has})"
