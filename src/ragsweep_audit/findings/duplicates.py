"""Queries and passages that are copies or near copies of each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256

import numpy as np
import numpy.typing as npt

from ragsweep.core.terminal import counted, named, quoted, verb
from ragsweep.datasets.model.dataset import Dataset, Passage
from ragsweep.tasks.ranking.coverage import relevant
from ragsweep.text.near_copies import near_copies, similar
from ragsweep.text.tokens import words
from ragsweep_audit.findings.finding import Finding, page_name

SHINGLE = 3  # words
FEWEST_WORDS = 8  # of a passage that is compared
MOST_COMPARED = 50_000  # passages; of more, only exact copies are found

Pairs = npt.NDArray[np.int64]


def duplicate_queries(dataset: Dataset, near: float, relevance_level: int) -> Iterator[Finding]:
    """A finding about queries that repeat another one, perhaps with a few more words.

    Copies are those of `near_copies`.

    Args:
        dataset: The dataset.
        near: Least Jaccard similarity.
        relevance_level: The lowest grade that counts as relevant.
    """
    pairs = near_copies([query.text for query in dataset.queries], near)
    if not pairs:
        return
    judged: dict[int, set[int]] = {}
    for query, unit in zip(*(each.tolist() for each in relevant(dataset, relevance_level)), strict=True):
        judged.setdefault(query, set()).add(unit)
    differing = [pair for pair in pairs if judged.get(pair[0]) != judged.get(pair[1])]
    texts = [dataset.queries[pair[0]].text for pair in pairs]
    copies = {other for _, other in pairs}
    advice = "Remove the copies."
    if differing:
        advice = "Give both queries of a pair the same judgments, or remove one of them."
    yield Finding(
        kind="duplicate_queries",
        problem=f"{len(copies)} of {len(dataset.queries)} queries "
        f"{'is a copy' if len(copies) == 1 else 'are copies'} of another one"
        f"{named([quoted(text) for text in texts])}; {len(differing)} of {len(pairs)} pairs "
        f"{verb(len(differing), 'have')} different judgments.",
        cost="Copies make the intervals too narrow"
        + (", and where judgments differ, one of the two is counted wrong." if differing else "."),
        advice=advice,
        count=len(copies),
        out_of=len(dataset.queries),
        examples=tuple(" and ".join(dataset.queries[row].query_id for row in pair) for pair in pairs),
        details={"pairs": len(pairs), "pairs_with_different_judgments": len(differing)},
    )


def duplicate_passages(dataset: Dataset, near: float, relevance_level: int) -> Iterator[Finding]:
    """A finding about passages of different units with the same text, or nearly.

    Two passages are near copies if the Jaccard similarity of their sets of three consecutive words is at least `near`.
    In a corpus of more than `MOST_COMPARED` passages, which would take minutes, only those with all words equal are.

    Args:
        dataset: The dataset.
        near: Least Jaccard similarity.
        relevance_level: The lowest grade that counts as relevant.
    """
    members = _shingles if len(dataset.passages) <= MOST_COMPARED else _whole
    sets = {row: members(its) for row, its in enumerate(map(words, dataset.texts)) if len(its) >= FEWEST_WORDS}
    compared = [*sets]
    found = similar([*sets.values()], near)
    if not len(found):
        return
    pairs = np.array(compared)[found]
    units = _units(dataset, pairs)
    apart = [units[one].isdisjoint(units[other]) and not _overlap(dataset, one, other) for one, other in pairs.tolist()]
    pairs = pairs[apart]
    if not len(pairs):
        return
    asking: dict[int, set[int]] = {}
    for query, unit in zip(*(each.tolist() for each in relevant(dataset, relevance_level)), strict=True):
        asking.setdefault(unit, set()).add(query)
    answered = {row: set().union(*(asking.get(unit, ()) for unit in its)) for row, its in units.items()}
    affected = set().union(*(answered[one] ^ answered[other] for one, other in pairs.tolist()))
    count = len(np.unique(pairs))
    name = {row: _name(dataset, dataset.passages[row]) for row in pairs.ravel().tolist()}
    names = [*dict.fromkeys(" and ".join(name[row] for row in pair) for pair in pairs.tolist())]
    cost = "No query is affected: where a passage is relevant, its copies are judged relevant, too."
    if affected:
        cost = (
            f"For {counted(len(affected), 'query')}, a {dataset.unit} with a copy of a relevant passage is not judged "
        )
        cost += "relevant, so that finding the copy counts as a miss."
    yield Finding(
        kind="duplicate_passages",
        problem=f"{count:,} of {len(dataset.passages):,} passages {verb(count, 'have')} nearly the same text as "
        f"one of another {dataset.unit}{named(names)}.",
        cost=cost,
        advice="Judge the copies, too, or remove them from the documents.",
        count=count,
        out_of=len(dataset.passages),
        examples=tuple(names),
        details={"pairs": len(pairs), "affected_queries": [dataset.queries[row].query_id for row in sorted(affected)]},
    )


def _name(dataset: Dataset, passage: Passage) -> str:
    """What tells a passage apart from its copies, which may be on the same page."""
    return passage.chunk_id if dataset.unit == "passage" else page_name(dataset, passage)


def _whole(its: Sequence[str]) -> list[str]:
    return [sha256(" ".join(its).encode()).hexdigest()]


def _shingles(its: Sequence[str]) -> list[str]:
    return sorted({" ".join(its[start : start + SHINGLE]) for start in range(len(its) - SHINGLE + 1)})


def _units(dataset: Dataset, passages: Pairs) -> dict[int, set[int]]:
    """The units of each of some passages."""
    found: dict[int, set[int]] = {}
    pairs = dataset.passages_with_units
    for passage, unit in pairs[np.isin(pairs[:, 0], passages)].tolist():
        found.setdefault(passage, set()).add(unit)
    return found


def _overlap(dataset: Dataset, one: int, other: int) -> bool:
    """Whether two passages share characters of a document."""
    first, second = dataset.passages[one], dataset.passages[other]
    return first.source == second.source and first.start < second.end and second.start < first.end
