"""The identity of a component, which makes the digest of a run and the keys of stored results."""

from __future__ import annotations

import inspect
import uuid
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from functools import cached_property, partial
from pkgutil import resolve_name
from typing import Any, NamedTuple

from ragsweep.core.digest import version
from ragsweep.core.hardware import cpu_abilities
from ragsweep.core.plugins import is_ours
from ragsweep.core.project import portable
from ragsweep.store.code import code_of, digest_of_module
from ragsweep.store.component import declared
from ragsweep.store.stage_store import Store

# a component that is no dataclass has one of these
STAGE_METHODS = ("rank", "rewrite", "fuse", "rerank", "encode", "open", "offsets", "index_texts")
PLAIN = (bool, int, float, str, type(None))


class Made(NamedTuple):
    """How a component was made.

    Attributes:
        makers: The names of the classes and functions that made it, or returned it; empty ones do not count.
        settings: What they were given, by name.
    """

    makers: tuple[str, ...]
    settings: Mapping[str, Any]


Given = Mapping[int, Made]  # by the ids of components


def identity(component: object, given: Given | None = None, without: frozenset[str] = frozenset()) -> list[object]:
    """The code, the settings and the libraries of a component.

    Settings that are components count by their own identity. A store does not count, nor what the component lists as
    `without_effect`. `libraries` names installed packages whose versions count. A `fingerprint` stands for the content
    of files.

    In the key of a stored result, a fingerprint stands for the settings of the class that defines it, too; settings
    that a subclass adds are counted, and so are those that `beside_fingerprint` names. There, the abilities of the CPU
    count for a component with a fingerprint, such as an encoder: CPUs of different abilities differ in the last bits of
    what they compute, and workers on such CPUs may share a store, which must not mix their embeddings. They are no part
    of a run's digest: a run that one CPU has finished is finished for all, or resuming a sweep on a mixed cluster would
    measure everything again.

    Args:
        component: The component.
        given: How the components of a run were made, for the digest of the run; None for the key of a result.
        without: Settings that whoever holds the component says to have no effect; `controls.names` is one of a part.

    Returns:
        A value for `digest`. If a setting is neither a plain value nor a component, it is a new one at each call, so
        that nothing stored is found.
    """
    libraries = {name: version(name) for name in declared(component, "libraries")}
    settings = _settings(component, given)
    ignored = {*without, *declared(component, "without_effect")}
    fingerprint = declared(component, "fingerprint")
    if fingerprint is None or given is not None:
        own = _identities(settings, given, frozenset(ignored))
        return [code_of(component), _makers(component, given), fingerprint, own, libraries]
    by = _first_with("fingerprint", type(component)) or _first_with("__init__", type(component)) or type(component)
    named = declared(component, "beside_fingerprint")
    besides = {name: value for name, value in settings.items() if name in named}
    own = [own_settings(component, by), _identities(besides, None, frozenset(ignored))]
    return [code_of(component), fingerprint, *own, libraries, cpu_abilities()]


def _makers(component: object, given: Given | None) -> list[list[str]]:
    """The names of the functions that made a component, and the digests of their code."""
    names = given[id(component)].makers if given and id(component) in given else ()
    makers = {name: resolve_name(name) for name in names if name}
    functions = {name: maker for name, maker in makers.items() if maker is not type(component)}
    return [[name, digest_of_module(getattr(maker, "__module__", name))] for name, maker in functions.items()]


def own_settings(thing: object, base: type) -> object:
    """The identities of the settings that a subclass adds to those of `base`."""
    ignored = frozenset(declared(thing, "without_effect"))
    if is_dataclass(base):
        theirs = {field.name for field in fields(base)}
        settings = {name: value for name, value in _settings(thing, None).items() if name not in theirs}
        return _identities(settings, None, ignored)
    if type(thing) is base:
        return {}
    added = {*inspect.signature(type(thing)).parameters} - {*inspect.signature(base).parameters}
    unknown = object()  # nothing stored is found for a setting that the object does not keep
    settings = {name: getattr(thing, name, getattr(thing, f"_{name}", unknown)) for name in sorted(added)}
    return _identities(settings, None, ignored)


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


def _settings(thing: object, given: Given | None) -> dict[str, Any]:
    """What an object was built with, or else its fields, slots and attributes, but not what it computes."""
    if given and id(thing) in given:
        built_with = given[id(thing)].settings
        values = {name: _counted(kept(thing, name, value), value) for name, value in built_with.items()}
        return values if is_ours(type(thing).__module__) else {"as given": dict(built_with), **values}
    names = {field.name for field in fields(thing)} if is_dataclass(thing) else set()
    for base in type(thing).__mro__:
        slots = vars(base).get("__slots__", ())
        names |= {slots} if isinstance(slots, str) else {*slots}
    with suppress(TypeError):  # an object with slots alone
        names |= vars(thing).keys()
    values = {
        name: getattr(thing, name) for name in sorted(names - {"__dict__", "__weakref__"}) if hasattr(thing, name)
    }
    computed = {name for name in values if isinstance(inspect.getattr_static(type(thing), name, None), cached_property)}
    return {name: value for name, value in values.items() if name not in computed}


def _counted(value: Any, given: Any) -> Any:
    """The value that an object has made of a plain setting, where that is plain, too."""
    if isinstance(given, Mapping):
        return value if isinstance(value, Mapping) else given
    return given if isinstance(given, (*PLAIN, list)) and not isinstance(value, PLAIN) else value


def _identities(value: object, given: Given | None, without: frozenset[str] = frozenset()) -> object:
    """A setting, with the identity of each component in it."""
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        counted = {key: inner for key, inner in value.items() if key not in without and not isinstance(inner, Store)}
        return {key: _identities(inner, given, _within(key, without)) for key, inner in counted.items()}
    if isinstance(value, list | tuple):
        return [_identities(inner, given) for inner in value]
    if isinstance(value, PLAIN):
        return portable(value)
    if isinstance(value, partial):
        return [_identities(value.func, given), _identities(value.args, given), _identities(value.keywords, given)]
    name = value.__qualname__ if inspect.isfunction(value) or inspect.isclass(value) else ""
    if name and "<" not in name:  # a function within another one may hold anything
        return [value.__module__, name, digest_of_module(value.__module__)]
    is_stage = any(callable(getattr(value, stage, None)) for stage in STAGE_METHODS)
    known = is_stage or is_dataclass(value) or id(value) in (given or {})
    return identity(value, given, without) if known else uuid.uuid4().hex


def _within(key: str, names: frozenset[str]) -> frozenset[str]:
    """The names of settings of a part, of those like `controls.names`."""
    return frozenset(name.removeprefix(f"{key}.") for name in names if name.startswith(f"{key}."))
