"""Components: the objects that nodes of the configuration with `_target_` describe, and what they are built with."""

from __future__ import annotations

import difflib
import inspect
import sys
from collections.abc import Callable, Container, Iterator, Mapping
from contextlib import suppress
from functools import cache
from pkgutil import resolve_name
from types import SimpleNamespace
from typing import Any, NamedTuple, get_type_hints

from omegaconf import DictConfig, OmegaConf

from ragsweep.config.rules import Rule, is_node, rule_of
from ragsweep.core.errors import first_line
from ragsweep.core.plugins import is_ours
from ragsweep.store.code import digest_of_module

REQUIRED = inspect.Parameter.empty  # in place of a default
HYDRA_UTILS = "hydra.utils."


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

    def accepts(self, value: object) -> bool:
        """Whether the annotation accepts a value, or it is the default, which it need not accept."""
        is_default = (type(value), value) == (type(self.default), self.default)
        return self.rule is None or self.rule.accepts(value) or is_default


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


def why_absent(name: str) -> str | None:
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


def parameters_of(node: Any, config: Container[object]) -> dict[str, object]:
    """The parameters, with their annotations, that a component takes from the configuration around its own node.

    A parameter with a default is left out if neither has it.
    """
    return {
        name: each.hint
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
