"""Queries and passages that are copies or near copies of each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np
import numpy.typing as npt

from ragsweep.core.terminal import counted, named, quoted, verb
from ragsweep.datasets.model.dataset import Dataset, Passage
from ragsweep.tasks.ranking.coverage import relevant
from ragsweep.text.near_copies import LEAST_ALIKE, near_copies, similar
from ragsweep.text.tokens import words
from ragsweep_audit.findings.finding import Audited, Finder, Finding, page_name

SHINGLE = 3  # words
FEWEST_WORDS = 8  # of a passage that is compared
MOST_COMPARED = 50_000  # passages; of more, only exact copies are found

Pairs = npt.NDArray[np.int64]


@dataclass(frozen=True)
class DuplicateQueries(Finder):
    """Queries that repeat another one, perhaps with a few more words: copies as of `near_copies`.

    Attributes:
        near: Least Jaccard similarity of their content words.
    """

    near: float = LEAST_ALIKE

    kind = "duplicate_queries"
    cost = "Copies make the intervals too narrow."
    advice = "Remove the copies."

    def depends_on(self, audited: Audited) -> Sequence[object]:
        """On the queries and their judgments, whatever cuts the documents; references are judged by the chunks."""
        items = audited.items
        return [items.digest_of_all if items.references else items.digest, audited.relevance_level]

    def find(self, audited: Audited) -> Iterator[Finding]:
        """A finding that says how many copies have other judgments."""
        dataset = audited.items
        pairs = near_copies([query.text for query in dataset.queries], self.near)
        if not pairs:
            return
        judged: dict[int, set[int]] = {}
        for query, unit in _judgments(audited):
            judged.setdefault(query, set()).add(unit)
        differing = sum(judged.get(one) != judged.get(other) for one, other in pairs)
        texts = [dataset.queries[one].text for one, _ in pairs]
        copies = {other for _, other in pairs}
        is_copy = "is a copy" if len(copies) == 1 else "are copies"
        problem = (
            f"{len(copies)} of {len(dataset.queries)} queries {is_copy} of another one{named([*map(quoted, texts)])}; "
            f"{differing} of {len(pairs)} pairs {verb(differing, 'have')} different judgments."
        )
        about: dict[str, Any] = {"count": len(copies)}
        if differing:
            about["cost"] = f"{self.cost[:-1]}, and where judgments differ, one of the two is counted wrong."
            about["advice"] = "Give both queries of a pair the same judgments, or remove one of them."
        names = [" and ".join(dataset.queries[row].query_id for row in pair) for pair in pairs]
        details = {"pairs": len(pairs), "pairs_with_different_judgments": differing}
        yield self.finding(problem, names, len(dataset.queries), **about, **details)


@dataclass(frozen=True)
class DuplicatePassages(Finder):
    """Passages of different units with the same text, or nearly.

    Two passages are near copies if the Jaccard similarity of their sets of three consecutive words is at least `near`.
    In a corpus of more than `MOST_COMPARED` passages, which would take minutes, only those with all words equal are.

    Attributes:
        near: Least Jaccard similarity.
    """

    near: float = 0.8

    kind = "duplicate_passages"
    cost = "No query is affected: where a passage is relevant, its copies are judged relevant, too."
    advice = "Judge the copies, too, or remove them from the documents."

    def limits(self, audited: Audited) -> str:
        """Of many passages, exact copies are found."""
        count = len(audited.items.passages)
        return f"by exact copies, as there are {count:,} passages" if count > MOST_COMPARED else ""

    def depends_on(self, audited: Audited) -> Sequence[object]:
        """On passages and judgments."""
        return audited.key

    def find(self, audited: Audited) -> Iterator[Finding]:
        """A finding that says for how many queries a copy is not judged."""
        dataset = audited.items
        members = _shingles if len(dataset.passages) <= MOST_COMPARED else _all_words
        of_passages = enumerate(map(words, dataset.texts))
        sets = {row: members(tokens) for row, tokens in of_passages if len(tokens) >= FEWEST_WORDS}
        similar_sets = similar([*sets.values()], self.near)
        if not len(similar_sets):
            return
        pairs = np.array([*sets])[similar_sets]
        units = _units(dataset, pairs)
        apart = [
            units[one].isdisjoint(units[other]) and not _overlap(dataset, one, other) for one, other in pairs.tolist()
        ]
        pairs = pairs[apart]
        if not len(pairs):
            return
        asking: dict[int, set[int]] = {}
        for query, unit in _judgments(audited):
            asking.setdefault(unit, set()).add(query)
        answered = {row: set().union(*(asking.get(unit, ()) for unit in of_row)) for row, of_row in units.items()}
        affected = set().union(*(answered[one] ^ answered[other] for one, other in pairs.tolist()))
        count = len(np.unique(pairs))
        name = {row: _name(dataset, dataset.passages[row]) for row in pairs.ravel().tolist()}
        names = [*dict.fromkeys(" and ".join(name[row] for row in pair) for pair in pairs.tolist())]
        ids = [dataset.queries[row].query_id for row in sorted(affected)]
        about: dict[str, Any] = {"count": count, "pairs": len(pairs), "affected_queries": ids}
        if affected:
            about["cost"] = (
                f"For {counted(len(affected), 'query')}, a {dataset.unit} with a copy of a relevant passage is not "
                "judged relevant, so that finding the copy counts as a miss."
            )
        of_all = f"{count:,} of {len(dataset.passages):,} passages {verb(count, 'have')} nearly the same text as"
        problem = f"{of_all} one of another {dataset.unit}{named(names)}."
        yield self.finding(problem, names, len(dataset.passages), **about)


def _judgments(audited: Audited) -> Iterator[tuple[int, int]]:
    """Query and unit of each relevant judgment."""
    return zip(*(column.tolist() for column in relevant(audited.items, audited.relevance_level)), strict=True)


def _name(dataset: Dataset, passage: Passage) -> str:
    """What tells a passage apart from its copies, which may be on the same page."""
    return passage.chunk_id if dataset.unit == "passage" else page_name(dataset, passage)


def _all_words(tokens: Sequence[str]) -> list[str]:
    return [sha256(" ".join(tokens).encode()).hexdigest()]


def _shingles(tokens: Sequence[str]) -> list[str]:
    return sorted({" ".join(tokens[start : start + SHINGLE]) for start in range(len(tokens) - SHINGLE + 1)})


def _units(dataset: Dataset, passages: Pairs) -> dict[int, set[int]]:
    """The units of each of some passages."""
    units_of: dict[int, set[int]] = {}
    pairs = dataset.passages_with_units
    for passage, unit in pairs[np.isin(pairs[:, 0], passages)].tolist():
        units_of.setdefault(passage, set()).add(unit)
    return units_of


def _overlap(dataset: Dataset, one: int, other: int) -> bool:
    """Whether two passages share characters of a document."""
    first, second = dataset.passages[one], dataset.passages[other]
    return first.source == second.source and first.start < second.end and second.start < first.end
