"""The subcommands of `ragsweep`, apart from `run`: each reads its arguments before it imports what does the work."""

from __future__ import annotations

import re
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Iterable

from ragsweep.core.errors import ConfigError
from ragsweep.core.terminal import one_line, shortened


def parser_of(command: str, about: str | None) -> ArgumentParser:
    """A parser of the arguments of a subcommand, whose help shows what its module says."""
    return ArgumentParser(f"ragsweep {command}", description=about, formatter_class=RawDescriptionHelpFormatter)


def check_ids(ids: Iterable[str]) -> None:
    """Refuse what cannot be the id of a run or of a sweep, before the store is asked for it."""
    for each in ids:
        if not re.fullmatch(r"[0-9a-f]{32}", each):
            shown = shortened(one_line(each), 40)
            raise ConfigError(f"{shown}: expected the id of a run or of a sweep, 32 digits and letters from a to f")


def add_allow(parser: ArgumentParser) -> None:
    """Add the option that lists the user's own modules, for commands that build what a record names."""
    parser.add_argument(
        "--allow", action="append", default=[], metavar="MODULE", help="a module whose classes the record may name"
    )
