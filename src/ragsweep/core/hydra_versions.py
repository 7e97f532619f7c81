"""Names that Hydra and OmegaConf changed in Hydra 1.4; Hydra 1.5 drops the old ones."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import Any

from omegaconf import OmegaConf
from packaging.version import Version

IS_1_4 = Version(version("hydra-core")) >= Version("1.4.0rc1")
VERSION_BASE: dict[str, Any] = {} if IS_1_4 else {"version_base": "1.3"}  # of hydra.main and hydra.initialize...

if IS_1_4:  # a configuration of ours names classes, which is what 1.4 warns of
    warnings.filterwarnings("ignore", message=r"hydra.utils.instantiate\(\) resolved", category=UserWarning)


def share_config_store() -> None:
    """Let all of Hydra's repositories share the store of structured configurations.

    Each composition, and each group that `--help` lists, makes a deep copy of it: 20 ms with a few launchers installed.
    What is loaded from it is copied once more, so nothing can change it.
    """
    from hydra.core.config_store import ConfigStore  # here, as the library alone does without Hydra

    ConfigStore.__deepcopy__ = lambda self, memo: self  # type: ignore[attr-defined]


def register_resolver(name: str, resolver: Callable[..., Any]) -> None:
    """Teach OmegaConf `${name:}`; another resolver of this name is replaced."""
    register: Any = OmegaConf.register_resolver if IS_1_4 else OmegaConf.register_new_resolver
    register(name, resolver, replace=True)


def store_config(name: str, config: Mapping[str, Any], group: str, package: str) -> None:
    """Add an option to a group; another one of this name is replaced."""
    from hydra.core.config_store import ConfigStore

    replace: dict[str, Any] = {"replace": True} if IS_1_4 else {}
    ConfigStore.instance().store(name, config, group=group, package=package, **replace)
