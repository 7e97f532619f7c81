"""The subcommands of `ragsweep`, apart from `run`: each reads its arguments before it imports what does the work."""

from __future__ import annotations

from argparse import ArgumentParser, RawDescriptionHelpFormatter


def parser_of(command: str, about: str | None) -> ArgumentParser:
    """A parser of the arguments of a subcommand, whose help shows what its module says."""
    return ArgumentParser(f"ragsweep {command}", description=about, formatter_class=RawDescriptionHelpFormatter)


def add_allow(parser: ArgumentParser) -> None:
    """Add the option that lists the user's own modules, for commands that build what a record names."""
    parser.add_argument(
        "--allow", action="append", default=[], metavar="MODULE", help="a module whose classes the record may name"
    )
