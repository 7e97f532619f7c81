"""What is to be judged in a dataset, as a file for people; and their judgments, back in the dataset's own file."""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import hydra
from hydra.errors import HydraException
from omegaconf import DictConfig
from omegaconf.errors import OmegaConfBaseException

from ragsweep.core.components import build, build_around
from ragsweep.core.errors import ConfigError, DatasetError
from ragsweep.core.project import CONF, register_resolvers
from ragsweep.core.terminal import counted
from ragsweep.datasets.judging import JudgmentFile
from ragsweep.experiment import checked

LACKS = "the task reviews no judgments; expected task=ranking"


@dataclass(frozen=True)
class Review:
    """The review of a dataset.

    Attributes:
        config: The configuration.
        task: Ranks the dataset.
    """

    config: DictConfig
    task: Any

    @classmethod
    def of(cls, overrides: Sequence[str]) -> Review:
        """Compose a configuration as `ragsweep run` does. Raises `ConfigError` unless it ranks."""
        register_resolvers()
        try:
            with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
                config = hydra.compose("config", list(overrides))
        except (HydraException, OmegaConfBaseException) as error:
            raise ConfigError(" ".join(str(error).split())) from error
        config = checked(config)
        task = build_around(config, "task")
        if not callable(getattr(task, "to_review", None)):
            raise ConfigError(f"task: {LACKS}")
        return cls(config, task)

    def write(self, depth: int, out: Path | None) -> Iterator[str]:
        """Write what is to be judged, if `out` names a file, and say what it would change."""
        items = self.task.load()
        listed = self.task.to_review(items, encoder_of(self.config), depth)
        yield listed.sentence
        if not listed.rows:
            return
        before, after = (self.task.judged_anew(items, judgments).means for judgments in ((), listed.judgments))
        titles = {metric.name: metric.title for metric in self.task.metrics}
        changes = ", ".join(f"{title} {before[name]:.3f} -> {after[name]:.3f}" for name, title in titles.items())
        yield f"If all of them were relevant, this configuration would measure: {changes}."
        if out is not None:
            listed.write(out)
            yield f"To judge: {out}"

    def apply(self, table: Path, out: Path | None) -> Iterator[str]:
        """Write the judgments of a table into a copy of the dataset's own file; None writes into the file itself."""
        verdicts, collection = self.task.reviewed(table)
        add = getattr(self.task.dataset, "with_judgments", None)
        if not callable(add):
            raise DatasetError(f"dataset: {type(self.task.dataset).__name__} cannot add judgments to its files")
        made: JudgmentFile = add(verdicts.judgments, collection.documents)
        filled = verdicts.relevant + verdicts.irrelevant
        yield (
            f"{counted(filled, 'row')} of {filled + verdicts.open} filled in: {verdicts.relevant} relevant, "
            f"{verdicts.irrelevant} not; {counted(len(verdicts.judgments), 'judgment')} new."
        )
        if not verdicts.judgments:
            yield "Nothing was written." if filled else "Nothing is filled in, so nothing was written."
            return
        if out is None:
            kept = made.path.with_name(f"{made.path.name}.{datetime.now():%Y%m%d_%H%M%S}.bak")
            shutil.copy2(made.path, kept)
            yield f"Written: {made.path} (before: {kept})"
        else:
            _check_ending(out, made.path)
            yield f"Written: {out}; use it by {made.use.format(path=out, name=out.name.partition('.')[0])}"
        _write(out or made.path, made.text)


def encoder_of(config: DictConfig) -> Any:
    """The encoder of a configuration; None if it has none."""
    return None if config.get("encoder") is None else build(config.encoder, "encoder")


def _check_ending(out: Path, path: Path) -> None:
    """Raise `ConfigError` unless a new file has the ending by which the format of the old one is told."""
    expected = Path(path.name.removesuffix(".gz")).suffix
    if Path(out.name.removesuffix(".gz")).suffix != expected:
        raise ConfigError(f"--out: found {out.name!r}, expected a name that ends in {expected}, as {path.name} does")


def _write(path: Path, text: str) -> None:
    """Write the whole file or nothing."""
    content = text.encode()
    partial = path.with_name(f".{path.name}.partial")
    partial.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    partial.replace(path)
