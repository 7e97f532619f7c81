"""The configuration: what its settings may be, how objects are built from it, and what of it took effect."""

from __future__ import annotations

import difflib
import inspect
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

from hydra.errors import InstantiationException
from hydra.utils import get_object, instantiate
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import InterpolationResolutionError, MissingMandatoryValue, OmegaConfBaseException

from ragsweep.digest import digest_file
from ragsweep.errors import ConfigError, RagsweepError, first_line

PROJECT = Path(__file__).resolve().parents[2]
CONF = PROJECT / "conf"
SWEEP_ID = "RAGSWEEP_SWEEP_ID"  # in the environment, so that every worker of a sweep agrees on it


class Rule(NamedTuple):
    """What a setting may be, in words and as a check."""

    expected: str
    accepts: Callable[[Any], bool]


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _at_least(low: int) -> Rule:
    return Rule(f"a whole number of at least {low}", lambda value: _whole(value) and value >= low)


def _whole_between(low: int, high: int) -> Rule:
    return Rule(f"a whole number from {low} to {high}", lambda value: _whole(value) and low <= value <= high)


def _between(low: float, high: float) -> Rule:
    return Rule(f"a number from {low:g} to {high:g}", lambda value: _number(value) and low <= value <= high)


def _positive(low: float = 0) -> Rule:
    return Rule(f"a number of at least {low:g}", lambda value: _number(value) and low <= value < float("inf"))


def _one_of(*options: str | None) -> Rule:
    words = ["null" if option is None else option for option in options]
    return Rule(" or ".join(words), lambda value: value in options)


def _or_null(rule: Rule) -> Rule:
    return Rule(f"{rule.expected}, or null", lambda value: value is None or rule.accepts(value))


TEXT = Rule("a text that is not empty", lambda value: isinstance(value, str) and value.strip() != "")
ADDRESS = Rule(
    "an address such as http://127.0.0.1:5000 or sqlite:////home/me/mlflow.db",
    lambda value: isinstance(value, str) and "://" in value,
)
SWITCH = Rule("true or false", lambda value: isinstance(value, bool))

# Settings by the names that users type; `*` stands for the retriever itself or the part of a hybrid one.
RULES = {
    "k": _whole_between(1, 1000),  # every cutoff up to k is measured and logged
    "seed": _at_least(0),
    "dataset.name": TEXT,
    "dataset.documents": TEXT,
    "dataset.queries": TEXT,
    "dataset.path": TEXT,
    "dataset.split": TEXT,
    "dataset.page_numbers": _one_of("physical", "label"),
    "dataset.match": _one_of("qualified", "page_number"),
    "dataset.unit": _one_of("page", "document"),
    "chunker.size": _at_least(1),
    "chunker.overlap": _at_least(0),
    "encoder.model": TEXT,
    "encoder.device": _or_null(TEXT),
    "encoder.backend": _one_of("torch", "onnx", "openvino"),
    "encoder.precision": _one_of("fp32", "bf16", "int8"),
    "encoder.batch_size": _at_least(1),
    "index.m": _whole_between(2, 512),
    "index.ef_construction": _at_least(1),
    "index.ef_search": _at_least(1),
    "index.lists": _at_least(1),
    "index.probes": _at_least(1),
    "index.subquantizers": _at_least(1),
    "index.seed": _at_least(0),
    "retriever.alpha": _between(0, 1),
    "retriever.candidates": _or_null(_at_least(1)),
    "retriever*.k1": _positive(),
    "retriever*.b": _between(0, 1),
    "retriever.backend": _one_of("rank_bm25", "bm25s"),
    "retriever.sparse.backend": _one_of("rank_bm25", "bm25s"),
    "retriever*.epsilon": _positive(),
    "retriever*.variant": _one_of("lucene", "robertson", "atire", "bm25l", "bm25+"),
    "retriever*.delta": _positive(),
    "retriever*.stop_words": _one_of("english", None),
    "retriever*.stemmer": _or_null(TEXT),
    "evaluation.collapse": _one_of("after_cutoff", "before_cutoff"),
    "evaluation.relevance_level": _at_least(1),
    "evaluation.gain": _one_of("linear", "exponential"),
    "evaluation.resamples": _at_least(100),
    "tracking.uri": ADDRESS,
    "tracking.artifacts": _or_null(TEXT),
    "tracking.resume": SWITCH,
    "tracking.fail_fast": SWITCH,
    "tracking.experiment": TEXT,
    "store.path": TEXT,
    "store.enabled": SWITCH,
    "store.max_gb": _or_null(_positive()),
}


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
    for name, value in leaves(config):
        for pattern, rule in RULES.items():
            if fnmatchcase(name, pattern) and _ours(config, name) and not rule.accepts(value):
                found = "null" if value is None else repr(value)
                raise ConfigError(f"{name}: found {found}, expected {rule.expected}")
    if "f1" not in (config.evaluation.metrics or {}):
        raise ConfigError("evaluation.metrics: f1 is missing; a sweep is decided by it")
    size, overlap = (OmegaConf.select(config, f"chunker.{name}") for name in ("size", "overlap"))
    if _ours(config, "chunker.size") and size is not None and overlap is not None and overlap >= size:
        raise ConfigError(f"chunker.overlap: found {overlap}, expected less than chunker.size ({size})")
    depth = OmegaConf.select(config, "index.ef_search")
    if _ours(config, "index.ef_search") and depth is not None and depth < config.k:
        raise ConfigError(f"index.ef_search: found {depth}, expected at least k ({config.k})")
    return config


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


