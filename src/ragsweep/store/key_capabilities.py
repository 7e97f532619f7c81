"""What any component may say of itself for its digest and for the keys of what it keeps."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol, runtime_checkable

from ragsweep.core.capability import Capability, offered_with
from ragsweep.store.stage_store import Store


@offered_with()
@runtime_checkable
class IgnoresSettings(Capability, Protocol):
    """Some of its settings have no effect beside the others: they are in no digest, key or param."""

    without_effect: Collection[str]  # the names of these settings


@offered_with()
@runtime_checkable
class LimitsSettings(Capability, Protocol):
    """Some of its settings must not be smaller than others."""

    at_least: Mapping[str, str]  # by the name of a setting, the one that it must not be smaller than


@offered_with()
@runtime_checkable
class HasFingerprint(Capability, Protocol):
    """Its results depend on the content of files, for which its fingerprint stands in digests and keys."""

    fingerprint: str  # changes whenever the results would


@offered_with()
@runtime_checkable
class CountsBesideFingerprint(Capability, Protocol):
    """Some of its settings count besides its fingerprint."""

    beside_fingerprint: Collection[str]  # the names of these settings


@offered_with()
@runtime_checkable
class UsesLibraries(Capability, Protocol):
    """Its results depend on the versions of installed packages."""

    libraries: Sequence[str]  # the names of these packages


@offered_with()
@runtime_checkable
class Varies(Capability, Protocol):
    """It may return something else when it is asked again, as a language model does.

    `repeat` is a setting of it. The same component with another one returns what it would return if it were asked
    again, and keeps that apart. The setting `repeats` of a run has it built with the numbers 0, 1, 2, ...
    """

    repeat: int  # which of the times that it is asked
    varies: bool  # whether it does, with the settings that it has


@offered_with()
@runtime_checkable
class KeepsResults(Capability, Protocol):
    """What it returns is kept, and found again."""

    store: Store  # where it is kept
