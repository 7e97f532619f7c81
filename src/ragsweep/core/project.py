"""Folders of the project, and commands, settings and variables as a shell writes them."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from ragsweep.core.errors import ConfigError
from ragsweep.core.parsing import MalformedError, read_text
from ragsweep.core.plugins import plugins

PROJECT = "RAGSWEEP_PROJECT"  # in the environment, so that every worker of a sweep agrees on the project folder
SWEEP_ID = "RAGSWEEP_SWEEP_ID"  # in the environment, for the same reason

PACKAGE = Path(__file__).resolve().parents[1]
SHIPPED = PACKAGE if (PACKAGE / "conf").is_dir() else PACKAGE.parents[1]  # from a wheel, or from a clone
CONF = SHIPPED / "conf"
VERSION_BASE = "1.3"  # whose behaviour Hydra keeps
DATA = "data"  # the folder of datasets, in a project and in what is shipped
LARGEST_ENV_MB = 1
UNQUOTED = re.compile(r"[\w./:-]+", re.ASCII)  # in a setting that is typed


def project() -> Path:
    """The folder of store, outputs and tracking database: the current one, unless `PROJECT` names another."""
    return Path(os.environ.get(PROJECT) or Path.cwd()).resolve()


def command(*arguments: object) -> str:
    """The shell text of a command of ragsweep that runs from any folder: it starts in the current one."""
    folder = Path.cwd()
    variable = "" if project() == folder.resolve() else f"{PROJECT}={shlex.quote(str(project()))} "
    return f"cd {shlex.quote(str(folder))} && {variable}{shlex.join(['ragsweep', *map(str, arguments)])}"


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
    """The place of a path from `portable` on this machine: in the project, or else in the bundled data."""
    own = project() / path
    shipped = SHIPPED / path
    return shipped if path.startswith(f"{DATA}/") and shipped.exists() and not own.exists() else own


def variable(name: str) -> str:
    """The value of a variable without the space around it, empty if it is not set.

    Raises:
        ConfigError: The file `.env` cannot be read. The error does not repeat its content.
    """
    return (os.environ.get(name) or _of_file(name) or "").strip()


def _of_file(name: str) -> str | None:
    from dotenv import dotenv_values

    path = project() / ".env"
    if not path.exists():
        return None
    try:
        return dotenv_values(stream=StringIO(read_text(path, LARGEST_ENV_MB)), interpolate=False).get(name)
    except (MalformedError, OSError) as error:
        raise ConfigError(f"{path}: cannot be read ({error})") from None  # the error could hold the content


def typed(name: str, value: str | Sequence[str]) -> str:
    """A setting as it is typed in a shell, `name=value`, so that a configuration gets exactly this value."""
    shown = for_hydra(value) if isinstance(value, str) else f"[{','.join(map(for_hydra, value))}]"
    return shlex.quote(f"{name}={shown}")


def for_hydra(text: str) -> str:
    """A text as Hydra reads it back, in quotes if it has special characters or looks like a number, true or null."""
    from hydra.core.override_parser.types import Quote, QuotedString

    if UNQUOTED.fullmatch(text) and _is_read_as_text(text):
        return text
    text = re.sub(r"(\\*)\$\{", r"\1\1\\${", text)  # else OmegaConf fills in another setting
    return QuotedString(text, Quote.double).with_quotes()


def _is_read_as_text(text: str) -> bool:
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException

    try:
        return bool(OverridesParser.create().parse_override(f"name=[{text}]").value() == [text])
    except HydraException:
        return False
