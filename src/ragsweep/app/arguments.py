"""The arguments of `ragsweep run`, before Hydra reads them."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Sequence
from typing import NoReturn

from ragsweep.config.ignored_input import refuse_repeated, refuse_unread
from ragsweep.core.errors import ConfigError

FLAGS = ("--help -h", "--hydra-help", "--version", "--resolve", "--run -r", "--multirun -m", "--shell-completion -sc")
WITH_VALUE = ("--package -p", "--config-path -cp", "--config-name -cn", "--config-dir -cd")
CFG = ("job", "hydra", "all")
INFO = ("all", "config", "defaults", "defaults-tree", "plugins", "searchpath")


class _Parser(ArgumentParser):
    """Knows Hydra's options; Hydra's own parser would print its usage and exit."""

    def __init__(self) -> None:
        super().__init__(add_help=False)
        for names in FLAGS:
            self.add_argument(*names.split(), action="store_true")
        for names in WITH_VALUE:
            self.add_argument(*names.split())
        self.add_argument("--cfg", "-c", choices=CFG)
        self.add_argument("--info", "-i", nargs="?", choices=INFO)
        self.add_argument("overrides", nargs="*")

    def error(self, message: str) -> NoReturn:
        raise ConfigError(f"{message}; ragsweep run --help shows examples")


def options_first(arguments: Sequence[str]) -> list[str]:
    """The arguments with overrides last: argparse does not find overrides on both sides of an option."""
    with_value = {"-c", "--cfg", *" ".join(WITH_VALUE).split()}
    options: list[str] = []
    overrides: list[str] = []
    for before, each in zip(["", *arguments], arguments, strict=False):
        is_option = each.startswith("-") or before in with_value or not ("=" in each or each.startswith("~"))
        (options if is_option else overrides).append(each)
    return [*options, *overrides]


def check_options(arguments: Sequence[str]) -> None:
    """Raise `ConfigError` for options that Hydra does not know, and for what it would ignore."""
    given = _Parser().parse_args(arguments)
    refuse_repeated(given.overrides)
    if not (given.help or given.shell_completion):
        settings = ["-m", *given.overrides] if given.multirun else given.overrides
        refuse_unread(settings, given.config_name, given.config_path, given.config_dir)
