"""Decides whether a candidate may replace a baseline: it must be shown not to be worse by more than a margin."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum

from ragsweep import tracking
from ragsweep.core.errors import ConfigError
from ragsweep.replay.comparing import check_same_task
from ragsweep.replay.trusted_record import TODAYS, composed_today, refuse_others
from ragsweep.statistics import LEVEL, AgainstBaseline, against_baseline
from ragsweep.sweeps import Outcome, Sweep, check_margin

FEW_QUERIES_OF_GATE = 20  # queries; with fewer, the level of the tests is not kept


@dataclass(frozen=True)
class GateRequest:
    """What to compare.

    Attributes:
        candidate: Id of the run that may replace the baseline.
        baseline: Id of the run to beat, fixed before the candidate was measured.
        metric: The metric that must not get worse.
        margin: How much worse still counts as not worse, in the metric's unit, above 0.
        overrides: `name=value`: settings of the tracking store.
    """

    candidate: str
    baseline: str
    metric: str
    margin: float
    overrides: Sequence[str]


class Verdict(IntEnum):
    """What the queries show; the value is the exit status of `ragsweep gate`."""

    NOT_WORSE = 0
    WORSE = 1
    UNCERTAIN = 3


@dataclass(frozen=True)
class Gate:
    """A candidate against a baseline.

    Attributes:
        request: What was compared.
        sweep: The two runs, the candidate first.
        found: The tests.
    """

    request: GateRequest
    sweep: Sweep
    found: AgainstBaseline

    @property
    def verdict(self) -> Verdict:
        """Whether the candidate is shown not to be worse by the margin, shown to be worse, or neither."""
        if self.found.p_not_worse <= LEVEL:
            return Verdict.NOT_WORSE
        return Verdict.WORSE if self.found.p_worse <= LEVEL else Verdict.UNCERTAIN

    def sentences(self) -> Iterator[str]:
        """The verdict and its numbers, line by line."""
        found, metric = self.found, self.sweep.title(self.request.metric)
        candidate, baseline = self.sweep.outcomes
        margin = f"{self.request.margin:g} {metric}"
        yield {
            Verdict.NOT_WORSE: f"PASS: {candidate.name} is shown not to be worse than {baseline.name} by {margin}.",
            Verdict.WORSE: f"FAIL: {candidate.name} is worse than {baseline.name}.",
            Verdict.UNCERTAIN: f"UNCERTAIN: the queries do not show whether {candidate.name} is worse by {margin}.",
        }[self.verdict]
        yield (
            f"{metric} {self._value(candidate):.4f} against {self._value(baseline):.4f}: {found.difference:+.4f} "
            f"[{found.low:+.4f}, {found.high:+.4f}], {len(candidate.per_query)} queries; not worse by the margin: "
            f"p {found.p_not_worse:.3g}; worse: p {found.p_worse:.3g}"
        )
        if found.p_equivalent <= LEVEL:
            yield f"The two are equivalent within {margin} (two one-sided tests, p {found.p_equivalent:.3g})."
        if found.least is None:
            yield f"{metric} has no bounds: the test of the margin misses a loss that few queries carry."
        if len(candidate.per_query) < FEW_QUERIES_OF_GATE:
            yield f"Only {len(candidate.per_query)} queries: tests with so few are not reliable."
        if self.verdict is not Verdict.NOT_WORSE and found.least and len(candidate.per_query) < found.least:
            yield f"Even if no query differed, it would take {found.least:,} queries to show so small a margin."
        if self.verdict is Verdict.UNCERTAIN and found.needed and found.needed != found.least:
            yield f"About {found.needed:,} queries like these would show that it is not."

    def _value(self, outcome: Outcome) -> float:
        return float(outcome.per_query[self.request.metric].mean())


def judge_candidate(request: GateRequest) -> Gate:
    """Compare a candidate with a baseline, query by query.

    Raises:
        ConfigError: The runs cannot be compared, or the metric has no value per query.
        TrackingError: A run cannot be read.
    """
    refuse_others(request.overrides, *TODAYS)
    today, _ = composed_today(request.overrides)
    outcomes: list[Outcome] = []
    for role, run_id in (("candidate", request.candidate), ("baseline", request.baseline)):
        found, _ = tracking.fetch_outcomes(today.tracking, [run_id])
        if [each.run_id for each in found] != [run_id]:
            raise ConfigError(
                f"{role}: found {run_id}, expected the id of one run whose results can be read, not of a sweep"
            )
        outcomes += found
    candidate, baseline = outcomes
    check_same_task(candidate, baseline)
    sweep = Sweep(outcomes, {})
    if candidate.cutoff != baseline.cutoff:
        name = candidate.facts.cutoff
        raise ConfigError(f"{name} is {candidate.cutoff} and {baseline.cutoff}: runs are compared at the same {name}")
    names = [name for name in sweep.metrics if sweep.is_mean(name)]
    if request.metric not in names:
        raise ConfigError(f"--metric: found {request.metric!r}, expected one that both runs have: {', '.join(names)}")
    metric = sweep.metric_info[request.metric]
    check_margin("--margin", request.margin, metric)
    one, other = sweep.sign(request.metric) * sweep.scores(request.metric)
    tested = against_baseline(one - other, request.margin, metric.span, resamples=sweep.resamples, seed=sweep.seed)
    return Gate(request, sweep, tested)
