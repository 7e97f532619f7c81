"""Reads every configuration file of the project once, as Hydra reads all of them for every composition."""

from __future__ import annotations

import copy
from functools import cache
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, ListConfig, OmegaConf

PROJECT = Path(__file__).resolve().parents[1]

_load = OmegaConf.load


def load(file: Any) -> DictConfig | ListConfig:
    """What `OmegaConf.load` returns for a path or an open file."""
    path = Path(file if isinstance(file, str | Path) else str(getattr(file, "name", ""))).resolve()
    if not path.is_relative_to(PROJECT):  # a test's own, which it may change
        return _load(file)
    return copy.deepcopy(_loaded(path, path.stat().st_mtime_ns))


@cache
def _loaded(path: Path, changed: int) -> DictConfig | ListConfig:
    return _load(path)
