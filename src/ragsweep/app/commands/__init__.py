"""The subcommands of `ragsweep`, apart from `run`: each reads its arguments before it imports what does the work."""

from __future__ import annotations

from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Iterable, Sequence
from inspect import cleandoc
from typing import TYPE_CHECKING

from ragsweep.core.errors import ConfigError
from ragsweep.core.terminal import one_line, shortened

if TYPE_CHECKING:
    from omegaconf import DictConfig


def parser_of(command: str, about: str | None) -> ArgumentParser:
    """A parser of the arguments of a subcommand, whose help shows the docstring of its function or module."""
    text = cleandoc(about or "")
    return ArgumentParser(f"ragsweep {command}", description=text, formatter_class=RawDescriptionHelpFormatter)


def composed(overrides: Sequence[str], primary: str = "config", *, with_hydra: bool = False) -> DictConfig:
    """What `ragsweep run` composes, or another primary file. Raises `ConfigError` for an override that is wrong."""
    import hydra
    from hydra.errors import HydraException
    from omegaconf.errors import OmegaConfBaseException
    from yaml import YAMLError

    from ragsweep.app.error_messages import in_one_line
    from ragsweep.config.ignored_input import refuse_ignored, refuse_unread
    from ragsweep.core.project import CONF, VERSION_BASE, register_resolvers

    register_resolvers()
    refuse_ignored(overrides)
    refuse_unread(overrides)
    try:
        with hydra.initialize_config_dir(str(CONF), version_base=VERSION_BASE):
            return hydra.compose(primary, list(overrides), return_hydra_config=with_hydra)
    except (HydraException, OmegaConfBaseException, YAMLError, OSError, TypeError, ValueError) as error:
        raise ConfigError(in_one_line(error, primary)) from error


def check_ids(ids: Iterable[str]) -> None:
    """Refuse what cannot be the id of a run or of a sweep, before the store is asked for it."""
    from ragsweep.tracking.mlflow_names import RUN_ID

    for text in ids:
        if not RUN_ID.fullmatch(text):
            shown = shortened(one_line(text), 40)
            raise ConfigError(f"{shown}: expected the id of a run or of a sweep, 32 digits and letters from a to f")


def add_allow(parser: ArgumentParser) -> None:
    """Add the option that lists the user's own modules, for commands that build what a record names."""
    about = "module whose classes it may name"
    parser.add_argument("--allow", action="append", default=[], metavar="MODULE", help=about)


def add_run(parser: ArgumentParser) -> None:
    """Add the arguments of a command that builds what a run or a sweep has recorded."""
    parser.add_argument("run_id", help="id of a run or of a sweep, as MLflow shows it")
    parser.add_argument("overrides", nargs="*", default=[], help="places on this machine: dataset.path=...")
    add_allow(parser)
