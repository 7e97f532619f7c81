"""Whether a system names the pages on which its texts stand, counts them as judgments do, and ranks the best first."""

from __future__ import annotations

from collections.abc import Sequence

from ragsweep.core.errors import ConfigError
from ragsweep.core.terminal import counted
from ragsweep.datasets import Dataset
from ragsweep.retrieval.results import Result
from ragsweep.tasks.systems.places import Places

MISNAMED = 0.1  # share of the results whose texts are found; a larger share is reported
SURELY_SHIFTED = 0.9  # share of them that is one page off in one direction: then `first_page` is wrong
FEWEST_SURE = 10  # results whose texts are found; with fewer, it is no error
LEAST_BETTER = 0.2  # share of the queries; fewer may be better by chance
BETTER_FOR_ONE_WORSE = 3  # queries; also for one that a shift in the other direction makes better


def misnamed_pages(results: Sequence[Sequence[Result]], places: Places) -> list[str]:
    """A sentence where the texts of many results stand on other pages than the results name.

    Raises:
        ConfigError: Nearly all stand one page further, or one page before: pages are counted from another number.
    """
    known = {each._replace(score=None) for found in results for each in found}
    named = [each for each in known if places.of(each).by in ("page", "nothing")]
    compared = {each: standing for each in named if (standing := places.standing_on(each))}
    strange = {each: at for each, at in compared.items() if not at & {*places.of(each).units}}
    if len(strange) <= MISNAMED * len(compared):
        return []
    first, distinct = places.matching.first_page, counted(len(compared), "distinct result")
    counted_otherwise = places.counted_from(1 - first)
    beside = sum(not at.isdisjoint(counted_otherwise.of(each).units) for each, at in strange.items())
    where = "after" if first == 1 else "before"
    if len(compared) >= FEWEST_SURE and beside >= SURELY_SHIFTED * len(compared):
        raise ConfigError(
            f"the texts of {beside:,} of {distinct} stand on the page {where} the one that they name: "
            f"set retriever.first_page={1 - first}"
        )
    said = f"the texts of {len(strange):,} of {distinct} stand on other pages than they name"
    if 2 * beside > len(strange):
        return [f"{said}, {beside:,} of them on the page {where} that one: {_advice(1 - first)}"]
    example = next(iter(strange))
    return [f"{said} (such as {f'{example.source}#{example.page}'!r}): check retriever.source and retriever.page."]


def shifted_pages(
    items: Dataset, rows: Sequence[int], results: Sequence[Sequence[Result]], places: Places
) -> list[str]:
    """A sentence where many queries would be answered better if every page were the next one, or the one before."""
    first = places.matching.first_page
    now = _first_ranks(items, rows, results, places)
    changes = {
        shift: _changes(now, _first_ranks(items, rows, results, places.counted_from(first - shift)))
        for shift in (1, -1)
    }
    shift = 1 if first == 1 else -1
    (better, worse), (otherwise, _) = changes[shift], changes[-shift]
    if not _is_better(better, max(worse, otherwise), len(rows)):
        return []
    return [
        f"{better / len(rows):.0%} of the queries would be answered better if every page were one "
        f"{'higher' if shift == 1 else 'lower'}: {_advice(1 - first)}"
    ]


def opposite_order(
    items: Dataset, rows: Sequence[int], results: Sequence[Sequence[Result]], places: Places
) -> list[str]:
    """A sentence where many queries would be answered better if the last result were the first."""
    opposite = _first_ranks(items, rows, [found[::-1] for found in results], places)
    better, worse = _changes(_first_ranks(items, rows, results, places), opposite)
    if not _is_better(better, worse, len(rows)):
        return []
    return [
        f"{better / len(rows):.0%} of the queries would be answered better in the opposite order: the first result "
        "must be the best one, whatever the scores say."
    ]


def _changes(now: Sequence[float], then: Sequence[float]) -> tuple[int, int]:
    """For how many queries other ranks are better, and worse."""
    pairs = [*zip(now, then, strict=True)]
    return sum(other < rank for rank, other in pairs), sum(other > rank for rank, other in pairs)


def _is_better(better: int, worse: int, queries: int) -> bool:
    return better >= max(2, LEAST_BETTER * queries) and better >= BETTER_FOR_ONE_WORSE * worse


def _advice(first_page: int) -> str:
    return f"if the system counts pages from {first_page}, set retriever.first_page={first_page}."


def _first_ranks(
    items: Dataset, rows: Sequence[int], results: Sequence[Sequence[Result]], places: Places
) -> list[float]:
    """The rank of the first result of each query that is relevant, from 0; infinite if there is none."""
    relevant: dict[int, set[str]] = {row: set() for row in rows}
    for query, unit, grade in zip(*(each.tolist() for each in vars(items.qrels).values()), strict=True):
        if grade > 0:
            relevant[query].add(items.units[unit])
    return [
        next((rank for rank, each in enumerate(found) if relevant[row] & {*places.of(each).units}), float("inf"))
        for row, found in zip(rows, results, strict=True)
    ]
