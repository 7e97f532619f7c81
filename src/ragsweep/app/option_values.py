"""Values of a group with settings of their own: `chunker=recursive:96,recursive:384,page`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from omegaconf import OmegaConf

from ragsweep.config.groups import groups
from ragsweep.core.errors import ConfigError
from ragsweep.core.project import option_file

SEPARATOR = ":"


def expanded(overrides: Sequence[str]) -> list[str]:
    """Overrides in which an option stands apart from its settings: `chunker=recursive chunker.size=96`.

    What follows an option after colons are the values of its first settings, in the order of its file.

    Raises:
        ConfigError: An option has fewer settings, or one of them is set by another override as well.
    """
    parts = [[*_parts(override)] for override in overrides]
    found = [each for some in parts for each in some]
    names = [each.partition("=")[0] for each in found]
    for each in (each for some in parts for each in some[1:]):
        if names.count(name := each.partition("=")[0]) > 1:
            raise ConfigError(f"{name}: found it set twice, once after an option and a colon")
    return found


def _parts(override: str) -> Iterator[str]:
    key, _, value = override.partition("=")
    option, *values = value.replace(f"\\{SEPARATOR}", SEPARATOR).split(SEPARATOR)
    group = key.lstrip("+")
    file = option_file(group, option) if values and "," not in value and group in {*groups()} else None
    if file is None:
        yield override
        return
    content: Any = OmegaConf.load(file)
    settings = [name for name in content if not str(name).startswith("_") and name != "defaults"]
    if len(values) > len(settings):
        wanted = f"at most {len(settings)} values: {', '.join(map(str, settings))}" if settings else "no values"
        raise ConfigError(f"{group}={option}: found {len(values)} values after the option, expected {wanted}")
    yield f"{key}={option}"
    yield from (f"{group}.{name}={each}" for name, each in zip(settings, values, strict=False) if each)
