"""The configuration: checks its settings, builds its objects, and lists the settings that were used."""

from __future__ import annotations

import ast
import difflib
import inspect
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated, Any

from hydra._internal.utils import _locate as locate  # `get_object` also prints what it raises
from hydra.errors import InstantiationException
from hydra.utils import instantiate
from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.errors import InterpolationResolutionError, MissingMandatoryValue, OmegaConfBaseException

from ragsweep.code import digest_of_module
from ragsweep.constraints import Between, Rule, Text, rule_of, rules_of, shown
from ragsweep.errors import ConfigError, RagsweepError, first_line

PROJECT = Path(__file__).resolve().parents[2]
CONF = PROJECT / "conf"
SWEEP_ID = "RAGSWEEP_SWEEP_ID"  # in the environment, so that every worker of a sweep agrees on it

GROUPS = ("dataset", "chunker", "retriever")  # each is one component
SHARED = ("store", "encoder", "index")  # each is one, too, for whatever takes it over by interpolation
OPTIONAL = ("encoder", "index")  # what needs one says so
STORE = "ragsweep.store.Store"
HYDRA_UTILS = "hydra.utils."
HYDRA_KEYS = ("_target_", "_partial_", "_recursive_", "_convert_")
PLAIN = (bool, int, float, str, type(None))


def register_resolvers() -> None:
    """Teach OmegaConf `${project:PATH}`, `${sweep_id:}` and `${folder_name:PATH}`."""
    OmegaConf.register_new_resolver("project", lambda path: str(PROJECT / path), replace=True)
    OmegaConf.register_new_resolver("folder_name", lambda path: Path(path).resolve().name, replace=True)
    OmegaConf.register_new_resolver("sweep_id", sweep_id, replace=True)


def sweep_id() -> str:
    """The name of this start of the program: sortable by time, and unique on this machine."""
    return os.environ.setdefault(SWEEP_ID, f"{datetime.now():%Y%m%d_%H%M%S}_{os.getpid()}")


def check(config: DictConfig) -> DictConfig:
    """The configuration with what it refers to filled in.

    Raises:
        ConfigError: For the first setting that is missing or cannot be what it is.
    """
    with suppress(OmegaConfBaseException):  # `leaves` says better what is missing
        config = DictConfig(OmegaConf.to_container(config, resolve=True, throw_on_missing=True))
    for _ in leaves(config):  # each has a value
        pass
    for name in (*SHARED, *GROUPS):
        if config.get(name) is not None or name not in OPTIONAL:
            _check_component(name, config.get(name))
    for name, rule in rules_of_settings().items():
        _check(name, OmegaConf.select(config, name), rule)
    metrics = OmegaConf.select(config, "evaluation.metrics")
    if not isinstance(metrics, DictConfig) or "f1" not in metrics:
        raise ConfigError("evaluation.metrics: f1 is missing; a sweep is decided by it")
    for name in map(str, metrics):
        _check_component(f"evaluation.metrics.{name}", metrics[name])
    _check_depths(config)
    return config


@cache
def rules_of_settings() -> Mapping[str, Rule]:
    """The rules of the settings that belong to no class; all others are annotated where they are taken."""
    from ragsweep.evaluation.judging import Collapse
    from ragsweep.evaluation.metrics import Gain

    hints: Mapping[str, object] = {
        "k": Annotated[int, Between(1, 1000)],  # every cutoff up to k is measured and logged
        "seed": Annotated[int, Between(0, 2**63 - 1)],
        "evaluation.collapse": Collapse,
        "evaluation.relevance_level": Annotated[int, Between(1, 2**31)],
        "evaluation.gain": Gain,
        "evaluation.resamples": Annotated[int, Between(100, 100_000)],
        "tracking.uri": Text,
        "tracking.artifacts": Text | None,
        "tracking.experiment": Text,
        "tracking.resume": bool,
        "tracking.fail_fast": bool,
    }
    rules = {name: rule_of(hint) for name, hint in hints.items()}
    return {name: rule for name, rule in rules.items() if rule}


def _check(name: str, value: object, rule: Rule | None) -> None:
    found = OmegaConf.to_container(value) if OmegaConf.is_config(value) else value
    if rule and not rule.accepts(found):
        raise ConfigError(f"{name}: found {shown(found)}, expected {rule.expected}")


