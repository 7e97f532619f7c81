"""Settings of a record that name code, or data of the user's: nothing is called or read that they have not allowed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import isclass, ismodule, isroutine
from pkgutil import resolve_name
from typing import get_args

from ragsweep.config.components import signature_of, target_of
from ragsweep.core.errors import ConfigError, first_line
from ragsweep.core.limits import NamesCode, NamesOwnData
from ragsweep.replay.to_be_named import ToBeNamed

Mark = NamesCode | NamesOwnData


def mark_of(node: Mapping[str, object], setting: str) -> Mark | None:
    """The mark of a setting of a class of ours that no record may choose; None for other settings."""
    target = node.get("_target_")
    parameter = signature_of(target_of(target)).parameters.get(setting) if isinstance(target, str) else None
    marks = get_args(parameter.hint) if parameter is not None else ()
    return next((each for each in marks if isinstance(each, NamesCode | NamesOwnData)), None)


def check_marked(mark: Mark, name: str, value: str, modules: Sequence[str], unnamed: ToBeNamed) -> None:
    """Raise `ConfigError` for code in a setting with this mark that is not allowed; note data of the user's."""
    if isinstance(mark, NamesCode):
        check_code(name, value, modules)
    else:
        unnamed.note(name, value, "a record names nothing of yours", value)


def check_code(name: str, value: str, modules: Sequence[str]) -> None:
    """Raise `ConfigError` unless what is named stands in an allowed module: `mine:os.system` does not."""
    module, _, path = value.partition(":")
    if not any(module == allowed or module.startswith(f"{allowed}.") for allowed in modules):
        raise ConfigError(f"{name}: {value} may not be called by a record; --allow {module} permits it")
    try:
        found = resolve_name(module)
        for part in path.split("."):
            found = getattr(found, part)
            home = getattr(found, "__module__", None) if isroutine(found) or isclass(found) else module
            if ismodule(found) or str(home).partition(".")[0] != module.partition(".")[0]:
                raise ConfigError(f"{name}: {value} is not defined in {module}")
    except ConfigError:
        raise
    except Exception as error:  # importing a module can raise anything
        raise ConfigError(f"{name}: {value} cannot be imported ({first_line(error)})") from error
