"""A task: how much of the questions an alphabet covers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd

from ragsweep.core.digest import digest
from ragsweep.tasks import Measurement, Metric, Task, mean_scores
from ragsweep_letters.alphabet import Alphabet

COVERED = Metric("covered", "Covered letters", low=0, high=1)


@dataclass(frozen=True)
class Texts:
    """What is measured on."""

    texts: tuple[str, ...]
    name: str = "texts"

    @property
    def digest(self) -> str:
        """Digest of the texts."""
        return digest(self.texts)

    digest_of_all = digest

    @property
    def profile(self) -> dict[str, int]:
        """How many there are."""
        return {"texts": len(self.texts)}


@dataclass(frozen=True)
class CoverageTask(Task):
    """The share of the letters of each text that are in the alphabet."""

    loads: ClassVar[Sequence[str]] = ("task.texts",)

    texts: Sequence[str]
    alphabet: Alphabet
    seed: int

    metrics: ClassVar[Sequence[Metric]] = (COVERED,)

    def load(self) -> Texts:
        """The texts of the configuration."""
        return Texts(tuple(self.texts))

    def measure(self, items: Texts) -> Measurement:
        """Count."""
        letters = [sum(map(str.isalpha, text)) for text in items.texts]
        values = self.alphabet.counts(items.texts).sum(axis=1) / letters
        names = [str(number) for number in range(len(items.texts))]
        table = pd.DataFrame({"query_id": names, "query": items.texts, "query_type": "text"})
        return Measurement(
            items=table, scores=mean_scores(self.metrics, values[np.newaxis], resamples=1000, seed=self.seed)
        )
