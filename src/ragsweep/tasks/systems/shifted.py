"""Whether the pages that a system names are those on which its texts stand, and counted as the judgments count."""

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
    return [f"{said} (such as {f'{example.source}#{example.page}'!r}): check retriever.page."]


def shifted_pages(
    items: Dataset, rows: Sequence[int], results: Sequence[Sequence[Result]], places: Places
) -> list[str]:
    """A sentence where many queries would be answered better if every page were the next one, or the one before."""
    first = places.matching.first_page
    now = _first_ranks(items, rows, results, places)
    changes = {}
    for shift in (1, -1):
        shifted = _first_ranks(items, rows, results, places.counted_from(first - shift))
        pairs = [*zip(now, shifted, strict=True)]
        changes[shift] = (sum(then < before for before, then in pairs), sum(then > before for before, then in pairs))
    shift = 1 if first == 1 else -1
    (better, worse), (otherwise, _) = changes[shift], changes[-shift]
    if better < max(2, LEAST_BETTER * len(rows)) or better < BETTER_FOR_ONE_WORSE * max(worse, otherwise):
        return []
    return [
        f"{better / len(rows):.0%} of the queries would be answered better if every page were one "
        f"{'higher' if shift == 1 else 'lower'}: {_advice(1 - first)}"
    ]


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