def _ours(config: DictConfig, name: str) -> bool:
    """Whether a setting belongs to a class of ragsweep; what a user's own class takes is its own affair."""
    node = OmegaConf.select(config, name.rpartition(".")[0]) if "." in name else None
    target = node.get("_target_", "ragsweep.") if isinstance(node, DictConfig) else "ragsweep."
    return str(target).startswith("ragsweep.")


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
    """Digest of the file that each class or function from outside ragsweep is written in, by its dotted name."""
    named = {str(value) for name, value in leaves(config) if name.endswith("_target_")}
    files = {name: _source(name) for name in sorted(named) if not name.startswith("ragsweep.")}
    return {name: digest_file(Path(file)) for name, file in files.items() if file}


def _source(name: str) -> str | None:
    with suppress(TypeError, ImportError):  # nothing that is written in Python
        return inspect.getsourcefile(get_object(name))
    return None


def took_effect(config: DictConfig, built: Mapping[str, object]) -> dict[str, Any]:
    """The settings that took effect, flat, by the names under which a user sets them.

    A value is read from the built object where that has an attribute of the setting's name. A part that is shared by
    interpolation, such as the encoder within a retriever, is named by its group; a group that nothing uses is absent,
    and so is what an object lists as `without_effect`.

    Args:
        config: The configuration.
        built: Objects by the name of their node.
    """
    settings: dict[str, Any] = {}
    for name, part in built.items():
        settings.update(_settings(config, config[name], part, name))
    return dict(sorted(settings.items()))


def _settings(config: DictConfig, node: DictConfig, part: object, name: str) -> Iterator[tuple[str, Any]]:
    if "_partial_" in node:
        arguments = ", ".join(f"{key}={node[key]}" for key in map(str, node) if not key.startswith("_"))
        yield name, f"{node._target_}({arguments})"
        return
    if "_target_" in node:
        ours = type(part).__module__.startswith("ragsweep.")
        yield name, type(part).__name__ if ours else f"{type(part).__module__}.{type(part).__qualname__}"
    if hasattr(part, "fingerprint"):
        yield f"{name}.fingerprint", part.fingerprint
    for key in map(str, node):
        if key == "store" or key.startswith("_") or key in getattr(part, "without_effect", ()):
            continue
        value = getattr(part, key, node[key])
        if isinstance(node[key], DictConfig):
            yield from _settings(config, node[key], value, key if key in config else f"{name}.{key}")
        else:
            yield f"{name}.{key}", portable(value)


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
