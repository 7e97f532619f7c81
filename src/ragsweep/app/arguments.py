"""The arguments of the command line, before Hydra reads them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from hydra._internal.utils import get_args_parser

from ragsweep.core.errors import ConfigError


def options_first(arguments: Sequence[str]) -> list[str]:
    """The arguments with overrides last: Hydra's parser does not find overrides on both sides of an option."""
    actions = get_args_parser()._actions
    with_value = {name for action in actions if action.nargs is None for name in action.option_strings}
    options: list[str] = []
    overrides: list[str] = []
    for before, each in zip(["", *arguments], arguments, strict=False):
        is_option = each.startswith("-") or before in with_value or not ("=" in each or each.startswith("~"))
        (options if is_option else overrides).append(each)
    return [*options, *overrides]


def check_options(arguments: Sequence[str]) -> None:
    """Raise `ConfigError` for options that Hydra does not know; its parser would print its usage and exit."""
    parser = get_args_parser()

    def refuse(message: str) -> NoReturn:
        raise ConfigError(f"{message}; ragsweep run --help shows examples")

    parser.error = refuse  # type: ignore[method-assign]
    parser.parse_args(arguments)
