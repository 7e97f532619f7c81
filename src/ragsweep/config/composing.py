"""How Hydra composes configurations here: once where jobs differ only in plain values, and with shared groups.

The one file that uses what Hydra does not promise to keep: its loader, and the step that applies overrides.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from math import inf

import hydra
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra.core.config_loader import ConfigLoader
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, OverrideType
from omegaconf import DictConfig, OmegaConf

from ragsweep.config.options import own_copy, referenced_groups
from ragsweep.core.errors import ConfigError
from ragsweep.core.hydra_versions import IS_1_4

MOST_COMPOSED_KEPT = 64  # a sweep composes each of its jobs twice: while it is checked, and when it runs
# The method of Hydra's loader that sets what overrides name in the composed configuration.
OVERRIDES_METHOD = "_apply_overrides_to_config"
TRIED_HYDRA_VERSIONS = "1.3 and 1.4"


def _step_of_hydra() -> Callable[[list[Override], DictConfig], None]:
    """The step of Hydra's loader. Raises `ConfigError` if this version has none that takes the same arguments."""
    step: Callable[[list[Override], DictConfig], None] | None = getattr(ConfigLoaderImpl, OVERRIDES_METHOD, None)
    if step is None or [*inspect.signature(step).parameters] != ["overrides", "cfg"]:
        raise ConfigError(
            f"hydra-core {hydra.__version__}: composes in another way; ragsweep was tried with {TRIED_HYDRA_VERSIONS}"
        )
    return step


_set_all = _step_of_hydra()


def _set_each(overrides: list[Override], config: DictConfig) -> None:
    """Set what overrides name. Hydra itself does not reach into what refers to a group, as `fusion: ${fusion}` does."""
    for override in _names_first(overrides):
        own_copy(config, override.key_or_group)
        _open_mapping(config, override.key_or_group)
        _set_all([override], config)


def _open_mapping(config: DictConfig, setting: str) -> None:
    """Let settings be added to a mapping of the user's own names, which is empty in its file."""
    for place in (setting, setting.rpartition(".")[0]):
        node = OmegaConf.select(config, place) if place else None
        if isinstance(node, DictConfig) and not node:
            OmegaConf.set_struct(node, False)


def _names_first(overrides: Sequence[Override]) -> list[Override]:
    """Those that name an option before those of its settings, which would be lost: `a.b.c=1 a.b=name`."""
    keys = [override.key_or_group for override in overrides]

    def order(override: Override) -> float:
        key = override.key_or_group
        named = isinstance(override.value(), str) and any(each.startswith(f"{key}.") for each in keys)
        return key.count(".") if named else inf

    return sorted(overrides, key=order)


setattr(ConfigLoaderImpl, OVERRIDES_METHOD, staticmethod(_set_each))


class SharingLoader(ConfigLoaderImpl):
    """Hydra's loader, which composes jobs that differ only in plain values once, and sets the values in copies.

    Composing is slow: reading the files of all groups and merging them takes twenty times as long as a copy.
    """

    def __init__(self, loader: ConfigLoader) -> None:
        vars(self).update(vars(loader))
        self._parser = OverridesParser.create(config_loader=loader)
        self._is_group = cache(loader.get_group_options)
        self._composed: dict[tuple[str | None, ...], DictConfig] = {}

    def load_sweep_config(self, master_config: DictConfig, sweep_overrides: list[str]) -> DictConfig:
        """The configuration of a job, as Hydra composes it."""
        parsed = self._parser.parse_overrides(sweep_overrides)
        values = self._values(parsed)
        shared = tuple(each.key_or_group if each in values else each.input_line for each in parsed)
        shared += tuple(master_config.hydra.overrides.hydra)
        if shared not in self._composed:
            if len(self._composed) >= MOST_COMPOSED_KEPT:
                self._composed.pop(next(iter(self._composed)))
            self._composed[shared] = super().load_sweep_config(master_config, sweep_overrides)
        config = copy.deepcopy(self._composed[shared])
        for override in _names_first(values):
            own_copy(config, override.key_or_group)
            OmegaConf.update(config, override.key_or_group, override.value(), merge=True)
        of_task = [override for override in parsed if not override.is_hydra_override()]
        config.hydra.overrides.task = [override.input_line for override in of_task]
        if not IS_1_4:  # there it follows the overrides by itself
            config.hydra.job.override_dirname = _dirname(of_task, config.hydra.job.config.override_dirname)
        OmegaConf.copy_cache(from_config=master_config, to_config=config)
        return config

    def _values(self, parsed: Sequence[Override]) -> list[Override]:
        """The overrides that only set a plain value, whatever the others set."""
        plain = [each for each in parsed if not isinstance(each.value(), dict | list)]
        options = [each for each in plain if self._is_group(each.key_or_group)]  # Hydra applies them first
        names = [each.key_or_group for each in parsed if each not in options]
        return [
            each
            for each in plain
            if each not in options
            and each.type is OverrideType.CHANGE
            and not each.is_hydra_override()
            and sum(_may_meet(each.key_or_group, name) for name in names) == 1  # itself
        ]


def _may_meet(one: str, other: str) -> bool:
    """Whether one setting is, holds or may be copied into the place of another, so that their order may matter."""
    if f"{one}.".startswith(f"{other}.") or f"{other}.".startswith(f"{one}."):
        return True
    return any(  # what is within a part of a component may be that of a group, to which the component refers
        inner.count(".") > 1 and group.partition(".")[0] in referenced_groups()
        for inner, group in ((one, other), (other, one))
    )


def _dirname(overrides: Sequence[Override], options: DictConfig) -> str:
    """What `${hydra.job.override_dirname}` stands for."""
    lines = sorted(str(each.input_line) for each in overrides if each.key_or_group not in options.exclude_keys)
    return str(options.item_sep).join(lines).replace("=", options.kv_sep)


@lru_cache(maxsize=1)
def sharing(loader: ConfigLoader) -> SharingLoader:
    """The loader that shares what this one composes; the same one for the check of a sweep and for its jobs."""
    return SharingLoader(loader)
