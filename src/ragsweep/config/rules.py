"""The values that a setting may have, read from the annotation of the parameter that it is passed to.

    alpha: Annotated[float, Between(0, 1)]
    stemmer: str | None

The annotation gives both the check, which pydantic makes, and the text of the error. It works for users' classes, too,
and with every constraint of `annotated_types`.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple
from functools import cache, partial
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TypeGuard, Union, get_args, get_origin

from annotated_types import BaseMetadata, Ge, GroupedMetadata, Gt, Le, Lt, MaxLen, MinLen, MultipleOf, Predicate

from ragsweep.core.plugins import is_ours

if TYPE_CHECKING:
    from pydantic import TypeAdapter

LONGEST_VALUE = 200  # characters of a value in an error
KINDS: Mapping[object, tuple[str, Any]] = {
    bool: ("true or false", bool),
    int: ("a whole number", Annotated[int, Ge(-(2**63)), Le(2**63 - 1)]),
    float: ("a number", float),
    str: ("a string", str),
}
CONSTRAINTS: Mapping[type, str] = {
    Ge: "of at least {}",
    Gt: "above {}",
    Le: "of at most {}",
    Lt: "below {}",
    MultipleOf: "that is a multiple of {}",
    MinLen: "of length {} or more",
    MaxLen: "of length {} or less",
}
LITERALS = {None: "null", True: "true", False: "false"}


class Rule(NamedTuple):
    """The values that a setting may have, in words and as a check."""

    expected: str
    accepts: Callable[[Any], bool]


class Group:
    """Settings that belong together, which the configuration has without a `_target_`."""


def is_group(hint: object) -> TypeGuard[type[Group]]:
    """Whether a parameter takes a group of settings."""
    return inspect.isclass(hint) and issubclass(hint, Group)


def is_component(hint: object) -> bool:
    """Whether an annotation asks for an object that the configuration describes: our own class, or a plugin's."""
    return inspect.isclass(hint) and is_ours(hint.__module__)


def is_node(value: object) -> bool:
    """Whether a plain value describes a component."""
    return isinstance(value, Mapping) and isinstance(value.get("_target_"), str)


def optional(hint: object) -> Any:
    """The other type of a hint such as `int | None`; None for any other hint."""
    if get_origin(hint) not in (Union, types.UnionType):
        return None
    kinds = [kind for kind in get_args(hint) if kind is not type(None)]
    return kinds[0] if len(kinds) == 1 and len(get_args(hint)) == 2 else None


def rule_of(hint: object) -> Rule | None:
    """The rule that an annotation stands for; None where there is nothing to check."""
    read = _read(hint)
    return read and Rule(read[0], partial(_accepts, read[1]))


def _read(hint: object) -> tuple[str, Any] | None:
    """What an annotation expects in words, and as a type by which pydantic checks what was read from YAML."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        kind, *metadata = arguments
        if optional(kind):  # Annotated[int | None, Between(1)] means what Annotated[int, Between(1)] | None does
            return _read(Annotated[optional(kind), *metadata] | None)
        read, constraints = _read(kind), [*_constraints(metadata)]
        if not read or not constraints:
            return read
        what, *each = read[0].partition(", each ")
        return f"{what} {in_words(constraints)}{''.join(each)}", Annotated[read[1], *constraints]
    if origin is Literal:
        options = [(type(option), option) for option in arguments]  # pydantic takes True for 1
        words = [LITERALS[each] if isinstance(each, bool | None) else str(each) for each in arguments]
        return " or ".join(words), Annotated[Any, Predicate(lambda value: (type(value), value) in options)]
    if origin in (Union, types.UnionType):
        inner = [_read(kind) for kind in arguments if kind is not type(None)]
        null = type(None) in arguments
        expected = " or ".join(each[0] for each in inner if each) + (", or null" if null else "")
        kinds = Union[tuple(each[1] for each in inner if each)] if all(inner) else None  # noqa: UP007
        return kinds and (expected, kinds | None if null else kinds)
    collection = origin or hint  # `list` means any list
    if collection in (Mapping, dict, Sequence, list, tuple):
        several = [kind for kind in arguments if kind is not ...]
        if collection is tuple and len(several) != 1:
            return None
        expected, kind = (_read(several[-1]) if several else None) or ("", Any)
        expected = expected and f", each {expected}"
        if collection in (Mapping, dict):
            return f"a mapping of names{expected}", dict[str, kind]  # type: ignore[valid-type]
        return f"a list{expected}", list[kind] | tuple[kind, ...]  # type: ignore[valid-type]
    if is_component(hint):
        name = getattr(hint, "__name__", "")
        expected = f"the settings of a{'n' if name[:1] in 'AEIOU' else ''} {name}: _target_ and its arguments"
        return expected, Annotated[Any, Predicate(is_node)]
    return KINDS.get(hint) if inspect.isclass(hint) else None


def _accepts(kind: Any, value: object) -> bool:
    from pydantic import ValidationError  # here, as it takes 0.2 s

    try:
        _adapter(kind).validate_python(value)
    except ValidationError:
        return False
    return True


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    from pydantic import ConfigDict, TypeAdapter

    return TypeAdapter(kind, config=ConfigDict(strict=True, allow_inf_nan=False))


def _constraints(metadata: Iterable[object]) -> Iterator[BaseMetadata]:
    """Those of an annotation, each for itself; what else it has for other readers is left out."""
    for each in metadata:
        if isinstance(each, GroupedMetadata):
            yield from _constraints(each)
        elif isinstance(each, BaseMetadata):
            yield each


def in_words(metadata: Iterable[object]) -> str:
    """The constraints of an annotation, as they follow a noun: `from 0 to 1`."""
    words = {each: _word(each) for each in _constraints(metadata)}
    low, high = ([each for each in words if isinstance(each, kind)] for kind in (Ge, Le))
    if low and high:
        words[low[0]] = f"from {words[low[0]].split()[-1]} to {words.pop(high[0]).split()[-1]}"
    return " and ".join(words.values())


def _word(constraint: BaseMetadata) -> str:
    if isinstance(constraint, Predicate):
        return f"that {getattr(constraint.func, '__name__', constraint.func)}".replace("_", " ")
    if type(constraint) not in CONSTRAINTS:
        return f"with {constraint}"
    [limit] = astuple(constraint)  # type: ignore[call-overload]  # each of these is a dataclass
    return CONSTRAINTS[type(constraint)].format(f"{limit:.15g}" if isinstance(limit, float) else limit)


def as_configured(value: object) -> str:
    """A value as an error shows it: as it is written in a configuration, cut where it is long."""
    if value is None:
        return "null"
    try:
        text = repr(value)
    except ValueError:  # Python refuses to print so many digits
        return "a number of thousands of digits"
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}..."
