"""Makes a recorded configuration the one that a run or a sweep begins with: `ragsweep run --from RUN_ID k=7`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
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
from ragsweep.core.project import CONF, option_file, options_of
from ragsweep.core.terminal import say_once
from ragsweep.replay.trusted_record import TODAYS, composed_today, settings_in, trusted
from ragsweep.tracking.names import RUN_ID
from ragsweep.tracking.stored_run import LARGEST_SETTINGS_MB

NAME = "recorded"  # of the primary configuration
OTHER_OPTION = re.compile(r"override /(\w+)")  # in the defaults list of an option


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
    chosen = {group for override in parsed for group in _chosen_groups(override)}
    given = [str(override.input_line) for override in parsed if _is_setting(override, chosen - {*TODAYS})]
    today, settings = composed_today(given)
    if RUN_ID.fullmatch(record):
        text = tracking.fetch_run(today.tracking, record).config
    else:
        try:
            text = read_text(Path(record), LARGEST_SETTINGS_MB)
        except (OSError, MalformedError) as error:
            why = (isinstance(error, OSError) and error.strerror) or first_line(error)
            what = "the id of a run, or the file config/config.yaml of its artifacts"
            raise ConfigError(f"--from: found {record} ({why}), expected {what}") from error
    try:
        safe: Any = OmegaConf.to_container(trusted(text, today, settings, modules), resolve=False)
    except ConfigError as error:
        raise ConfigError(f"--from {record}: {error}") from error
    if "tokenizer" in safe["task"]:  # as in the task's own file, so that decision.tokenizer=... has an effect
        safe["decision"]["tokenizer"] = safe["task"]["tokenizer"]
        safe["task"]["tokenizer"] = "${decision.tokenizer}"
    recorded = {str(name): value for name, value in safe.items() if name not in (*TODAYS, *chosen)}
    primary = OmegaConf.load(CONF / "config.yaml")
    if not RUN_ID.fullmatch(record):  # somebody may have edited it
        names = [*groups(), *map(str, primary), *safe]
        for name in sorted(settings_in(text).keys() - {*names}):
            if hint := nearest(name, names):
                raise ConfigError(f"--from {record}: {name}: no such setting{hint}")
            say_once(f"{name}: no effect: nothing that is measured uses {name}")
    defaults = [option for option in primary.defaults if not (OmegaConf.is_dict(option) and {*option} & {*recorded})]
    node = OmegaConf.merge(primary, recorded, {"defaults": defaults})
    ConfigStore.instance().store(NAME, node)
    return NAME


def _is_setting(override: Override, chosen: set[str]) -> bool:
    """Whether an override sets a value that the record may have; the other ones are left to Hydra, which merges."""
    is_ours = override.key_or_group.partition(".")[0] not in chosen and not override.is_hydra_override()
    is_one = not override.is_sweep_override() and not isinstance(override.value(), dict)
    return is_ours and override.type is OverrideType.CHANGE and is_one


def _chosen_groups(override: Override) -> Iterator[str]:
    """The groups of which an override chooses the option: its own, and those for which that option chooses one."""
    values = override.sweep_string_iterator() if override.is_sweep_override() else [override.value()]
    for value in values:
        if not str(value).startswith("{"):  # settings
            yield from _with_others(override.key_or_group, str(value))


def _with_others(group: str, option: str) -> Iterator[str]:
    """A group, and those for which an option of it chooses one."""
    if not options_of(group):
        return
    yield group
    if file := option_file(group, option):
        for line in OmegaConf.select(OmegaConf.load(file), "defaults") or []:
            for name, other in line.items() if OmegaConf.is_dict(line) else ():
                for overridden in OTHER_OPTION.findall(str(name)):
                    yield from _with_others(overridden, str(other))
