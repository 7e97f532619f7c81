"""Composes a configuration once for all jobs that choose the same options, and sets their other values in copies.

Composing is slow: reading the files of all groups and merging them takes twenty times as long as a copy.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any

from hydra.core.config_loader import ConfigLoader
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, OverrideType
from omegaconf import DictConfig, OmegaConf, flag_override
from omegaconf.errors import OmegaConfBaseException

MOST_COMPOSED_KEPT = 64  # a sweep composes each of its jobs twice: while it is checked, and when it runs


class SharingLoader(ConfigLoader):
    """A loader around Hydra's own, for the jobs of one process."""

    def __init__(self, loader: ConfigLoader) -> None:
        self._loader = loader
        self._parser = OverridesParser.create(config_loader=loader)
        self._options_of = cache(loader.get_group_options)
        self._composed: dict[tuple[str, ...], DictConfig] = {}

    def load_sweep_config(self, master_config: DictConfig, sweep_overrides: list[str]) -> DictConfig:
        """The configuration of a job, as Hydra composes it."""
        parsed = self._parser.parse_overrides(sweep_overrides)
        values = self._values(parsed)
        chosen = [str(each.input_line) for each in parsed if each not in values]
        key = (*master_config.hydra.overrides.hydra, *chosen)
        if key not in self._composed:
            if len(self._composed) >= MOST_COMPOSED_KEPT:
                self._composed.pop(next(iter(self._composed)))
            self._composed[key] = self._loader.load_sweep_config(master_config, chosen)
        config = copy.deepcopy(self._composed[key])
        try:
            for override in values:
                OmegaConf.update(config, override.key_or_group, override.value(), merge=True)
        except OmegaConfBaseException:  # Hydra's own error says which setting there is not
            return self._loader.load_sweep_config(master_config, sweep_overrides)
        of_task = [each for each in parsed if not each.is_hydra_override()]
        with flag_override(config, ["struct", "readonly"], False):
            config.hydra.overrides.task = [each.input_line for each in of_task]
            config.hydra.job.override_dirname = _dirname(of_task, config.hydra.job.config.override_dirname)
        OmegaConf.copy_cache(from_config=master_config, to_config=config)
        return config

    def _values(self, parsed: Sequence[Override]) -> list[Override]:
        """The overrides that set a value, and neither choose an option nor meet what another one adds or deletes."""
        others = [each for each in parsed if each.type is not OverrideType.CHANGE or each.is_hydra_override()]
        settings = [each for each in parsed if each not in others and not self._is_choice(each)]
        return [each for each in settings if not any(_meet(each.key_or_group, other.key_or_group) for other in others)]

    def _is_choice(self, override: Override) -> bool:
        is_group = override.package or self._options_of(override.key_or_group)
        return bool(is_group) and not isinstance(override.value(), dict)

    def load_configuration(self, *arguments: Any, **named: Any) -> DictConfig:
        """As Hydra's loader."""
        return self._loader.load_configuration(*arguments, **named)

    def get_search_path(self) -> Any:
        """As Hydra's loader."""
        return self._loader.get_search_path()

    def get_sources(self) -> Any:
        """As Hydra's loader."""
        return self._loader.get_sources()

    def list_groups(self, parent_name: str) -> list[str]:
        """As Hydra's loader."""
        return self._loader.list_groups(parent_name)

    def get_group_options(self, *arguments: Any, **named: Any) -> list[str]:
        """As Hydra's loader."""
        return self._loader.get_group_options(*arguments, **named)

    def compute_defaults_list(self, *arguments: Any, **named: Any) -> Any:
        """As Hydra's loader."""
        return self._loader.compute_defaults_list(*arguments, **named)


def _meet(one: str, other: str) -> bool:
    """Whether one setting is, or holds, another."""
    return f"{one}.".startswith(f"{other}.") or f"{other}.".startswith(f"{one}.")


def _dirname(overrides: Sequence[Override], options: DictConfig) -> str:
    """What `${hydra.job.override_dirname}` stands for."""
    lines = sorted(str(each.input_line) for each in overrides if each.key_or_group not in options.exclude_keys)
    return str(options.item_sep).join(lines).replace("=", options.kv_sep)


@lru_cache(maxsize=1)
def sharing(loader: ConfigLoader) -> SharingLoader:
    """The loader that shares what this one composes; the same one for the check of a sweep and for its jobs."""
    return SharingLoader(loader)
