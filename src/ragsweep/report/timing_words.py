"""In what circumstances latency was measured, and where these keep configurations from being compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

from ragsweep.core.style import shown
from ragsweep.core.timing import Circumstances, put_together
from ragsweep.report.value_words import listed
from ragsweep.sweeps import Decision, Outcome, Sweep

BUSY = 0.75  # threads of other processes per core; with more, hardly a core is left for a query
MUCH_MORE = 2  # times the load
DAYS_APART = 30  # within a month, a system gets another kernel, other drivers or other neighbours
DAY_S = 24 * 60 * 60
AGAIN = "evaluation.latency=again measures it anew"


def circumstances(sweep: Sweep) -> str:
    """When, on what and beside what the latency of the runs was measured; empty where none of them says."""
    name = _measure(sweep)
    if not name:
        return ""
    known = _known(sweep, name)
    if not known:
        return f"{sweep.title(name)}: measured in unknown circumstances; {AGAIN}."
    taken = put_together([*known.values()])
    at_once = "one at a time" if taken.at_once == 1 else f"up to {taken.at_once} at a time"
    queries = "1 query" if taken.queries == 1 else f"{taken.queries} queries, {at_once}"
    load = "" if taken.load is None else f", load {taken.load:.1f} per core"
    return f"{sweep.title(name)}: {queries}, {_when(taken)}, {_machines(taken)}{load}."


def doubts(decision: Decision) -> list[str]:
    """What must be known of the circumstances of latency before it is compared or checked against a bound."""
    found = (_required_under_load(decision.sweep), _differing(decision.sweep))
    return [sentence for sentence in found if sentence]


def latency_decides(decision: Decision) -> bool:
    """Whether a bound or a preference of the decision is a time whose circumstances are noted."""
    names = [*(decision.sweep.settings.require or ()), decision.headline.prefer]
    measures = [each.facts.measures for each in decision.sweep.outcomes]
    return any(name in some and some[name].taken for name in names if name for some in measures)


def _required_under_load(sweep: Sweep) -> str:
    """That a bound is checked against times that were taken under load; empty where that is not so."""
    for name in sweep.settings.require or {}:
        loads = _loads(_known(sweep, name))
        if busy := [run for run, load in loads.items() if load > BUSY]:
            return (
                f"decision.require.{name} was checked against times that were taken under load for "
                f"{_labels(sweep, busy)} (up to {max(loads.values()):.1f} threads of other processes per core), and "
                f"may leave out what would meet it: {AGAIN}."
            )
    return ""


def _differing(sweep: Sweep) -> str:
    """Why the latencies of the runs should not be compared; empty where their circumstances are alike."""
    name = _measure(sweep)
    known = _known(sweep, name)
    reasons = [*_differences(sweep, known)] if known else []
    if known and (unknown := [run for run in sweep.outcomes if name in run.facts.measures and run not in known]):
        reasons.append(f"in unknown circumstances for {_labels(sweep, unknown)}")
    return (
        f"{sweep.title(name)} was measured {', and '.join(reasons)}: compare it with care; {AGAIN}." if reasons else ""
    )


def _differences(sweep: Sweep, known: Mapping[Outcome, Circumstances]) -> Iterator[str]:
    by_machines: dict[str, list[Outcome]] = {}
    for run, taken in known.items():
        by_machines.setdefault(_machines(taken), []).append(run)
    if len(by_machines) > 1:
        each = "; ".join(f"{names}: {_labels(sweep, runs)}" for names, runs in by_machines.items())
        yield f"on different machines ({each})"
    by_number: dict[int, list[Outcome]] = {}
    for run, taken in known.items():
        by_number.setdefault(taken.at_once, []).append(run)
    if len(by_number) > 1:
        each = "; ".join(f"{number}: {_labels(sweep, runs)}" for number, runs in sorted(by_number.items()))
        yield f"for different numbers of queries at a time ({each})"
    loads = _loads(known)
    least = min(loads.values(), default=0.0)
    if busy := {run: load for run, load in loads.items() if load > max(BUSY, MUCH_MORE * least)}:
        most = f"up to {max(busy.values()):.1f} threads of other processes per core, at least {least:.1f}"
        yield f"under more load for {_labels(sweep, [*busy])} ({most})"
    first = [taken.first for taken in known.values()]
    if max(first) - min(first) > DAYS_APART * DAY_S:
        yield f"{(max(first) - min(first)) / DAY_S:.0f} days apart"


def _measure(sweep: Sweep) -> str:
    """The first number of a run that is a time whose circumstances are noted; empty if there is none."""
    names = (name for run in sweep.outcomes for name, found in run.facts.measures.items() if found.taken)
    return next(names, "")


def _known(sweep: Sweep, name: str) -> dict[Outcome, Circumstances]:
    """The circumstances of a time of each run, where they are known."""
    found = {run: run.facts.measures[name].taken for run in sweep.outcomes if name in run.facts.measures}
    return {run: taken for run, taken in found.items() if taken is not None and taken.machines}


def _loads(known: Mapping[Outcome, Circumstances]) -> dict[Outcome, float]:
    return {run: taken.load for run, taken in known.items() if taken.load is not None}


def _labels(sweep: Sweep, runs: Sequence[Outcome]) -> str:
    return listed([*dict.fromkeys(sweep.label(run) for run in runs)])


def _machines(taken: Circumstances) -> str:
    return listed([*map(shown, taken.machines)])


def _when(taken: Circumstances) -> str:
    first, last = (datetime.fromtimestamp(each, UTC) for each in (taken.first, taken.last))
    if first.date() == last.date():
        return f"on {first:%Y-%m-%d} at {first:%H:%M} UTC"
    return f"from {first:%Y-%m-%d} to {last:%Y-%m-%d}"
