"""Names and addresses of registered models."""

from __future__ import annotations

import re
from typing import NamedTuple

from ragsweep.core.errors import ConfigError
from ragsweep.core.terminal import one_line, shortened

SCHEME = "models:"
_NAME = r"[\w\-](?:[\w.\- ]{0,98}[\w\-])?"
_ADDRESS = re.compile(rf"models:/({_NAME})(?:@([\w\-]{{1,255}})|/([0-9]{{1,9}}))")


class ModelAddress(NamedTuple):
    """A version of a registered model, by an alias or by its number; the other one is None."""

    name: str
    alias: str | None
    number: str | None


def model_address(text: str) -> ModelAddress:
    """The parts of `models:/NAME@ALIAS` or `models:/NAME/VERSION`. Raises `ConfigError` for anything else."""
    found = _ADDRESS.fullmatch(text)
    if found is None:
        shown = shortened(one_line(text))
        raise ConfigError(f"{shown}: expected models:/NAME@ALIAS or models:/NAME/VERSION")
    return ModelAddress(*found.groups())


def check_model_name(name: str) -> None:
    """Raise `ConfigError` unless a registered model can have this name in an address."""
    if not re.fullmatch(_NAME, name):
        shown = shortened(one_line(name))
        raise ConfigError(
            f"--register: found {shown!r}, expected a name: at most 100 letters, digits and _ - . or space"
        )
