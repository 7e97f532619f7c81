"""What a configuration was built of, and what of it has an effect: settings, parts, and what decides the results."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import partial
from pkgutil import resolve_name
from typing import Any, NamedTuple

from ragsweep.core.digest import version
from ragsweep.core.errors import ConfigError
from ragsweep.core.plugins import is_ours
from ragsweep.core.project import portable
from ragsweep.store.code import code_of, digest_of_module, name_of
from ragsweep.store.component import declared
from ragsweep.store.identity import PLAIN, kept
from ragsweep.store.stage_store import Store


class Node(NamedTuple):
    """A part of a configuration that was built.

    Attributes:
        path: Where it is written.
        target: The class or function that made it; empty for mappings, lists and plain values.
        value: What it became.
        children: Its settings by name, those of a list by number.
    """

    path: str
    target: str
    value: Any
    children: Mapping[str, Node] = {}

    @property
    def has_parts(self) -> bool:
        """Whether it is a component or a group of settings, or a list that has some."""
        if isinstance(self.value, list):
            return any(child.has_parts for child in self.children.values())
        return bool(self.target) or not isinstance(self.value, PLAIN)

    @property
    def is_built(self) -> bool:
        """Whether its parts are what the object has, and no arguments of a later call."""
        return self.has_parts and not isinstance(self.value, partial)


class Used(NamedTuple):
    """A node that has an effect.

    Attributes:
        node: The node.
        part: Its value as what takes it has it: a component may keep another one than it was given.
        children: Those of its settings that have an effect, by name.
    """

    node: Node
    part: Any
    children: Mapping[str, Used]

    @classmethod
    def of(cls, node: Node, part: Any, without: Collection[str] = ()) -> Used:
        """What is used of a part; `without` has names of its settings, and the paths of those of other components."""
        if node.is_built:
            without = {*without, *declared(part, "without_effect")}
        paths = {name for name in without if "." in name}
        children = {
            key: cls.of(child, kept(part, key, child.value), paths)
            for key, child in node.children.items()
            if key not in without and child.path not in paths and not isinstance(child.value, Store)
        }
        return cls(node, part, children)

    def walk(self) -> Iterator[Used]:
        """All that has an effect in a part, itself first."""
        yield self
        for child in self.children.values() if self.node.is_built else ():
            yield from child.walk()

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of the node by their paths, without those of the nodes in it."""
        path, target, value = self.node.path, self.node.target, self.node.value
        if isinstance(value, partial):
            arguments = ", ".join(f"{key}={child.value!r}" for key, child in self.node.children.items())
            return {path: f"{target}({arguments})"}
        if not self.node.has_parts:
            return {path: portable(self.part if isinstance(self.part, PLAIN) else value)}
        name = {path: target if isinstance(self.part, dict | list) else name_of(self.part)} if target else {}
        fingerprint = declared(self.part, "fingerprint")
        return name if fingerprint is None else name | {f"{path}.fingerprint": fingerprint}

    def identity(self) -> object:
        """What decides what a part computes: a value for `digest`."""
        node, part, used = self.node, self.part, {key: child.identity() for key, child in self.children.items()}
        if isinstance(node.value, (*PLAIN, list, dict)) and not node.target:
            return used or portable(part if isinstance(part, PLAIN) else node.value)
        maker = resolve_name(node.target) if node.target else type(part)
        is_class = maker is type(part)
        makers = [] if is_class else [node.target, digest_of_module(getattr(maker, "__module__", node.target))]
        given = {} if is_ours(type(part).__module__) else {key: child.value for key, child in node.children.items()}
        plain = {key: portable(value) for key, value in given.items() if isinstance(value, PLAIN)}
        libraries = {name: version(name) for name in declared(part, "libraries")}
        return [code_of(part), makers, declared(part, "fingerprint"), used, plain, libraries]


def check_limits(settings: Mapping[str, Any], parts: Mapping[str, object]) -> None:
    """Raise `ConfigError` for a setting that is smaller than the one that limits it."""
    for path, part in parts.items():
        for name, other in declared(part, "at_least").items():
            value, least = settings.get(f"{path}.{name}"), settings.get(other)
            if isinstance(value, int) and isinstance(least, int) and value < least:
                raise ConfigError(f"{path}.{name}: found {value}, expected at least {other} ({least})")
