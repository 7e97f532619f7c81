"""Judged pages that look shifted, such as pages counted from 0, or printed numbers in place of physical ones.

A query whose judged pages are off by one has its answer on the page beside. So the pages at an offset `o` rank higher
for it than the judged ones. In a clean dataset this happens, too, but as often at `o` as at `-o`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import erfc, sqrt

import numpy as np
import numpy.typing as npt

from ragsweep.core.arrays import Indices
from ragsweep.core.terminal import named, quoted
from ragsweep.datasets.model.dataset import Dataset
from ragsweep_audit.findings.finding import Audited, ByRanks, Finding
from ragsweep_audit.findings.unit_ranks import OFFSETS, UnitRanks, best_per_query, printed_offsets

CLEARLY = np.log(3)  # a gain beyond this counts as pointing to an offset: the rank is three times better
FROM_0, FROM_0_SHARE = 1, 0.4  # the offset of pages counted from 0, the likeliest mistake, and its share of the level
MOST_EXACT = 16  # differences whose signs are all tried
RATE_ROUNDING = 1e-9
FEWEST_JUDGMENTS = 20  # judgments of a document that is tested on its own; fewer cannot reach the level
HITS_AT = 5

Gains = npt.NDArray[np.float64]


@dataclass(frozen=True)
class _Shift:
    """A shift that was tested.

    Attributes:
        source: The document; empty for all of them.
        offset: What would have to be added to each page number; None where it is the document's printed offset.
        p: Probability of at least this much evidence in a clean dataset.
        gains: By how much (as a log) the pages at the offset rank better than the judged ones, shape [queries].
        opposite: The same for the opposite offset.
        hits: Share of the queries with a judged page among the first `HITS_AT`, now and after the shift.
        rows: The tested queries among the ranked ones.
    """

    source: str
    offset: int | None
    p: float
    gains: Gains
    opposite: Gains
    hits: tuple[float, float]
    rows: Indices


def shifted_pages(dataset: Dataset, ranks: UnitRanks, relevance_level: int, level: float) -> Iterator[Finding]:
    """A finding if judged pages look shifted, in all documents or in some.

    Each offset is tested against its opposite by a sign-flip test of the queries' gains: the gain of a query is the log
    of how many times better its pages at the offset rank than the judged ones, or 0 if they do not rank better. The
    offsets share `level` (Bonferroni): pages counted from 0 get `FROM_0_SHARE` of it. If there are several documents
    with enough queries, half of it is for documents alone. They are named unless the shift is better for all documents
    together.

    Args:
        dataset: Has judged pages; nothing else can be shifted.
        ranks: Has the units of `neighbours`.
        relevance_level: The lowest grade that counts as relevant.
        level: The probability of an alarm in a clean dataset.
    """
    if dataset.unit != "page":
        return
    shifts = _tested(dataset, ranks, relevance_level)
    everywhere = [shift for shift in shifts if not shift.source]
    alone = [shift for shift in shifts if shift.source]
    share = level / 2 if alone else level
    telling: dict[str, _Shift] = {}
    for tested in (alone, everywhere):
        shown = [shift for shift in tested if shift.p <= share * _weight(shift, tested)]
        telling |= {shift.source: shift for shift in sorted(shown, key=lambda shift: -shift.p)}
    if "" in telling and (len(telling) == 1 or telling[""].hits[0] < telling[""].hits[1]):
        telling = {"": telling[""]}
    else:
        telling.pop("", None)
    for shift in telling.values():
        yield _finding(dataset, ranks, shift)


def _weight(shift: _Shift, tested: Sequence[_Shift]) -> float:
    """The part of the level that a test gets: `FROM_0_SHARE` for pages counted from 0, else its part of the rest."""
    alike = sum((test.offset == FROM_0) == (shift.offset == FROM_0) for test in tested)
    return (FROM_0_SHARE if shift.offset == FROM_0 else 1 - FROM_0_SHARE) / alike


def _finding(dataset: Dataset, ranks: UnitRanks, shift: _Shift) -> Finding:
    pointing = np.flatnonzero((shift.gains > CLEARLY) & (shift.gains > shift.opposite))
    against = int(((shift.opposite > CLEARLY) & (shift.opposite > shift.gains)).sum())
    pointing = pointing[np.argsort(-shift.gains[pointing], kind="stable")]
    queries = [dataset.queries[row] for row in ranks.queries[shift.rows[pointing]]]
    now, then = shift.hits
    step = "the printed offset" if shift.offset is None else f"{shift.offset:+d}"
    advice = f"Compare a few of them with the documents, and add {step} to the page numbers where that is true."
    if shift.offset is None:
        look = "look like printed page numbers instead of physical ones"
        advice = "Compare a few of them with the documents, and see dataset.page_numbers."
    elif shift.offset == FROM_0 and then > now:
        look = "look counted from 0"
    else:
        look = f"look {abs(shift.offset)} too {'small' if shift.offset > 0 else 'large'}"
    effect = f"{step} raises the hit rate@{HITS_AT} of BM25 from {now:.2f} to {then:.2f}"
    if then <= now:
        queries_for = f"{len(pointing)} of {len(shift.rows)} queries"
        effect = f"{step} ranks far better for {queries_for}, and the opposite for {against}"
    where = f"in {shift.source}, " if shift.source else ""
    problem = f"{where}judged pages {look}: {effect}{named([quoted(query.text) for query in queries])}."
    return Finding(
        kind="shifted_pages",
        problem=problem[0].upper() + problem[1:],
        cost="Every metric counts the right page of these queries as wrong.",
        advice=advice,
        count=len(pointing),
        out_of=len(shift.rows),
        examples=tuple(query.query_id for query in queries),
        details={"offset": shift.offset, "source": shift.source, "p": shift.p, "hit_rate": [now, then]},
    )


@dataclass(frozen=True)
class _Judged:
    """Relevant pages, as arrays of shape [judgments].

    Attributes:
        ranks: Has these pages and those beside them.
        query: Position of the query in the dataset.
        row: Row of the query in `ranks`.
        unit: Position of the page in the dataset.
        source_of: The document of each page of the dataset, shape [units].
    """

    ranks: UnitRanks
    query: Indices
    row: Indices
    unit: Indices
    source_of: Indices

    @property
    def source(self) -> Indices:
        return self.source_of[self.unit]

    def where(self, chosen: npt.NDArray[np.bool_]) -> _Judged:
        return replace(self, query=self.query[chosen], row=self.row[chosen], unit=self.unit[chosen])

    def ranked(self, step: Indices) -> npt.NDArray[np.int32]:
        """The rank of the page at each offset; one after the last if the document has no such page."""
        beside = np.clip(self.unit + step, 0, len(self.source_of) - 1)
        exists = (self.unit + step == beside) & (self.source_of[beside] == self.source)
        exists &= np.isin(beside, self.ranks.units)
        ranks = self.ranks.of(self.query, np.where(exists, beside, self.unit))
        return np.where(exists, ranks, self.ranks.ranks.max(initial=0) + 1)


def _tested(dataset: Dataset, ranks: UnitRanks, relevance_level: int) -> list[_Shift]:
    """Every shift, tested on the judgments of all documents and of each one."""
    query, unit = ranks.relevant(dataset, relevance_level)
    judged = _Judged(ranks, query, np.searchsorted(ranks.queries, query), unit, _sources(dataset))
    judged = judged.where(judged.source >= 0)
    names = _names(dataset)
    printed = np.zeros(len(names), dtype=np.int64)
    numbers = {name: number for number, name in enumerate(names)}
    for source, differs in printed_offsets(dataset).items():
        printed[numbers[source]] = differs
    labelled = any(passage.page_number != str(passage.page + 1) for passage in dataset.passages)
    steps: dict[int | None, Indices] = {offset: np.full(len(names), offset) for offset in OFFSETS}
    steps[None] = -printed if labelled else printed
    counts = Counter(judged.source.tolist())
    alone = [source for source, number in counts.items() if number >= FEWEST_JUDGMENTS and len(counts) > 1]
    shifts = []
    by_document = [(names[source], judged.where(judged.source == source)) for source in alone]
    for name, of_source in [("", judged), *by_document]:
        for offset, step in steps.items():
            if step[of_source.source].any():
                shifts.append(_shift(name, offset, of_source, step[of_source.source]))
    return shifts


def _shift(source: str, offset: int | None, judged: _Judged, step: Indices) -> _Shift:
    """Test one shift."""
    rows, place = np.unique(judged.row, return_inverse=True)
    ranks_of = {sign: judged.ranked(sign * step) for sign in (-1, 0, 1)}
    logs = {
        sign: np.bincount(place, np.log1p(ranks), len(rows)) / np.bincount(place, minlength=len(rows))
        for sign, ranks in ranks_of.items()
    }
    gains, opposite = (np.maximum(0, logs[0] - logs[sign]) for sign in (1, -1))
    worst = int(judged.ranks.ranks.max(initial=0)) + 1
    now, then = (float((best_per_query(ranks_of[sign], place, len(rows), worst) < HITS_AT).mean()) for sign in (0, 1))
    return _Shift(source, offset, sign_flip_p(gains - opposite), gains, opposite, (now, then), rows)


def sign_flip_p(differences: Gains) -> float:
    """Probability that differences with random signs add up to at least what they do.

    All signs are tried for at most `MOST_EXACT` differences; for more, it is the normal approximation.
    """
    differences = differences[differences != 0]
    if 0 < len(differences) <= MOST_EXACT:
        sums = np.zeros(1)
        for difference in np.abs(differences):
            sums = np.concatenate([sums + difference, sums - difference])
        return float((sums >= differences.sum() - RATE_ROUNDING).mean())
    spread = sqrt(float((differences**2).sum()))
    return 0.5 * erfc(float(differences.sum()) / spread / sqrt(2)) if spread else 1.0


def _names(dataset: Dataset) -> list[str]:
    return list(dict.fromkeys(passage.source for passage in dataset.passages))


def _sources(dataset: Dataset) -> Indices:
    """The document of each page, by its position in `_names`; -1 for a page that is in none. Shape [units].

    A page without text gets the document of the page before.
    """
    numbers = {name: number for number, name in enumerate(_names(dataset))}
    sources = np.full(len(dataset.units), -1, dtype=np.int64)
    of_passage = np.array([numbers[passage.source] for passage in dataset.passages], dtype=np.int64)
    passage, unit = dataset.passages_with_units.T
    sources[unit] = of_passage[passage]
    last = int(unit.max(initial=-1))
    filled = np.maximum.accumulate(np.where(sources[: last + 1] >= 0, np.arange(last + 1), 0))
    sources[: last + 1] = sources[filled]
    return sources


class ShiftedPages(ByRanks):
    """Judged pages that look shifted."""

    kind = "shifted_pages"

    def find(self, audited: Audited) -> Iterator[Finding]:
        """Findings as of `shifted_pages`."""
        return shifted_pages(audited.items, audited.ranks, audited.relevance_level, audited.level)
