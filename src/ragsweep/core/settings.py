"""The settings of a configuration, and those that were used, by their paths."""

from __future__ import annotations

import ast
import difflib
import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any

from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.errors import InterpolationResolutionError, MissingMandatoryValue

from ragsweep.core.errors import ConfigError, first_line
from ragsweep.core.project import portable

STORE = "ragsweep.core.store.Store"
HYDRA_KEYS = ("_target_", "_partial_", "_recursive_", "_convert_")
PLAIN = (bool, int, float, str, type(None))


def leaves(config: DictConfig, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every setting as `(dotted.name, resolved value)`; raise `ConfigError` where one has no value."""
    for key in map(str, config):
        name = f"{prefix}{key}"
        try:
            value = config[key]
        except MissingMandatoryValue as error:
            raise ConfigError(f"{name}: no value; set it with {name}=VALUE") from error
        except InterpolationResolutionError as error:
            missing = re.search(r"[Mm]issing mandatory value: (\S+)", str(error))
            if missing:
                raise ConfigError(f"{missing.group(1)}: no value; set it with {missing.group(1)}=VALUE") from error
            raise ConfigError(f"{name}: {first_line(error)}") from error
        if isinstance(value, DictConfig):
            yield from leaves(value, f"{name}.")
        else:
            yield name, value


def effective_settings(config: DictConfig, built: Mapping[str, object]) -> dict[str, Any]:
    """The settings that were used, flat, by their paths in the configuration.

    A value is read from the built object where that has an attribute of the setting's name. Groups that nothing uses
    are absent, and so is what an object lists as `without_effect`.

    Args:
        config: The configuration.
        built: Objects by the name of their node.
    """
    settings: dict[str, Any] = {}
    for name, part in built.items():
        settings.update(_settings(config[name], part, name))
    return dict(sorted(settings.items()))


def by_short_names(settings: Mapping[str, Any], config: DictConfig) -> dict[str, Any]:
    """The same settings by the names under which a user sets them.

    A group that a single part takes over, such as the encoder of the dense retriever, is named `encoder` instead of
    `retriever.dense.encoder`.
    """
    shortened = dict(settings)
    for group in (name for name in map(str, config) if name not in settings):
        paths = [path for path in settings if path.endswith(f".{group}")]
        if len(paths) == 1 and OmegaConf.select(config, paths[0]) == config[group]:
            within = re.compile(rf"{re.escape(paths[0])}(?=\.|$)")
            shortened = {within.sub(group, name, count=1): value for name, value in shortened.items()}
    return dict(sorted(shortened.items()))


def _settings(node: DictConfig, part: object, name: str) -> Iterator[tuple[str, Any]]:
    if "_partial_" in node:
        arguments = ", ".join(f"{key}={_written(node[key])}" for key in map(str, node) if key not in HYDRA_KEYS)
        yield name, f"{node._target_}({arguments})"
        return
    if "_target_" in node:
        ours = type(part).__module__.startswith("ragsweep.")
        yield name, type(part).__name__ if ours else f"{type(part).__module__}.{type(part).__qualname__}"
    if hasattr(part, "fingerprint"):
        yield f"{name}.fingerprint", part.fingerprint
    for key in map(str, node):
        given = node[key]
        value = _used(part, key, given)
        if key in HYDRA_KEYS or key in getattr(part, "without_effect", ()):
            continue
        if isinstance(given, DictConfig) and given.get("_target_") == STORE:  # where results are kept decides none
            continue
        if isinstance(given, DictConfig):
            yield from _settings(given, value, f"{name}.{key}")
        elif isinstance(given, ListConfig) and any(isinstance(each, DictConfig) for each in given):
            objects = value if isinstance(value, list | tuple) and len(value) == len(given) else given
            for number, each in enumerate(given):
                if isinstance(each, DictConfig):
                    yield from _settings(each, objects[number], f"{name}.{key}.{number}")
                else:
                    yield f"{name}.{key}.{number}", portable(each)
        else:
            plain = OmegaConf.to_container(given) if isinstance(given, ListConfig) else given
            yield f"{name}.{key}", portable(value if isinstance(value, PLAIN) else plain)


def _used(part: object, key: str, given: Any) -> Any:
    """The setting as the object has it. An attribute that only the class has is not the setting."""
    in_class = inspect.getattr_static(type(part), key, None)
    computed = inspect.isdatadescriptor(in_class) or isinstance(in_class, cached_property)
    return getattr(part, key, given) if computed or key in getattr(part, "__dict__", ()) else given


def _written(value: Any) -> str:
    """An argument as text: a text that reads like another value, or like several, stands in quotes."""
    if not isinstance(value, str):
        return str(value)
    with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
        ast.literal_eval(value)
        return repr(value)
    return value if re.fullmatch(r"[\w.\-/ ]*", value) else repr(value)


def nearest(word: str, known: Sequence[str]) -> str:
    """' (did you mean ...?)' for the known name most like `word`, else what there is beside it, or nothing."""
    group, _, last = word.rpartition(".")
    known = [name for name in known if not name.endswith("_")]  # not _target_ and its like
    beside = [name for name in known if group and name.rpartition(".")[0] == group]
    by_last = {name.rpartition(".")[2]: name for name in [*known, *beside]}
    close = difflib.get_close_matches(last, list(by_last), n=1)
    if close:
        return f" (did you mean {by_last[close[0]]}?)"
    return f" ({group} has {', '.join(name.rpartition('.')[2] for name in beside)})" if beside else ""
