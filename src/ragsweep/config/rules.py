"""The values that a setting may have, read from the annotation of the parameter that it is passed to.

    alpha: Annotated[float, Between(0, 1)]
    stemmer: str | None

The annotation gives both the check and the text of the error. It works for users' classes, too.
"""

from __future__ import annotations

import inspect
import sys
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from math import inf
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, TypeGuard, Union, get_args, get_origin, get_type_hints

from ragsweep.core.limits import Between, NotEmpty
from ragsweep.core.plugins import is_ours

LONGEST = 200  # characters of a value in an error
LARGEST_WHOLE = 2**63 - 1


class Rule(NamedTuple):
    """The values that a setting may have, in words and as a check."""

    expected: str
    accepts: Callable[[Any], bool]


class Group:
    """Settings that belong together, which the configuration has without a `_target_`."""


def is_group(hint: object) -> TypeGuard[type[Group]]:
    """Whether a parameter takes a group of settings."""
    return inspect.isclass(hint) and issubclass(hint, Group)


def rule_of(hint: object) -> Rule | None:
    """The rule that an annotation stands for; None where there is nothing to check."""
    if get_origin(hint) is Annotated:
        kind, *constraints = get_args(hint)
        if optional(kind):  # Annotated[int | None, Between(1)] means what Annotated[int, Between(1)] | None does
            rule = rule_of(Annotated[optional(kind), *constraints])
            return rule and or_null(rule)
        for constraint in constraints:
            if isinstance(constraint, Between) and kind in (int, float):
                return _number(whole=kind is int, within=constraint)
            if isinstance(constraint, NotEmpty):
                return Rule("a string that is not empty", lambda value: isinstance(value, str) and value.strip() != "")
        return rule_of(kind)
    if get_origin(hint) is Literal:
        options = [(type(option), option) for option in get_args(hint)]
        words = {None: "null", True: "true", False: "false"}
        expected = " or ".join(words[each] if isinstance(each, bool | None) else str(each) for _, each in options)
        return Rule(expected, lambda value: (type(value), value) in options)
    if optional(hint):
        rule = rule_of(optional(hint))
        return rule and or_null(rule)
    if hint is bool:
        return Rule("true or false", lambda value: isinstance(value, bool))
    if hint in (int, float):
        return _number(whole=hint is int)
    if hint is str:
        return Rule("a string", lambda value: isinstance(value, str))
    if get_origin(hint) in (Mapping, Sequence, list, tuple):
        return _several(hint)
    if is_component(hint):
        name = getattr(hint, "__name__", "")
        expected = f"the settings of a{'n' if name[:1] in 'AEIOU' else ''} {name}: _target_ and its arguments"
        return Rule(expected, lambda value: isinstance(value, Mapping) and isinstance(value.get("_target_"), str))
    return None


def _several(hint: object) -> Rule:
    """The rule of a list, or of a mapping by names."""
    inner = rule_of([each for each in get_args(hint) if each is not ...][-1])
    each = f", each {inner.expected}" if inner else ""

    def accepts(values: Iterable[object]) -> bool:
        return inner is None or all(map(inner.accepts, values))

    if get_origin(hint) is Mapping:
        return Rule(f"a mapping of names{each}", lambda value: isinstance(value, Mapping) and accepts(value.values()))
    return Rule(f"a list{each}", lambda value: isinstance(value, list | tuple) and accepts(value))


def has_plain_values(hint: object) -> bool:
    """Whether a parameter takes a mapping of plain values by name, not one of components."""
    hint = optional(hint) or hint
    return get_origin(hint) is Mapping and rule_of(get_args(hint)[1]) is not None


def or_null(rule: Rule) -> Rule:
    """The same rule, but null is accepted, too."""
    return Rule(f"{rule.expected}, or null", lambda value: value is None or rule.accepts(value))


def optional(hint: object) -> Any:
    """The other type of a hint such as `int | None`; None for any other hint."""
    if get_origin(hint) not in (Union, types.UnionType):
        return None
    kinds = [kind for kind in get_args(hint) if kind is not type(None)]
    return kinds[0] if len(kinds) == 1 and len(get_args(hint)) == 2 else None


@cache
def hints_of(target: Callable[..., Any]) -> Mapping[str, object]:
    """The annotations of a class's or function's parameters, by their names."""
    annotated: Any = target
    if inspect.isclass(target):  # the class whose `__init__` is called, and its fields where they make it
        made_by = next(each for each in target.__mro__ if "__init__" in vars(each))
        annotated = made_by if "__dataclass_fields__" in vars(made_by) else vars(made_by)["__init__"]
    with suppress(Exception):  # an annotation can be any code; one that cannot be resolved is ignored
        hints = get_type_hints(annotated, include_extras=True)
        return {name: hint for name, hint in hints.items() if name != "return" and get_origin(hint) is not ClassVar}
    return {}


@cache
def parameters(target: Callable[..., Any]) -> tuple[str, ...] | None:
    """The names of a class's or function's parameters; None if it takes others as well."""
    try:
        found = inspect.signature(target).parameters.values()
    except (TypeError, ValueError):  # one that is written in C
        return None
    anything = any(each.kind is each.VAR_KEYWORD for each in found)
    return None if anything else tuple(each.name for each in found)


@cache
def required(target: Callable[..., Any]) -> frozenset[str]:
    """The names of a class's or function's parameters that have no default."""
    found = inspect.signature(target).parameters.values()
    return frozenset(each.name for each in found if each.default is each.empty)


@cache
def rules_of(target: Callable[..., Any]) -> Mapping[str, Rule]:
    """The rules of a class's or function's parameters, by their names; each accepts the parameter's own default."""
    defaults: Mapping[str, object] = {}
    with suppress(Exception):
        defaults = {each.name: each.default for each in inspect.signature(target).parameters.values()}
    rules = {name: rule_of(hint) for name, hint in hints_of(target).items()}
    return {name: _or_default(rule, defaults.get(name)) for name, rule in rules.items() if rule}


def _or_default(rule: Rule, default: object) -> Rule:
    return Rule(rule.expected, lambda value: rule.accepts(value) or (type(value), value) == (type(default), default))


def as_configured(value: object) -> str:
    """A value as an error shows it: as it is written in a configuration, cut where it is long."""
    if value is None:
        return "null"
    try:
        text = repr(value)
    except ValueError:  # Python refuses to print so many digits
        return "a number of thousands of digits"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def _number(*, whole: bool, within: Between | None = None) -> Rule:
    kinds = (int,) if whole else (int, float)

    def accepts(value: object) -> bool:
        if not isinstance(value, kinds) or isinstance(value, bool):
            return False
        bounds = within or Between(-inf)
        largest = LARGEST_WHOLE if whole else sys.float_info.max
        return -largest <= value <= largest and bounds.low <= value <= bounds.high  # NaN is not

    return Rule(f"a {'whole ' if whole else ''}number{f' {within}' if within else ''}", accepts)


def is_component(hint: object) -> bool:
    """Whether an annotation asks for an object that the configuration describes: our own class, or a plugin's."""
    return inspect.isclass(hint) and is_ours(hint.__module__)
