"""With which machine latency was measured, and where these keep configurations from being compared."""

from __future__ import annotations

from ragsweep.core.style import shown
from ragsweep.core.timing import put_together
from ragsweep.report.value_words import listed
from ragsweep.sweeps import Decision, Outcome, Sweep


def machines(sweep: Sweep) -> str:
    """With which machine the latency of the runs was measured; empty where none of them says."""
    name = _measure(sweep)
    if not name:
        return ""
    known = put_together([each for each in _by_machines(sweep, name) if each])
    return f"{sweep.title(name)}: measured on {_words(known)}."


def doubts(decision: Decision) -> list[str]:
    """That latency was measured with different machines, which must be known before it is compared."""
    sweep = decision.sweep
    name = _measure(sweep)
    by_machines = _by_machines(sweep, name)
    if len(by_machines) < 2:
        return []
    each = "; ".join(
        f"{_words(found)}: {listed([*dict.fromkeys(map(sweep.label, runs))])}" for found, runs in by_machines.items()
    )
    return [f"{sweep.title(name)} was measured on different machines ({each}), and is not comparable between them."]


def latency_decides(decision: Decision) -> bool:
    """Whether a bound or a preference of the decision is a time whose machine is noted."""
    names = [*(decision.sweep.settings.require or ()), decision.headline.prefer]
    measures = [each.facts.measures for each in decision.sweep.outcomes]
    return any(name in some and some[name].machines is not None for name in names if name for some in measures)


def _measure(sweep: Sweep) -> str:
    """The first number of a run that is a time whose machine is noted; empty if there is none."""
    measures = (found for run in sweep.outcomes for found in run.facts.measures.items())
    return next((name for name, found in measures if found.machines is not None), "")


def _by_machines(sweep: Sweep, name: str) -> dict[tuple[str, ...], list[Outcome]]:
    """The runs that have this time, by what it was measured with."""
    found: dict[tuple[str, ...], list[Outcome]] = {}
    for run in sweep.outcomes:
        if name in run.facts.measures:
            found.setdefault(tuple(run.facts.measures[name].machines or ()), []).append(run)
    return found


def _words(machines: tuple[str, ...]) -> str:
    return listed([*map(shown, machines)]) or "an unknown machine"
