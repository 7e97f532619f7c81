"""The arguments of `ragsweep run`, before Hydra reads them."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Sequence
from string import Template
from typing import NamedTuple

from omegaconf import OmegaConf

from ragsweep.app.commands import composed
from ragsweep.config.groups import groups
from ragsweep.config.ignored_input import refuse_repeated, refuse_unread
from ragsweep.core.errors import ConfigError
from ragsweep.core.project import options_of

HELP = {"--help", "-h"}
OF_HYDRA = {"--multirun": "-m", "--config-dir": "-cd", "--cfg": "-c", "--package": "-p"}
NOT_READ = {"--config-path": "-cp", "--config-name": "-cn", "--experimental-rerun": "--experimental-rerun"}
PARAMS = "hydra.sweeper.params."
INSTEAD = (
    "ragsweep run --from RUN_ID, or --from FILE, measures the recorded configuration of a run; settings of your own "
    "go into conf/experiment/NAME.yaml, for experiment=NAME"
)


class Arguments(NamedTuple):
    """What was typed."""

    options: list[str]  # that Hydra reads
    overrides: list[str]  # name=value
    kept: list[str]  # options that belong to the command of each job
    multirun: bool
    record: str | None  # the run, or the file, whose configuration is measured
    modules: list[str]  # of the user's, whose classes the record may name


def read_arguments(typed: Sequence[str]) -> Arguments:
    """Read what was typed, in any order. Raises `ConfigError` for what Hydra would ignore."""
    parser = ArgumentParser("ragsweep run", add_help=False, allow_abbrev=False)
    for name, short in (OF_HYDRA | NOT_READ).items():
        parser.add_argument(name, short, action="store_true" if name == "--multirun" else "store")
    parser.add_argument("--from", dest="record", metavar="RUN_ID")
    parser.add_argument("--allow", action="append", default=[], metavar="MODULE")
    given, others = parser.parse_known_args(typed)
    for name in NOT_READ:
        if vars(given)[name[2:].replace("-", "_")] is not None:
            raise ConfigError(f"{name}: is not read; {INSTEAD}")
    folder = ["--config-dir", given.config_dir] if given.config_dir else []
    record = ["--from", given.record] if given.record else []
    kept = [*folder, *record, *(text for module in given.allow for text in ("--allow", module))]
    options = [argument for argument in others if argument.startswith("-") and argument != "-v"]
    options += [*folder, *(["--multirun"] if given.multirun else [])]
    for name, value in (("--cfg", given.cfg), ("--package", given.package)):
        options += [name, value] if value else []
    overrides = [argument for argument in others if not argument.startswith("-")]
    refuse_repeated(overrides)
    for override in overrides:
        if override.startswith(PARAMS) and not any(other.startswith("hydra/sweeper=") for other in overrides):
            raise ConfigError(f"{override}: is for files; write {override.removeprefix(PARAMS)}")
    if not HELP & {*others}:
        refuse_unread(["-m", *overrides] if given.multirun else overrides, given.config_dir)
    return Arguments(options, overrides, kept, given.multirun, given.record, given.allow)


def help_of(given: Arguments) -> str | None:
    """What `--help` prints, the same as Hydra in a third of its time; None without it."""
    if not HELP & {*given.options} or {*given.options} - {*HELP, "--multirun"}:
        return None
    config = composed(given.overrides, with_hydra=True)
    template = Template(config.hydra.help.template)
    settings = OmegaConf.masked_copy(config, [str(key) for key in config if key != "hydra"])
    listed = [f"{group}: {', '.join(options_of(group))}\n" for group in sorted({*groups()} - {"hydra"})]
    return template.substitute(APP_CONFIG_GROUPS="".join(listed), CONFIG=OmegaConf.to_yaml(settings))
