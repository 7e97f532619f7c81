"""The pairs of a query and a unit that could be judged, and what each counts for in every configuration."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from ragsweep.core.arrays import NOTHING, Indices
from ragsweep.core.digest import digest
from ragsweep.core.errors import ConfigError
from ragsweep.core.terminal import printable
from ragsweep.datasets import Dataset
from ragsweep.statistics.intervals import Array
from ragsweep.tasks.ranking.units import units_of_ranking

LONGEST_SHOWN = 20_000  # characters


class Shown(NamedTuple):
    """The text of a unit.

    Attributes:
        where: Its document and page.
        before: What is before the passage that is ranked highest.
        match: That passage.
        after: What is after it.
    """

    where: str
    before: str
    match: str
    after: str

    def cut(self, most: int) -> Shown:
        """At most so many characters around the beginning of the passage, which say so where they are cut."""
        match = self.match[:most]
        room = most - len(match)
        behind = min(len(self.after), max(room // 2, room - len(self.before)))
        ahead = min(len(self.before), room - behind)
        first, last = len(self.before) - ahead, len(self.match) - len(match) + len(self.after) - behind
        before = (f"[... {first:,} more characters] " if first else "") + self.before[first:]
        after = self.after[:behind] + (f" [... {last:,} more characters]" if last else "")
        return Shown(*map(printable, (self.where, before, match, after)))

    @property
    def size(self) -> int:
        """Characters of the text."""
        return len(self.before) + len(self.match) + len(self.after)


def shown_unit(items: Dataset, unit: int, passage: int) -> Shown:
    """The text of a unit, put together from its passages, which may overlap.

    Args:
        items: What is searched.
        unit: Position of the unit.
        passage: Position of its passage that is ranked highest.
    """
    places = items.passages_of(unit).tolist()
    text, source, end = "", "", 0
    begins = 0  # of the passage, in the text
    for place in places:
        part = items.passages[place]
        if part.source != source:
            text += "\n\n" if text else ""
            source, end = part.source, part.start
        elif part.start > end:
            text += " " if part.start == end + 1 else "\n\n"
            end = part.start
        if place == passage:
            begins = len(text) - (end - part.start)
        text += part.text[end - part.start :]
        end = max(end, part.end)
    shown = items.passages[passage]
    ends = begins + len(shown.text)
    where = shown.source
    if items.unit == "page":
        own = (items.passages[place].page_number for place in places if items.passage_units[place] == unit)
        where += f", page {next(own, items.units[unit].rpartition('#')[2])}"
    return Shown(where, text[:begins], text[begins:ends], text[ends:])


DISCOUNTS: Mapping[str, Callable[[int], Array]] = {  # what a relevant unit at each rank adds, shape [k]
    "dcg": lambda k: 1 / np.log2(np.arange(k) + 2),
    "precision": lambda k: np.full(k, 1 / k),
}


class Ranked(NamedTuple):
    """What a configuration ranks.

    Attributes:
        label: Its name.
        items: What is searched, with the judgments that there are.
        passages: Position of the passage at each rank, shape [queries, k]; `NOTHING` after the last one.
        run_id: Its run in the tracking store; empty if it has none.
    """

    label: str
    items: Dataset
    passages: Indices
    run_id: str = ""


class Pair(NamedTuple):
    """What may be asked: is this unit relevant for this query?

    Attributes:
        query_id: Id of the query.
        query: Its text.
        unit: The unit.
        read: Returns its text, which is put together only when it is shown: a pool has many pairs.
    """

    query_id: str
    query: str
    unit: str
    read: Callable[[], Shown]


class Asked(NamedTuple):
    """A question for the judge.

    Attributes:
        number: Of the draw.
        pair: What is asked.
        again: Whether it was judged before, and is asked to see how often judgments differ.
    """

    number: int
    pair: Pair
    again: bool


@dataclass(frozen=True, eq=False)
class Pool:
    """All pairs that some configuration ranks among its first k.

    Attributes:
        labels: The configurations.
        pairs: The pairs, queries in their order, those of the best ranks first.
        ranks: The rank of each pair's unit, from 0; -1 where a configuration does not rank it among its first k, shape
            [configurations, pairs].
        judged: The grade that the dataset has, divided by the highest grade, shape [pairs]; NaN where it has none.
        queries: How many queries the metric is the mean of.
        metric: Name of the metric.
        k: The cutoff.
        guessed: What a language model would judge, divided by the highest grade, shape [pairs]; NaN where it guesses
            nothing, None if none is asked.
        guesser: Digest of the settings of that model; None if it need not be the one that guessed.
    """

    labels: Sequence[str]
    pairs: Sequence[Pair]
    ranks: Indices
    judged: Array
    queries: int
    metric: str
    k: int
    guessed: Array | None = None
    guesser: str | None = None

    @classmethod
    def of(cls, configurations: Iterable[Ranked], metric: str, k: int, highest: int) -> Pool:
        """Gather what configurations rank. Grades above the highest one count as that.

        Raises:
            ConfigError: Fewer than two configurations, other queries or units, or a grade above the highest.
        """
        best: dict[tuple[int, str], tuple[int, Pair]] = {}  # with the best rank so far
        entries: list[tuple[int, tuple[int, str], int]] = []  # configuration, pair, rank
        labels: list[str] = []
        first: Dataset | None = None
        for label, items, passages, _ in configurations:
            first = first or items
            _expect_alike(first, items, label)
            units = units_of_ranking(passages, items)
            for row, rank in zip(*(places.tolist() for places in np.nonzero(_first_of_unit(units))), strict=True):
                key = row, items.units[units[row, rank]]
                entries.append((len(labels), key, rank))
                if key not in best or rank < best[key][0]:
                    query, shown = items.queries[row], (items, int(units[row, rank]), int(passages[row, rank]))
                    best[key] = rank, Pair(query.query_id, query.text, key[1], partial(shown_unit, *shown))
            labels.append(label)
        if first is None or len(labels) < 2:
            raise ConfigError("nothing to decide: expected several configurations, such as retriever.alpha=0,0.5,1")
        order = sorted(best, key=lambda key: (key[0], best[key][0]))
        place = {key: position for position, key in enumerate(order)}
        ranks = np.full((len(labels), len(order)), -1)
        for configuration, key, rank in entries:
            ranks[configuration, place[key]] = rank
        judged = np.full(len(order), np.nan)
        qrels = first.qrels
        for query, unit, grade in zip(qrels.query.tolist(), qrels.unit.tolist(), qrels.grade.tolist(), strict=True):
            if (key := (query, first.units[unit])) in place:
                judged[place[key]] = min(max(grade, 0), highest) / highest
        pairs = [best[key][1] for key in order]
        return cls(labels, pairs, ranks, judged, len(first.queries), metric, k)

    @cached_property
    def weights(self) -> Array:
        """What a fully relevant unit adds to the metric, the mean over queries, shape [configurations, pairs]."""
        discounts = np.append(DISCOUNTS[self.metric](self.k) / self.queries, 0.0)  # the last one is that of rank -1
        weights: Array = discounts[self.ranks]
        return weights

    @property
    def digest(self) -> str:
        """Digest of all that the order of the questions depends on, besides the judgments."""
        rows = [[pair.query_id, pair.unit] for pair in self.pairs]
        grades = [
            np.nan_to_num(column, nan=-1).tolist() for column in (self.judged, self.guessed) if column is not None
        ]
        return digest([self.metric, self.k, self.queries, rows, self.ranks.tolist(), *grades])

    @property
    def query_of_pairs(self) -> Indices:
        """Position of the query of each pair, among all that the metric is the mean of, shape [pairs]."""
        places: dict[str, int] = {}
        return np.array([places.setdefault(pair.query_id, len(places)) for pair in self.pairs], dtype=np.int64)

    @property
    def metric_at_k(self) -> str:
        """The metric as it is written: `DCG@10`."""
        return f"{self.metric.upper() if self.metric != 'precision' else 'precision'}@{self.k}"


def _first_of_unit(units: Indices) -> Indices:
    """Whether each rank is the first of its unit, shape [queries, k]."""
    earlier = np.tril(np.ones((units.shape[1],) * 2, dtype=bool), -1)
    repeated = ((units[:, :, None] == units[:, None, :]) & earlier).any(axis=2)
    first: Indices = (units != NOTHING) & ~repeated
    return first


def _expect_alike(first: Dataset, items: Dataset, label: str) -> None:
    """Raise `ConfigError` unless a configuration answers the same queries with the same kind of units."""
    if [query.query_id for query in items.queries] != [query.query_id for query in first.queries]:
        raise ConfigError(f"{label}: has other queries than the first configuration; expected one dataset")
    if items.unit == "passage" and items.digest_of_passages != first.digest_of_passages:
        raise ConfigError(f"{label}: cuts other passages, which are what is judged; judge pages or documents instead")
