"""What so many queries can show, in words."""

from __future__ import annotations

from math import ceil, floor, log10

from ragsweep.core.terminal import counted
from ragsweep.report.value_words import queries_in_words
from ragsweep.statistics import FEW_QUERIES, LEVEL, WORTHWHILE
from ragsweep.sweeps import Sweep

LARGE_DIFFERENCE = 0.05  # of a metric; who would not want to know of it


def few_queries(sweep: Sweep) -> str:
    """That there are few queries, or few groups of them, or that there are groups; empty if there is none of this."""
    groups, queries = sweep.groups, counted(len(sweep.queries), "query")
    if groups.number >= FEW_QUERIES:
        return (
            f"{queries_in_words(sweep)}: every interval and test counts groups, not queries." if groups.in_use else ""
        )
    few, noun = (f"{counted(groups.number, 'group')} of {queries}", "groups") if groups.in_use else (queries, "queries")
    return f"Only {few}: intervals and tests with so few {noun} are not reliable."


def cannot_show(sweep: Sweep) -> str:
    """That no test on so few queries shows anything; empty if one could."""
    if 2 ** (1 - sweep.groups.number) <= LEVEL:
        return ""
    return f"{queries_in_words(sweep)} cannot show any difference: no test on so few has a p below {LEVEL}."


def power(sweep: Sweep) -> str:
    """What the queries can show of two configurations that are as similar as the best ones."""
    found = sweep.standings.power
    if found is None or cannot_show(sweep):
        return cannot_show(sweep)
    if found.too_alike:
        return _too_alike(sweep)
    return (
        f"{queries_in_words(sweep)} can detect a difference of {_up(found.detectable, 3)} {sweep.metric_title} between "
        f"two similar configurations (80 % power). A difference of {WORTHWHILE} needs {found.needed(WORTHWHILE):,} "
        f"queries{_so_grouped(sweep)}."
    )


def queries_for_more(sweep: Sweep) -> str:
    """How many queries would find a difference that matters, for a headline; empty if these could."""
    found = sweep.standings.power
    if 2 ** (1 - sweep.groups.number) > LEVEL:
        return f"So few{' groups' if sweep.groups.in_use else ''} cannot show any difference, however large."
    if found is None:
        return ""
    if found.too_alike:
        return _too_alike(sweep)
    needed = found.needed(LARGE_DIFFERENCE)
    title = sweep.metric_title
    if needed <= found.queries:
        return f"A difference of {_up(found.detectable, 3)} {title} would have shown with 80 % probability."
    about = f"{_up(needed, 1 - floor(log10(needed)))} queries{_so_grouped(sweep)}"
    return f"A difference of {LARGE_DIFFERENCE} {title} would need about {about}."


def _up(number: float, digits: int) -> str:
    """A number rounded up, so that what is said of it holds: less is not found, and fewer queries do not find it."""
    return f"{ceil(round(number * 10**digits, 6)) / 10**digits:,.{max(0, digits)}f}"


def _so_grouped(sweep: Sweep) -> str:
    return " in groups like these" if sweep.groups.in_use else ""


def _too_alike(sweep: Sweep) -> str:
    found = sweep.standings.power
    assert found
    pair = " and ".join(sweep.label(sweep.outcomes[place]) for place in (sweep.best, found.rival))
    of = f"{found.groups.number:,} {'groups' if found.groups.in_use else 'queries'}"
    return f"Of {of}, {pair} differ on {found.differing}: too few to test."
