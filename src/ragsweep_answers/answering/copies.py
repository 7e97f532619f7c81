"""Copies of components that share no memory of what they were called with."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from functools import cached_property
from typing import Any, TypeVar

from ragsweep.store.stage_store import Store

Component = TypeVar("Component")

SHARED_METHODS = ("rank", "encode")  # of parts that see neither judgments nor evidence, and may hold a large model


def fresh(component: Component) -> Component:
    """A component with the same settings that has not noted anything: what one copy keeps, another one cannot see.

    Rankers, encoders and stores within it are shared, and so is what cannot be copied, such as an open connection. What
    a class keeps outside of its objects, such as in its module or in a file, is shared, too.
    """
    made = copy.copy(component)
    settings = getattr(made, "__dict__", {})
    memo = {id(part): part for part in _shared(component)}
    for name, value in [*settings.items()]:
        if isinstance(inspect.getattr_static(type(component), name, None), cached_property):
            del settings[name]
            continue
        with suppress(Exception):  # copying a user's object can raise anything
            settings[name] = copy.deepcopy(value, {**memo})
    return made


def parts_of(component: object) -> Iterator[tuple[str, Any]]:
    """What a component is composed of, with the names: the fields of a dataclass, and what they list."""
    for each in fields(component) if is_dataclass(component) else ():
        yield from _listed(each.name, getattr(component, each.name, None))


def _listed(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        yield from ((f"{name}.{key}", each) for key, each in value.items())
    elif isinstance(value, list | tuple):
        yield from ((f"{name}.{number}", each) for number, each in enumerate(value))
    else:
        yield name, value


def _shared(component: object) -> Iterator[Any]:
    """The parts of a component that its copies share."""
    for _, part in parts_of(component):
        if isinstance(part, Store) or any(callable(getattr(part, name, None)) for name in SHARED_METHODS):
            yield part
        else:
            yield from _shared(part)
