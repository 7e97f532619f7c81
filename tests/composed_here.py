"""Configurations as `ragsweep run` composes them, without a process; composed once for all that choose the same."""

from __future__ import annotations

from functools import cache

from hydra import initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.types import RunMode
from omegaconf import DictConfig

from ragsweep.app.error_messages import without_hydra
from ragsweep.config.composing import SharingLoader
from ragsweep.core.project import CONF, register_resolvers


def composed(*overrides: str) -> DictConfig:
    """The configuration that these overrides make of the defaults."""
    sharing, defaults = _loader()
    return without_hydra(sharing.load_sweep_config(defaults, [*overrides]))


@cache
def _loader() -> tuple[SharingLoader, DictConfig]:
    register_resolvers()
    with initialize_config_dir(str(CONF), version_base="1.3"):
        loader = GlobalHydra.instance().config_loader()
    return SharingLoader(loader), loader.load_configuration("config", [], RunMode.MULTIRUN)
