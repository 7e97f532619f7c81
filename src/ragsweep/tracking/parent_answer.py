"""A decision as the parent run of its sweep shows it: its name, its tags and its numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ragsweep import report
from ragsweep.sweeps import AcrossDatasets, Decision


class Answer(NamedTuple):
    """A decision as the parent run shows it.

    Attributes:
        name: Such as `alpha x k: alpha 0.5`.
        headline: Its sentences.
        tags: The settings of the choice, and how it stands.
        numbers: Its metrics.
    """

    name: str
    headline: str
    tags: Mapping[str, str]
    numbers: Mapping[str, float]


def answer_of(decision: Decision) -> Answer:
    """The decision for one dataset."""
    sweep = decision.sweep
    axes, label, veto = (
        [sweep.short(name) for name in sweep.axes],
        sweep.label(decision.named),
        report.veto_of(decision),
    )
    answer = label.removeprefix(f"{axes[0]} ") if len(axes) == 1 else label
    answer = answer if veto is None else veto if veto in report.TAKEN else f"nothing to ship, {veto}"
    name = f"{' x '.join(axes) or 'sweep'}: {answer}"
    return Answer(name, " ".join(report.headline(decision)), dict(_decided(decision)), dict(_numbers(decision)))


def answer_across(across: AcrossDatasets) -> Answer | None:
    """The decision over all datasets; None if there is none."""
    if across.problem:
        return None
    largest, mean = across.regrets[:, across.place].max(), across.means[:, across.place].mean()
    number = len(across.names)
    numbers = {"datasets": number, "configurations": len(across.labels), "largest_regret": largest}
    chosen = across.runs[across.named][0]
    tags = {f"best.{name}": str(chosen.given[name]) for name in across.shown if name in chosen.given}
    tags |= {"best.configuration": across.named, "best.largest_regret": f"{largest:.6f}"}
    verdict = report.verdict_for_all(across)
    answer = across.named if verdict == "chosen" else verdict
    return Answer(
        f"{' x '.join(across.shown.values()) or 'sweep'}: {answer} on {number} datasets",
        " ".join(report.across_in_words(across)),
        tags | {f"best.{across.metric}": f"{mean:.6f}"},
        {name: float(value) for name, value in (numbers | {f"best/{across.metric}": mean}).items()},
    )


def _numbers(decision: Decision) -> Iterator[tuple[str, float]]:
    """The metrics of the parent run: everything measured of the named configuration, and what to expect of it."""
    yield "configurations", float(decision.sweep.configurations)
    yield "tied", float(len(decision.headline.others))
    for name in decision.named.metrics:
        value = decision.named.value(name)
        if value is not None:
            yield f"best/{name}", value
    if decision.headline.expected is not None:
        yield f"expected/{decision.sweep.decided_by}", decision.headline.expected


def _decided(decision: Decision) -> Iterator[tuple[str, str]]:
    """Tags for the named configuration: its settings, its interval, how many are tied with it, its expected score."""
    sweep, named = decision.sweep, decision.named
    for name in (name for name in sweep.swept if name in named.swept):
        yield f"best.{name}", str(named.paths.get(name, decision.best[name]))
    yield "best.configuration", named.name
    for end in ("", "_low", "_high"):
        yield f"best.{sweep.decided_by}{end}", f"{sweep.statistic(named, sweep.decided_by, end):.6f}"
    yield "best.tied", str(len(decision.headline.others))
    if decision.headline.expected is not None:
        yield "best.expected", f"{decision.headline.expected:.6f}"
