"""Where things are: the project, its configuration, and the name of this start of the program."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

PROJECT = Path(__file__).resolve().parents[3]
CONF = PROJECT / "conf"
SWEEP_ID = "RAGSWEEP_SWEEP_ID"  # in the environment, so that every worker of a sweep agrees on it


def register_resolvers() -> None:
    """Teach OmegaConf `${project:PATH}`, `${sweep_id:}` and `${folder_name:PATH}`."""
    OmegaConf.register_new_resolver("project", lambda path: str(PROJECT / path), replace=True)
    OmegaConf.register_new_resolver("folder_name", lambda path: Path(path).resolve().name, replace=True)
    OmegaConf.register_new_resolver("sweep_id", sweep_id, replace=True)


def sweep_id() -> str:
    """The name of this start of the program: sortable by time, and unique on this machine."""
    return os.environ.setdefault(SWEEP_ID, f"{datetime.now():%Y%m%d_%H%M%S}_{os.getpid()}")


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
