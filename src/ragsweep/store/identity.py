"""The identity of a component, in the keys of stored results."""

from __future__ import annotations

import inspect
import uuid
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cached_property, partial
from typing import Any

from ragsweep.core.digest import version
from ragsweep.core.hardware import cpu_abilities
from ragsweep.core.plugins import is_ours
from ragsweep.core.project import portable
from ragsweep.store.code import code_of, digest_of_module
from ragsweep.store.component import Component, declared
from ragsweep.store.stage_store import Store

PLAIN = (bool, int, float, str, type(None))


def identity(component: object) -> list[object]:
    """The code, the settings, the libraries and the fingerprint of a component, for the key of a stored result.

    Settings that are components count by their own identity. A store does not count, nor what the component lists as
    `without_effect`. A `fingerprint` stands for the content of files, and for the settings of the class that defines
    it; settings that a subclass adds are counted, and so are those that `beside_fingerprint` names. The abilities of
    the CPU count for a component with a fingerprint, such as an encoder: CPUs of different abilities differ in the last
    bits of what they compute, and workers on such CPUs may share a store, which must not mix their embeddings.

    Returns:
        A value for `digest`. If a setting is neither a plain value nor a component, it is a new one at each call, so
        that nothing stored is found.
    """
    libraries = {name: version(name) for name in declared(component, "libraries")}
    settings = _settings(component)
    fingerprint = declared(component, "fingerprint")
    if fingerprint is None:
        return [code_of(component), _counted(component, settings), libraries]
    kind = type(component)
    by = _first_with("fingerprint", kind) or _first_with("__init__", kind) or kind
    beside = declared(component, "beside_fingerprint")
    besides = _counted(component, {name: value for name, value in settings.items() if name in beside})
    return [code_of(component), fingerprint, own_settings(component, by), besides, libraries, cpu_abilities()]


def _counted(component: object, settings: Mapping[str, Any]) -> object:
    """The identities of the settings of a component that have an effect."""
    ignored = declared(component, "without_effect")
    return _identities({name: value for name, value in settings.items() if name not in ignored})


def own_settings(thing: object, base: type) -> object:
    """The identities of the settings that a subclass adds to those of `base`."""
    if is_dataclass(base):
        theirs = {field.name for field in fields(base)}
        return _counted(thing, {name: value for name, value in _settings(thing).items() if name not in theirs})
    if type(thing) is base:
        return {}
    added = {*inspect.signature(type(thing)).parameters} - {*inspect.signature(base).parameters}
    unknown = object()  # nothing stored is found for a setting that the object does not keep
    return _counted(thing, {name: getattr(thing, name, getattr(thing, f"_{name}", unknown)) for name in sorted(added)})


def kept(part: object, key: str, given: Any) -> Any:
    """The value of a setting in the object that was built with it; plain attributes of its class do not count."""
    if isinstance(part, Mapping):
        return part.get(key, given)
    if isinstance(part, list | tuple):
        return part[int(key)] if int(key) < len(part) else given
    in_class = inspect.getattr_static(type(part), key, None)
    computed = inspect.isdatadescriptor(in_class) or isinstance(in_class, cached_property)
    value = getattr(part, key, given) if computed or key in getattr(part, "__dict__", ()) else given
    return given if value is None and not is_ours(type(part).__module__) else value  # it may load that later


def _first_with(name: str, kind: type) -> type | None:
    """The class that defines an attribute, of a class and those that it inherits from."""
    return next((base for base in kind.__mro__ if name in vars(base)), None)


def _settings(thing: object) -> dict[str, Any]:
    """The fields, slots and attributes of an object, but not what it computes."""
    names = {field.name for field in fields(thing)} if is_dataclass(thing) else set()
    for base in type(thing).__mro__:
        slots = vars(base).get("__slots__", ())
        names |= {slots} if isinstance(slots, str) else {*slots}
    names = {*names, *getattr(thing, "__dict__", ())} - {"__dict__", "__weakref__"}
    computed = {name for name in names if isinstance(inspect.getattr_static(type(thing), name, None), cached_property)}
    return {name: getattr(thing, name) for name in sorted(names - computed) if hasattr(thing, name)}


def _identities(value: object) -> object:
    """A setting, with the identity of each component in it."""
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: _identities(inner) for key, inner in value.items() if not isinstance(inner, Store)}
    if isinstance(value, list | tuple):
        return [_identities(inner) for inner in value]
    if isinstance(value, PLAIN):
        return portable(value)
    if isinstance(value, partial):
        return [_identities(value.func), _identities(value.args), _identities(value.keywords)]
    name = value.__qualname__ if inspect.isfunction(value) or inspect.isclass(value) else ""
    if name and "<" not in name:  # a function within another one may hold anything
        return [value.__module__, name, digest_of_module(value.__module__)]
    is_component = isinstance(value, Component) or is_dataclass(value)
    return identity(value) if is_component else uuid.uuid4().hex
