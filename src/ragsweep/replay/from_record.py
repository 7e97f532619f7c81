"""Makes a recorded configuration the one that a run or a sweep begins with: `ragsweep run --from RUN_ID k=7`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hydra.core.config_store import ConfigStore
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, OverrideType
from omegaconf import OmegaConf

from ragsweep import tracking
from ragsweep.config.annotations import nearest
from ragsweep.config.groups import groups
from ragsweep.core.errors import ConfigError, first_line
from ragsweep.core.parsing import MalformedError, read_text
from ragsweep.core.project import CONF, options_of
from ragsweep.core.terminal import say_once
from ragsweep.replay.trusted_record import OF_HYDRA, TODAYS, composed_today, has_setting, settings_in, trusted
from ragsweep.tracking.mlflow_names import RUN_ID
from ragsweep.tracking.stored_run import LARGEST_SETTINGS_MB

NAME = "recorded"  # of the primary configuration, and of the option of each group that has what is recorded


def register(record: str, overrides: Sequence[str], modules: Sequence[str]) -> str:
    """Give a recorded configuration to Hydra, in place of the defaults. Groups that it does not use keep those.

    Args:
        record: The id of a run, or a file such as the `config/config.yaml` of its artifacts.
        overrides: `name=value`, as they were typed: they say where the store is, replace settings that a record may
            not name, and choose options in place of those recorded.
        modules: Modules outside ragsweep whose classes the record may name.

    Returns:
        The name that it has for Hydra.

    Raises:
        ConfigError: The record contains something that is not allowed, or has no such setting.
        TrackingError: The run cannot be read.
    """
    parsed = OverridesParser.create().parse_overrides([*overrides])
    given = [override for override in parsed if _is_setting(override) or override.key_or_group in TODAYS]
    today, settings = composed_today([str(override.input_line) for override in given])
    if RUN_ID.fullmatch(record):
        text = tracking.fetch_run(today.tracking, record).config
    else:
        try:
            text = read_text(Path(record), LARGEST_SETTINGS_MB)
        except (OSError, MalformedError) as error:
            why = (isinstance(error, OSError) and error.strerror) or first_line(error)
            expected = "the id of a run, or the file config/config.yaml of its artifacts"
            raise ConfigError(f"--from: found {record} ({why}), expected {expected}") from error
    try:
        written = settings_in(text)
        if any(options_of(override.key_or_group) for override in parsed):  # another option may have other settings
            settings = {name: value for name, value in settings.items() if has_setting(written, name)}
        safe: Any = OmegaConf.to_container(trusted(text, today, settings, modules), resolve=False)
    except ConfigError as error:
        raise ConfigError(f"--from {record}: {error}") from error
    if "tokenizer" in safe["task"]:  # as in the task's own file, so that decision.tokenizer=... has an effect
        safe["decision"]["tokenizer"] = safe["task"]["tokenizer"]
        safe["task"]["tokenizer"] = "${decision.tokenizer}"
    primary: Any = OmegaConf.load(CONF / "config.yaml")
    if not RUN_ID.fullmatch(record):  # somebody may have edited it
        if ignored := sorted(written.keys() & {*OF_HYDRA}):
            raise ConfigError(f"--from {record}: {ignored[0]}: is not read from a record; type it in the command")
        names = [*groups(), *map(str, primary), *safe]
        for name in sorted(written.keys() - {*names}):
            if hint := nearest(name, names):
                raise ConfigError(f"--from {record}: {name}: no such setting{hint}")
            say_once(f"{name}: no effect: nothing that is measured uses {name}")
    recorded = {name: value for name, value in safe.items() if name not in TODAYS}
    for option in filter(OmegaConf.is_dict, primary.defaults):
        for group in {*option} & {*recorded}:
            ConfigStore.instance().store(NAME, {group: recorded.pop(group)}, group, "_global_")
            option[group] = NAME
    ConfigStore.instance().store(NAME, OmegaConf.merge(primary, recorded))
    return NAME


def _is_setting(override: Override) -> bool:
    """Whether an override sets one value; the other ones are left to Hydra, which also merges dictionaries."""
    is_one = not override.is_sweep_override() and not isinstance(override.value(), dict)
    is_value = is_one and not options_of(override.key_or_group) and not override.is_hydra_override()
    return is_value and override.type is OverrideType.CHANGE
