"""The name of a job, and the facts that are recorded of it."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Collection, Sequence
from contextlib import suppress
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from omegaconf import DictConfig, OmegaConf

from ragsweep.core.digest import shortened_with_digest
from ragsweep.core.project import sweep_id
from ragsweep.tracking.address import store_overrides

if TYPE_CHECKING:
    from ragsweep.tracking import Job

SWEEP = "RAGSWEEP_SWEEP"  # in the environment: what every job needs to know about its sweep, as JSON
COMMAND = "RAGSWEEP_COMMAND"  # in the environment: the beginning of the command of every job
UNNAMED = ("dataset", "corpus", "questions", "tracking", "store", "hydra", "dry_run")  # do not name a run
NOT_REPEATED = ("tracking.resume=", "dry_run=", "hydra.job.env_set")  # which may have passwords


def tracked_job(config: DictConfig, unused: Collection[str]) -> Job:
    """The record of the job that Hydra has just started.

    Args:
        config: Of the job.
        unused: The groups that are set and that nothing uses: they do not name a single run.
    """
    from ragsweep.tracking import Job

    in_sweep = sweep_of_job()
    hydra_config = HydraConfig.get()
    task = as_given(hydra_config.overrides.task)
    parsed = OverridesParser.create().parse_overrides(task)
    name, swept = name_and_settings(parsed, in_sweep["swept"] if in_sweep else [], unused)
    mode = ["hydra.mode=RUN"] if any(override.startswith("experiment=") for override in task) else []
    return Job(
        name=name,
        folder=Path(hydra_config.runtime.output_dir),
        overrides=task,
        command=command_of([*task, *mode], config.tracking),
        swept=swept if in_sweep else {},
        sweep_id=sweep_id(),
        parent_run_id=in_sweep["parent_run_id"] if in_sweep else None,
        tracking=config.tracking,
        number=hydra_config.job.num if in_sweep else None,
        total=in_sweep["total"] if in_sweep else None,
        may_resume=bool(in_sweep and in_sweep["may_resume"]),
    )


def sweep_of_job() -> dict[str, Any] | None:
    """What the jobs of a sweep need to know about it; None for a single run."""
    return json.loads(os.environ[SWEEP]) if SWEEP in os.environ else None


def start_no_more_jobs() -> None:
    """Make the jobs of the sweep that have not begun yet end as soon as they start, on any machine."""
    if in_sweep := sweep_of_job():
        with suppress(OSError):
            Path(in_sweep["stop"]).touch()


def command_of(arguments: Sequence[str], store: DictConfig) -> str:
    """The command that runs this again from any folder, on the same store."""
    kept = [argument for argument in arguments if not argument.lstrip("+").startswith(NOT_REPEATED)]
    return " ".join([os.environ[COMMAND], *map(shlex.quote, [*kept, *store_overrides(store, kept)])])


def name_and_settings(
    parsed: Sequence[Override], swept: Sequence[str], unused: Collection[str] = ()
) -> tuple[str, dict[str, Any]]:
    """The name of a run, and the settings in it: the swept ones, or those that were set if nothing is swept.

    Groups that nothing uses do not name a run.
    """
    from ragsweep.sweeps.configuration_names import short_names, told_apart
    from ragsweep.tracking.names import LONGEST_MLFLOW_NAME

    by_name = {item.key_or_group: item for item in parsed if item.key_or_group.partition(".")[0] not in unused}
    telling = [name for name in by_name if name.partition(".")[0] not in UNNAMED]
    shown = [name for name in swept or telling if name in by_name]
    values = {name: _text(by_name[name]) for name in shown}
    words = [
        _word(short, told_apart([value])[value])
        for short, value in zip(short_names(shown), values.values(), strict=True)
    ]
    unchanged = "as recorded" if " --from " in os.environ.get(COMMAND, "") else "defaults"
    settings = {name: _plain(by_name[name]) for name in shown}
    return shortened_with_digest(" ".join(words) or unchanged, LONGEST_MLFLOW_NAME), settings


def _word(name: str, value: str) -> str:
    """A setting as part of a run's name; a named configuration is shown by its name alone."""
    if name == "configuration":
        return value
    with suppress(ValueError):  # a range makes values like 0.7000000000000001
        value = f"{float(value):.12g}" if "." in value else value
    return f"{name}={value}"


def _text(override: Override) -> str:
    """An override's value as it was typed, without the backslashes that Hydra writes before some characters."""
    text = override.get_value_element_as_str()
    return text if text.startswith(("'", '"')) else re.sub(r"\\(.)", r"\1", text)


def _plain(override: Override) -> Any:
    """An override's value as JSON can hold it."""
    value = override.value()
    plain = isinstance(value, bool | int | None) or (isinstance(value, float) and isfinite(value))
    return value if plain else _text(override)


def as_given(overrides: Any) -> list[str]:
    """The overrides as they were typed; one that names an unknown setting, as `${nosuch}`, could not be resolved."""
    given: list[str] = OmegaConf.to_container(overrides, resolve=False)  # type: ignore[assignment]
    return given
