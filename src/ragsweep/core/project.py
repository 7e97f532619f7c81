"""Where things are: the project folder, the configuration, the bundled data, and the name of this start."""

from __future__ import annotations

import os
import shlex
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from ragsweep.core.plugins import plugins

PROJECT = "RAGSWEEP_PROJECT"  # in the environment, so that every worker of a sweep agrees on the project folder
SWEEP_ID = "RAGSWEEP_SWEEP_ID"  # in the environment, for the same reason

PACKAGE = Path(__file__).resolve().parents[1]
SHIPPED = PACKAGE if (PACKAGE / "conf").is_dir() else PACKAGE.parents[1]  # from a wheel, or from a clone
CONF = SHIPPED / "conf"
VERSION_BASE = "1.3"  # whose behaviour Hydra keeps
DATA = "data"  # the folder of datasets, in a project and in what is shipped


def project() -> Path:
    """The folder of store, outputs and tracking database: the current one, unless `PROJECT` names another."""
    return Path(os.environ.get(PROJECT) or Path.cwd()).resolve()


def command(*arguments: object) -> str:
    """The shell text of a command of ragsweep that runs from any folder: it starts in the current one."""
    here = Path.cwd()
    variable = "" if project() == here.resolve() else f"{PROJECT}={shlex.quote(str(project()))} "
    return f"cd {shlex.quote(str(here))} && {variable}{shlex.join(['ragsweep', *map(str, arguments)])}"


def own_conf() -> Path | None:
    """The folder of the user's own configuration groups; None where there is none, or where it is ours."""
    own = project() / "conf"
    return own if own.is_dir() and own != CONF else None


def conf_folders() -> list[Path]:
    """The folders of configuration groups: the kernel's, those of the plugins, then the user's own if there is one."""
    return [*shipped_conf(), *filter(None, [own_conf()])]


def shipped_conf() -> list[Path]:
    """The folders of configuration groups of the kernel and of the plugins."""
    return [CONF, *(plugin.conf for plugin in plugins().values() if plugin.conf)]


def options_of(group: str) -> list[str]:
    """The names that can be chosen in a configuration group."""
    return sorted({path.stem for conf in conf_folders() for path in (conf / group).glob("*.yaml")})


def option_file(group: str, option: str) -> Path | None:
    """The file of an option of a configuration group; None if there is none."""
    files = (folder / group / f"{option}.yaml" for folder in conf_folders())
    return next((file for file in files if option in options_of(group) and file.is_file()), None)


def register_resolvers() -> None:
    """Teach OmegaConf `${project:PATH}`, `${data:PATH}`, `${folder_name:PATH}`, `${sweep_id:}`, `${variable:N,X}`."""
    register = partial(OmegaConf.register_new_resolver, replace=True)
    register("project", lambda path: str(project() / path))
    register("data", lambda path: str(placed(f"{DATA}/{path}")))
    register("folder_name", lambda path: Path(path).resolve().name)
    register("sweep_id", sweep_id)
    register("variable", lambda name, otherwise: os.environ.get(name) or otherwise)


def sweep_id() -> str:
    """The name of this start of the program: sortable by time, and unique on this machine."""
    return os.environ.setdefault(SWEEP_ID, f"{datetime.now():%Y%m%d_%H%M%S}_{os.getpid()}")


def portable(value: Any) -> Any:
    """A value with the paths inside the project made relative to it, so that another project means the same.

    The bundled data is named as if it were in the project, wherever it was installed.
    """
    if isinstance(value, dict):
        return {key: portable(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [portable(inner) for inner in value]
    if not isinstance(value, str):
        return value
    scheme = "sqlite:///" if value.startswith("sqlite:///") else ""
    path = value.removeprefix(scheme)
    if path.startswith(f"{SHIPPED / DATA}{os.sep}"):
        return path.removeprefix(f"{SHIPPED}{os.sep}")
    return scheme + path.removeprefix(f"{project()}{os.sep}")


def placed(path: str) -> Path:
    """Where a path that `portable` has made is on this machine: in the project, or else among the bundled data."""
    here = project() / path
    shipped = SHIPPED / path
    return shipped if path.startswith(f"{DATA}/") and shipped.exists() and not here.exists() else here