def _check_component(name: str, node: object) -> None:
    """Check the settings of a component, and of those within it, by the annotations of what they are handed to."""
    if not isinstance(node, DictConfig) or not isinstance(node.get("_target_"), str):
        _check(name, node, Rule("a mapping with _target_ and its arguments", lambda _: False))
        return
    for path, part in _parts(name, node):
        target = _target(str(part._target_))
        for key, rule in (rules_of(target) if target else {}).items():
            if key in part:
                _check(f"{path}.{key}", part[key], rule)


def _check_depths(config: DictConfig) -> None:
    """Refuse a k that goes deeper than what a part of the retriever can give."""
    unused: tuple[str, ...] = ()
    for name, part in _parts("retriever", config.retriever):
        if not _is_ours(part) or f"{name}.".startswith(unused or ("?",)):
            continue
        idle = {1: "sparse", 0: "dense"}.get(part.get("alpha"))
        unused += (f"{name}.{idle}.",) if idle else ()
        for setting in ("ef_search", *(() if idle else ("candidates",))):
            depth = part.get(setting)
            if isinstance(depth, int) and depth < config.k:
                group = name.rpartition(".")[2]
                shown_name = group if config.get(group) == part else name  # as its user sets it
                raise ConfigError(f"{shown_name}.{setting}: found {depth}, expected at least k ({config.k})")


def _is_ours(part: DictConfig) -> bool:
    """Whether a component's class is one of ours, or is derived from one."""
    target = _target(str(part._target_))
    bases = target.__mro__ if inspect.isclass(target) else ()
    return any(base.__module__.startswith("ragsweep.") for base in bases)


def _parts(name: str, node: DictConfig) -> Iterator[tuple[str, DictConfig]]:
    """A component and those within it, by their paths."""
    yield name, node
    for key in map(str, node):
        value = node[key]
        for at, part in enumerate(value) if isinstance(value, ListConfig) else [(None, value)]:
            if isinstance(part, DictConfig) and isinstance(part.get("_target_"), str):
                yield from _parts(f"{name}.{key}" if at is None else f"{name}.{key}.{at}", part)


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


@cache
def _target(name: str) -> Callable[..., Any] | None:
    """The class or function of this name; None where there is none, which building will say."""
    with suppress(Exception):  # importing a module of the user's can raise anything
        found: Callable[..., Any] = locate(name)
        return found
    return None


def build(node: DictConfig, name: str) -> Any:
    """Build the object that a node of the configuration describes.

    Args:
        node: Has `_target_`, and the arguments of the target.
        name: The node's place in the configuration, for the error.
    """
    try:
        return instantiate(node)
    except InstantiationException as error:
        cause = error.__cause__
        if isinstance(cause, RagsweepError):
            raise cause from error
        reason = " ".join(str(cause or error).split())
        raise ConfigError(f"{name}: {node.get('_target_')} cannot be built ({reason})") from error
    except OmegaConfBaseException as error:
        raise ConfigError(f"{name}: {first_line(error)}") from error


def digests_of_others(config: DictConfig) -> dict[str, str]:
    """Digest of the code of each class or function from outside ragsweep, by its dotted name."""
    settings = dict(leaves(config))
    named = {str(value) for name, value in settings.items() if name.endswith("_target_")}
    named |= {  # hydra.utils.get_method hands on what its `path` names
        str(value)
        for name, value in settings.items()
        if name.endswith(".path") and str(settings.get(f"{name.removesuffix('path')}_target_")).startswith(HYDRA_UTILS)
    }
    targets = {name: _target(name) for name in sorted(named) if not name.startswith("ragsweep.")}
    return {name: digest_of_module(target.__module__) for name, target in targets.items() if target}


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


def portable(value: Any) -> Any:
    """A value with the paths inside the project made relative to it, so that another clone means the same."""
    if isinstance(value, dict):
        return {key: portable(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [portable(inner) for inner in value]
    if not isinstance(value, str):
        return value
    scheme = "sqlite:///" if value.startswith("sqlite:///") else ""
    return scheme + value.removeprefix(scheme).removeprefix(f"{PROJECT}{os.sep}")


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
