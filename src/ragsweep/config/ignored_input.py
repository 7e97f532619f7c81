"""Refuses what Hydra would ignore without a word: settings that are given twice."""

from __future__ import annotations

from collections.abc import Iterable

from ragsweep.core.errors import ConfigError


def refuse_repeated(overrides: Iterable[str]) -> None:
    """Raise `ConfigError` for a setting or group that is given twice: all values but the last would be dropped."""
    given: dict[str, list[str]] = {}
    for override in overrides:
        name, is_set, value = override.partition("=")
        if is_set and not name.startswith("~"):
            given.setdefault(name.strip().lstrip("+"), []).append(value)
    for name, values in given.items():
        if len(values) > 1:
            raise ConfigError(f"{name}: given {len(values)} times, as {' and as '.join(values)}; give it once")
