"""Judgments, written into a copy of the dataset's own file."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from pathlib import Path

from ragsweep.core.errors import ConfigError, DatasetError
from ragsweep.core.whole_files import write_new
from ragsweep.datasets import DatasetFormat, Judgment
from ragsweep.datasets.model.dataset_capabilities import AddsJudgments


def write_judgments(dataset: DatasetFormat, judgments: Sequence[Judgment], out: Path) -> str:
    """Write further judgments of a dataset into a copy of its own file, and say how to use it.

    Raises:
        ConfigError: The copy exists, has another ending, or cannot be written.
        DatasetError: The dataset cannot take judgments.
    """
    if not isinstance(dataset, AddsJudgments):
        raise DatasetError(f"dataset: {type(dataset).__name__} cannot add judgments to its files")
    made = dataset.with_judgments(judgments, dataset.load().documents)
    expected = Path(made.path.name.removesuffix(".gz")).suffix  # by which the format is told
    if Path(out.name.removesuffix(".gz")).suffix != expected:
        name = made.path.name
        raise ConfigError(f"--out: found {out.name!r}, expected a name that ends in {expected}, as {name} does")
    content = made.text.encode()
    try:
        write_new(out, gzip.compress(content) if out.suffix == ".gz" else content)
    except OSError as error:
        raise ConfigError(f"--out: {out} cannot be written ({error.strerror})") from error
    return f"Written: {out}; use it by {made.use.format(path=out, name=out.name.partition('.')[0])}"
