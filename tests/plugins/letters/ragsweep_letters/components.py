"""An alphabet, a retriever by its letters, a task of how much of texts it covers, and a check of vowels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import pandas as pd

from ragsweep.app.commands import parser_of
from ragsweep.constraints import Between, Text
from ragsweep.core.digest import digest
from ragsweep.core.errors import NotAcceptedError
from ragsweep.datasets import Dataset
from ragsweep.retrieval import Ranker, Ranking, Search, ranked
from ragsweep.tasks import Items, Measurement, Metric, Task, mean_scores
from ragsweep.tasks.run_check import Checked


@dataclass(frozen=True)
class Alphabet:
    """The letters that texts are compared by."""

    letters: Text

    def counts(self, texts: Sequence[str]) -> Any:
        """How often each text has each letter, shape [texts, letters]."""
        return np.array([[text.lower().count(letter) for letter in self.letters] for text in texts], dtype=float)


@dataclass(frozen=True)
class LettersRetriever(Ranker):
    """The score is the number of letters that a passage shares with the query, each counted as often as in both."""

    alphabet: Alphabet

    def rank(self, search: Search, depth: int) -> Ranking:
        """Rank the passages for every query, at most `depth` of them."""
        passages, queries = self.alphabet.counts(search.passages), self.alphabet.counts(search.queries)
        scores = np.array([np.minimum(passages, query).sum(axis=1) for query in queries])
        return ranked(np.broadcast_to(np.arange(len(passages)), scores.shape), scores, depth)


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
    metrics: ClassVar[Sequence[Metric]] = (Metric("covered", "Covered letters", low=0, high=1),)

    texts: Sequence[str]
    alphabet: Alphabet
    seed: int

    def load(self) -> Texts:
        """The texts of the configuration."""
        return Texts(tuple(self.texts))

    def measure(self, items: Texts) -> Measurement:
        """Count."""
        values = self.alphabet.counts(items.texts).sum(axis=1) / [sum(map(str.isalpha, text)) for text in items.texts]
        names = [str(number) for number in range(len(items.texts))]
        table = pd.DataFrame({"query_id": names, "query": items.texts, "query_type": "text"})
        return Measurement(table, mean_scores(self.metrics, values[np.newaxis], resamples=1000, seed=self.seed))


@dataclass(frozen=True)
class VowelCheck:
    """Refuses datasets whose questions have fewer vowels than `least`, as a share of their characters."""

    least: Annotated[float, Between(0, 1)]

    def accept(self, task: Task, items: Items) -> None:
        """Raise an error if there are too few."""
        if isinstance(items, Dataset) and _share(items) < self.least:
            raise NotAcceptedError(f"{items.name}: vowels.least does not accept {_share(items):.0%} vowels")

    def examine(self, task: Task, items: Items) -> Checked:
        """How many there are."""
        if not isinstance(items, Dataset):
            return Checked()
        return Checked([f"{_share(items):.0%} of the characters of the questions are vowels."])


def _share(items: Dataset) -> float:
    text = "".join(query.text for query in items.queries)
    return sum(text.lower().count(vowel) for vowel in "aeiou") / len(text)


def count() -> int:
    """Print the number of letters of a text: `ragsweep letters "Iron for two?"`."""
    parser = parser_of("letters", count.__doc__)
    parser.add_argument("text")
    print(sum(map(str.isalpha, parser.parse_args().text)), "letters")
    return 0
