"""Capabilities: what a component may offer besides the method of its kind, each a protocol that `isinstance` asks for.

    @offered_with("rank")
    @runtime_checkable
    class Traces(Capability, Protocol): ...

A component declares a capability by having its members.
"""

from __future__ import annotations

import difflib
import inspect
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Protocol, TypeVar

LEAST_NAME_SIMILARITY = 0.8  # of `difflib`: `traec` and `trace`
ABSENT = object()

C = TypeVar("C", bound=type)

_offered: defaultdict[str, list[type]] = defaultdict(list)  # by the method of the kind; empty for any component


class _ByMembers(type(Protocol)):  # type: ignore[misc]  # the metaclass of protocols has no public name
    """Looks members up without computing them.

    Until Python 3.12, `isinstance` computes each property, and takes one that raises `AttributeError` as absent.
    """

    def __instancecheck__(cls, instance: object) -> bool:
        if Protocol not in cls.__bases__:
            return bool(super().__instancecheck__(instance))
        for name in members(cls):
            value = inspect.getattr_static(instance, name, ABSENT)
            if value is ABSENT or (value is None and callable(getattr(cls, name, None))):  # None takes a method back
                return False
        return True


class Capability(Protocol, metaclass=_ByMembers):
    """Base of all capabilities."""


def offered_with(*methods: str) -> Callable[[C], C]:
    """Class decorator: components that have one of these methods may offer the capability; any component if empty."""

    def register(capability: C) -> C:
        for method in methods or ("",):
            _offered[method].append(capability)
        return capability

    return register


def offered() -> dict[str, list[type]]:
    """The capabilities by the method of the kind that may offer them; empty for any component."""
    return dict(_offered)


@cache
def members(capability: type) -> frozenset[str]:
    """The names of the members of a protocol."""
    kinds = [each for each in capability.__mro__ if Protocol in each.__bases__]
    named = {name for each in kinds for name in (*vars(each), *inspect.get_annotations(each))}
    return frozenset(name for name in named if not name.startswith("_"))


def misspelt(component: object) -> str | None:
    """The first public name of a component, or of a class, that is almost a capability's member; None without one.

    What it is built with are settings, which have names of their own. A class that has the member does not misspell it.
    """
    kind = component if isinstance(component, type) else type(component)
    offered = [each for method in _offered if not method or hasattr(kind, method) for each in _offered[method]]
    known = {name for each in offered for name in members(each)}
    settings = {*_offered}
    with suppress(ValueError):  # a class that is written in C
        settings |= {*inspect.signature(kind).parameters}
    for each in kind.__mro__[:-1]:
        own = {name for name in vars(each) if not name.startswith("_")}
        new = {name for name in own - known - settings if not any(hasattr(base, name) for base in each.__bases__)}
        for name in sorted(new):
            if close := difflib.get_close_matches(name, sorted(known - own), n=1, cutoff=LEAST_NAME_SIMILARITY):
                return f"{each.__module__}.{each.__qualname__}.{name}: did you mean {close[0]}? (else name it _{name})"
    return None
