"""The base of components: what any of them may say of itself for its digest and for the keys of what it keeps."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from ragsweep.core.errors import ConfigError
from ragsweep.store.code import kind_of


class Component:
    """Base of all that a configuration builds; a class overrides what is not so, as an attribute or a property.

    A component that lacks this base has these defaults, too.
    """

    @property
    def without_effect(self) -> Collection[str]:
        """The names of settings that have no effect beside the others: they are in no digest, key or param."""
        return ()

    @property
    def at_least(self) -> Mapping[str, str]:
        """By the name of a setting, the one that it must not be smaller than."""
        return {}

    @property
    def fingerprint(self) -> str | None:
        """Changes whenever the results would, as the content of files does; None if the settings say it all."""
        return None

    @property
    def beside_fingerprint(self) -> Collection[str]:
        """The names of settings that count besides the fingerprint."""
        return ()

    @property
    def libraries(self) -> Sequence[str]:
        """The names of installed packages whose versions change the results."""
        return ()

    @property
    def varies(self) -> bool:
        """Whether it may return something else when it is asked again, as a language model does.

        Such a component has a setting `repeat`. The same one with another number returns what it would return if it
        were asked again, and keeps that apart. The setting `repeats` of a run has it built with 0, 1, 2, ...
        """
        return False

    def texts_of_parts(self, texts: Any) -> Iterator[tuple[object, Any]]:
        """Each part of an effect, with those of these texts (`TextsRead`) that it gets; by default, each gets all."""
        names: list[str] = [field.name for field in fields(self)] if is_dataclass(self) else []
        yield from ((getattr(self, name), texts) for name in names if name not in declared(self, "without_effect"))


def declared(part: object, name: str) -> Any:
    """What a component says of itself under a name of `Component`; the default where it lacks the base.

    Raises `ConfigError` for a text in place of several names: each of its letters would count as one.
    """
    has_it = hasattr(type(part), name) or name in getattr(part, "__dict__", ())
    value = getattr(part if has_it else Component(), name)
    if isinstance(value, str) and name != "fingerprint":
        raise ConfigError(f"{kind_of(part)}.{name}: found the text {value!r}, expected names, such as [{value!r}]")
    return value


def expect_kind(thing: object, kind: type | tuple[type, ...], setting: str) -> None:
    """Raise `ConfigError` unless the object of a setting inherits from a base class, or one of several, as it says."""
    kinds = kind if isinstance(kind, tuple) else (kind,)
    fitting = next((base for base in kinds if isinstance(thing, base)), None)
    if fitting is None:
        names = " or ".join(f"{'.'.join(base.__module__.split('.')[:2])}.{base.__name__}" for base in kinds)
        raise ConfigError(f"{setting}: {kind_of(thing)} does not inherit from {names}")
    for method in getattr(fitting, "__abstractmethods__", ()):
        if not callable(of_base := getattr(fitting, method)):
            continue
        arguments = [*inspect.signature(of_base).parameters][1:]
        try:
            inspect.signature(getattr(thing, method)).bind(*arguments)
        except TypeError as error:
            expected = f"expected {method}({', '.join(arguments)})"
            raise ConfigError(f"{setting}: {kind_of(thing)}.{method}: {expected} ({error})") from error
