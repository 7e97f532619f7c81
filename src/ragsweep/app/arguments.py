"""The arguments of `ragsweep run`, before Hydra reads them."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Sequence
from string import Template

from omegaconf import OmegaConf

from ragsweep.app.commands import composed
from ragsweep.config.groups import groups
from ragsweep.config.ignored_input import refuse_repeated, refuse_unread
from ragsweep.core.errors import ConfigError
from ragsweep.core.project import options_of

HELP = ("--help", "-h")
WITH_VALUE = ("--package", "-p", "--config-path", "-cp", "--config-name", "-cn", "--config-dir", "-cd", "--cfg", "-c")


def options_first(arguments: Sequence[str]) -> list[str]:
    """The arguments with overrides last: argparse does not find overrides on both sides of an option."""
    options: list[str] = []
    overrides: list[str] = []
    for before, argument in zip(["", *arguments], arguments, strict=False):
        is_option = argument.startswith("-") or before in WITH_VALUE or not ("=" in argument or argument[:1] == "~")
        (options if is_option else overrides).append(argument)
    return [*options, *overrides]


def check_arguments(arguments: Sequence[str]) -> None:
    """Raise `ConfigError` for what Hydra would ignore."""
    parser = ArgumentParser(add_help=False, allow_abbrev=False)
    for names in zip(WITH_VALUE[::2], WITH_VALUE[1::2], strict=True):
        parser.add_argument(*names)
    parser.add_argument("--multirun", "-m", action="store_true")
    given, others = parser.parse_known_args(arguments)
    if any(argument.startswith("--exp") for argument in others):
        raise ConfigError("--experimental-rerun: unpickles what it is given; give a record by --config-path")
    overrides = [argument for argument in others if not argument.startswith("-")]
    refuse_repeated(overrides)
    if not {*HELP, "--shell-completion", "-sc"} & {*others}:
        settings = ["-m", *overrides] if given.multirun else overrides
        refuse_unread(settings, given.config_name, given.config_path, given.config_dir)


def help_of(arguments: Sequence[str]) -> str | None:
    """What `--help` prints beside overrides, the same as Hydra in a third of its time; None for other arguments."""
    options = {argument for argument in arguments if argument.startswith("-")}
    if not options or not options <= {*HELP, "-m", "--multirun"} or not options & {*HELP}:
        return None
    config = composed([argument for argument in arguments if argument not in options], with_hydra=True)
    template = Template(config.hydra.help.template)
    settings = OmegaConf.masked_copy(config, [str(key) for key in config if key != "hydra"])
    listed = [f"{group}: {', '.join(options_of(group))}\n" for group in sorted({*groups()} - {"hydra"})]
    return template.substitute(APP_CONFIG_GROUPS="".join(listed), CONFIG=OmegaConf.to_yaml(settings))
