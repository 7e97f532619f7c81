"""Composes a configuration once for all jobs that choose the same options, and sets their other values in copies.

Composing is slow: reading the files of all groups and merging them takes twenty times as long as a copy.
"""

from __future__ import annotations

import copy
import uuid
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any

from hydra.core.config_loader import ConfigLoader
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, OverrideType
from hydra.errors import ConfigCompositionException
from omegaconf import DictConfig, OmegaConf, flag_override
from omegaconf.errors import OmegaConfBaseException

MOST_COMPOSED_KEPT = 64  # a sweep composes each of its jobs twice: while it is checked, and when it runs

_of_worker: dict[str, SharingLoader] = {}  # by the key of the loader of the process that has started the jobs


class SharingLoader:
    """A loader around Hydra's own, for the jobs of one process: all that it does not do itself is Hydra's."""

    def __init__(self, loader: ConfigLoader, key: str = "") -> None:
        self._loader, self._key = loader, key or uuid.uuid4().hex
        parse = OverridesParser.create(config_loader=loader).parse_overrides
        self._parse = cache(lambda line: parse([line])[0])  # `parse_override` would leave glob(*) without its options
        self._options_of = cache(loader.get_group_options)  # slow: asked only for what may be a group
        self._composed: dict[tuple[str, ...], DictConfig] = {}

    def load_sweep_config(self, master_config: DictConfig, sweep_overrides: list[str]) -> DictConfig:
        """The configuration of a job, as Hydra composes it."""
        parsed = self.parsed(sweep_overrides)
        values = self._values(parsed)
        config = copy.deepcopy(self.chosen(master_config, [line for line in parsed if line not in values]))
        try:
            for override in values:
                OmegaConf.update(config, override.key_or_group, override.value(), merge=True)
        except OmegaConfBaseException:  # Hydra's own error says which setting there is not
            return self._loader.load_sweep_config(master_config, sweep_overrides)
        of_task = [override for override in parsed if not override.is_hydra_override()]
        with flag_override(config, ["struct", "readonly"], False):
            config.hydra.overrides.task = [override.input_line for override in of_task]
            about = config.hydra.job.config.override_dirname
            named = sorted(str(line.input_line) for line in of_task if line.key_or_group not in about.exclude_keys)
            config.hydra.job.override_dirname = about.item_sep.join(named).replace("=", about.kv_sep)
        OmegaConf.copy_cache(from_config=master_config, to_config=config)
        return config

    def parsed(self, overrides: Sequence[str]) -> list[Override]:
        """The overrides, each parsed once."""
        return [*map(self._parse, overrides)]

    def chosen(self, master_config: DictConfig, overrides: Sequence[Override]) -> DictConfig:
        """What Hydra composes for overrides that choose options. All jobs share it: do not change it."""
        lines = [str(override.input_line) for override in overrides]
        given: Any = OmegaConf.to_container(master_config.hydra.overrides.hydra, resolve=False)
        key = (*given, *lines)
        if key not in self._composed:
            if len(self._composed) >= MOST_COMPOSED_KEPT:
                self._composed.pop(next(iter(self._composed)))
            try:
                self._composed[key] = self._loader.load_sweep_config(master_config, lines)
            except ValueError as error:  # of a group that is set to null
                raise ConfigCompositionException(str(error)) from error
        return self._composed[key]

    def _values(self, parsed: Sequence[Override]) -> list[Override]:
        """The overrides that set a value, and neither choose an option nor meet what another one adds or deletes."""
        changes = [line for line in parsed if line.type is OverrideType.CHANGE and not line.is_hydra_override()]
        structural = tuple(f"{line.key_or_group}." for line in parsed if line not in changes)

        def is_met(name: str) -> bool:
            return name.startswith(structural) or any(other.startswith(name) for other in structural)

        return [line for line in changes if not self.is_structural(line) and not is_met(f"{line.key_or_group}.")]

    def is_structural(self, override: Override) -> bool:
        """Whether an override chooses an option, or several in turn, or adds or deletes, rather than set a value."""
        is_group = override.package or ("." not in (name := override.key_or_group) and self._options_of(name))
        return override.type is not OverrideType.CHANGE or (bool(is_group) and not isinstance(override.value(), dict))

    def __getattr__(self, name: str) -> Any:
        """What Hydra's loader has under this name."""
        return getattr(self._loader, name)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle it as the loader that the process of a launcher has already: every job brings a copy."""
        return _in_worker, (self._loader, self._key)


def _in_worker(loader: ConfigLoader, key: str) -> SharingLoader:
    if key not in _of_worker:
        _of_worker[key] = SharingLoader(loader, key)
    return _of_worker[key]


@lru_cache(maxsize=1)
def sharing(loader: ConfigLoader) -> SharingLoader:
    """The loader that shares what this one composes; the same one for the check of a sweep and for its jobs."""
    return SharingLoader(loader)
