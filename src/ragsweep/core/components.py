"""Components: the objects that nodes of the configuration with `_target_` describe."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from typing import Any

from hydra._internal.utils import _locate as locate  # `get_object` also prints what it raises
from hydra.errors import InstantiationException
from hydra.utils import instantiate
from omegaconf import DictConfig, ListConfig
from omegaconf.errors import OmegaConfBaseException

from ragsweep.core.code import digest_of_module
from ragsweep.core.errors import ConfigError, RagsweepError, first_line
from ragsweep.core.settings import leaves

HYDRA_UTILS = "hydra.utils."


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


@cache
def target_of(name: str) -> Callable[..., Any] | None:
    """The class or function of this name; None where there is none, which building will say."""
    with suppress(Exception):  # importing a module of the user's can raise anything
        found: Callable[..., Any] = locate(name)
        return found
    return None


def is_ours(part: DictConfig) -> bool:
    """Whether a component's class is one of ours, or is derived from one."""
    target = target_of(str(part._target_))
    bases = target.__mro__ if inspect.isclass(target) else ()
    return any(base.__module__.startswith("ragsweep.") for base in bases)


def components(name: str, node: DictConfig) -> Iterator[tuple[str, DictConfig]]:
    """A component and those within it, by their paths."""
    yield name, node
    for key in map(str, node):
        value = node[key]
        for at, part in enumerate(value) if isinstance(value, ListConfig) else [(None, value)]:
            if isinstance(part, DictConfig) and isinstance(part.get("_target_"), str):
                yield from components(f"{name}.{key}" if at is None else f"{name}.{key}.{at}", part)


def digests_of_others(config: DictConfig) -> dict[str, str]:
    """Digest of the code of each class or function from outside ragsweep, by its dotted name."""
    settings = dict(leaves(config))
    named = {str(value) for name, value in settings.items() if name.endswith("_target_")}
    named |= {  # hydra.utils.get_method hands on what its `path` names
        str(value)
        for name, value in settings.items()
        if name.endswith(".path") and str(settings.get(f"{name.removesuffix('path')}_target_")).startswith(HYDRA_UTILS)
    }
    targets = {name: target_of(name) for name in sorted(named) if not name.startswith("ragsweep.")}
    return {name: digest_of_module(target.__module__) for name, target in targets.items() if target}
