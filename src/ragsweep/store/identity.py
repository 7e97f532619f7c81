"""The key of a component's stored results: its code, settings and libraries."""

from __future__ import annotations

import inspect
import uuid
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from functools import cached_property
from typing import Any

from ragsweep.core.digest import version
from ragsweep.core.hardware import cpu_abilities
from ragsweep.store.code import code_of
from ragsweep.store.key_capabilities import CountsBesideFingerprint, HasFingerprint, IgnoresSettings, UsesLibraries
from ragsweep.store.stage_store import Store

# a component that is no dataclass has one of these
STAGE_METHODS = ("rank", "rewrite", "fuse", "rerank", "encode", "open", "offsets", "index_texts")


def identity(component: object) -> list[object]:
    """The code, the settings and the libraries of a component.

    Settings that are components count by their own identity. A store does not count, nor what the component lists as
    `without_effect`. `libraries` names installed packages whose versions count. A `fingerprint` stands for the settings
    of the class that defines it; settings that a subclass adds are counted, too, and so are those that
    `beside_fingerprint` names.

    For a component with a fingerprint, such as an encoder, the abilities of the CPU count, too. CPUs of different
    abilities differ in the last bits of what they compute, and workers on such CPUs may share a store, which must not
    mix their embeddings. The fingerprint itself does not know the CPU, because it is part of a run's digest: a run that
    one CPU has finished is finished for all, or resuming a sweep on a mixed cluster would measure everything again.

    Returns:
        A value for `digest`. If a setting is neither a plain value nor a component, it is a new one at each call, so
        that nothing stored is found.
    """
    used = component.libraries if isinstance(component, UsesLibraries) else ()
    libraries = {name: version(name) for name in used}
    if not isinstance(component, HasFingerprint):
        return [code_of(component), _identities(_settings(component)), libraries]
    by = _first_with("fingerprint", type(component)) or _first_with("__init__", type(component)) or type(component)
    named = component.beside_fingerprint if isinstance(component, CountsBesideFingerprint) else ()
    besides = {name: value for name, value in _settings(component).items() if name in named}
    settings = [own_settings(component, by), _identities(besides)]
    return [code_of(component), component.fingerprint, *settings, libraries, cpu_abilities()]


def own_settings(thing: object, base: type) -> object:
    """The identities of the settings that a subclass adds to those of `base`."""
    if is_dataclass(base):
        theirs = {field.name for field in fields(base)}
        return _identities({name: value for name, value in _settings(thing).items() if name not in theirs})
    if type(thing) is base:
        return {}
    added = {*inspect.signature(type(thing)).parameters} - {*inspect.signature(base).parameters}
    unknown = object()  # nothing stored is found for a setting that the object does not keep
    return _identities({name: getattr(thing, name, getattr(thing, f"_{name}", unknown)) for name in sorted(added)})


def _first_with(name: str, kind: type) -> type | None:
    """The class that defines an attribute, of a class and those that it inherits from."""
    return next((each for each in kind.__mro__ if name in vars(each)), None)


def _settings(thing: object) -> dict[str, Any]:
    """What an object was made with: its fields, slots and attributes, but not what it computes or where it stores."""
    names = {field.name for field in fields(thing)} if is_dataclass(thing) else set()
    for each in type(thing).__mro__:
        slots = vars(each).get("__slots__", ())
        names |= {slots} if isinstance(slots, str) else {*slots}
    with suppress(TypeError):  # an object with slots alone
        names |= vars(thing).keys()
    names -= {"__dict__", "__weakref__", *(thing.without_effect if isinstance(thing, IgnoresSettings) else ())}
    given = {name: getattr(thing, name) for name in sorted(names) if hasattr(thing, name)}
    computed = {name for name in given if isinstance(inspect.getattr_static(type(thing), name, None), cached_property)}
    return {name: value for name, value in given.items() if name not in computed and not isinstance(value, Store)}


def _identities(value: object) -> object:
    """A setting, with the identity of each component in it."""
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: _identities(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_identities(inner) for inner in value]
    if isinstance(value, bool | int | float | str | None):
        return value
    if inspect.isclass(value):
        return uuid.uuid4().hex
    is_stage = any(callable(getattr(value, stage, None)) for stage in STAGE_METHODS)
    return identity(value) if is_stage or is_dataclass(value) else uuid.uuid4().hex
