"""A check of a run: whether the questions have vowels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from ragsweep.constraints import Between
from ragsweep.core.errors import NotAcceptedError
from ragsweep.datasets import Dataset
from ragsweep.tasks import Items, Task
from ragsweep.tasks.run_check import Checked


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
