"""Decides whether a candidate may replace a baseline: it must be shown not to be worse by more than a margin.

Either can be a registered retriever, which stands for the run that was measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cached_property

from omegaconf import DictConfig

from ragsweep import tracking
from ragsweep.core.errors import ConfigError
from ragsweep.core.terminal import counted
from ragsweep.replay.comparing import check_same_task
from ragsweep.replay.trusted_record import TODAYS, composed_today
from ragsweep.report.claims import unread_texts
from ragsweep.report.evidence import less_judged_between, more_text
from ragsweep.report.sentences import Claim
from ragsweep.report.value_words import queries_in_words
from ragsweep.statistics import FEW_QUERIES, LEVEL, AgainstBaseline, Groups, against_baseline
from ragsweep.statistics.intervals import Array
from ragsweep.sweeps import DecisionSettings, Outcome, Sweep, check_margin, decide
from ragsweep.tasks.ranking.ranking_costs import TOKENS
from ragsweep.tracking import RegisteredRetriever
from ragsweep.tracking.store_address import SCHEME


class Verdict(IntEnum):
    """What the queries show; the value is the exit status of `ragsweep gate`."""

    NOT_WORSE = 0
    WORSE = 1
    UNCERTAIN = 3


@dataclass(frozen=True)
class Gate:
    """A candidate against a baseline.

    Attributes:
        metric: The metric that must not get worse.
        margin: How much worse still counts as not worse, in the metric's unit, above 0.
        sweep: The two runs, the candidate first.
        tests: The tests.
        versions: The registered versions of the candidate and the baseline where they were looked up, else None.
    """

    metric: str
    margin: float
    sweep: Sweep
    tests: AgainstBaseline
    versions: Sequence[RegisteredRetriever | None] = (None, None)

    @property
    def verdict(self) -> Verdict:
        """Whether the candidate is shown not to be worse by the margin, shown to be worse, or neither."""
        if self.same_run or (self.tests.p_not_worse <= LEVEL and not self.vetoes):
            return Verdict.NOT_WORSE
        return Verdict.WORSE if self.tests.p_worse <= LEVEL else Verdict.UNCERTAIN

    @cached_property
    def vetoes(self) -> list[Claim]:
        """Why no test says that the candidate may ship: a model does not read the text, or it returns more of it."""
        if not self.sweep.is_mean(self.metric) or self.same_run or self.tests.p_not_worse > LEVEL:
            return []
        decision = decide(replace(self.sweep, settings=DecisionSettings(self.metric, costs=(TOKENS.name,))))
        more = more_text(decision.sweep, decision.headline, self.sweep.outcomes[0], self.sweep.outcomes[1:])
        vetoes = {"unread_texts": unread_texts(decision), "unequal_text": more}
        return [Claim(name, numbers, vetoes=True) for name, claims in vetoes.items() for numbers in claims]

    @property
    def same_run(self) -> bool:
        """Whether the candidate is the baseline, so that there is nothing to compare."""
        candidate, baseline = self.sweep.outcomes
        return candidate.run_id == baseline.run_id

    def claims(self) -> Iterator[Claim]:
        """What the queries show, the verdict first."""
        tests, metric, margin = self.tests, self.sweep.title(self.metric), self.margin
        candidate, baseline = self.sweep.outcomes
        names = {"candidate": candidate.name, "baseline": baseline.name, "metric": metric, "margin": margin}
        verdict = "same run" if self.same_run else self.verdict.name
        yield Claim("gate", {**names, "verdict": verdict, "run_id": candidate.run_id})
        if self.same_run:
            return
        yield from self.vetoes
        number, groups = len(_values(candidate, self.metric)), _groups(self.sweep, self.metric)
        queries = queries_in_words(self.sweep) if groups else counted(number, "query")
        tested = {name: getattr(tests, name) for name in ("difference", "low", "high", "p_not_worse", "p_worse")}
        values = [self._value(run) for run in self.sweep.outcomes]
        yield Claim("gate_numbers", {"metric": metric, "values": values, "queries": queries, **tested})
        for one, other in ((candidate, baseline), (baseline, candidate)):
            yield from (Claim("less_judged", numbers) for numbers in less_judged_between(self.sweep, one, [other]))
        if tests.p_equivalent <= LEVEL:
            yield Claim("gate_equivalent", {**names, "p": tests.p_equivalent})
        if (groups.number if groups else number) < FEW_QUERIES:
            yield Claim("gate_few", {"queries": queries})
        if self.verdict is Verdict.UNCERTAIN and not self.vetoes:
            least = tests.least if number < tests.least else None
            needed = tests.needed if tests.needed and tests.needed > tests.least else None
            yield Claim("gate_needed", {"least": least, "needed": needed})

    def sentences(self) -> list[str]:
        """The verdict and its numbers, line by line."""
        return [sentence for claim in self.claims() if (sentence := claim.sentence)]

    def _value(self, outcome: Outcome) -> float:
        return float(_values(outcome, self.metric).mean())


def judge_candidate(
    candidate: str, baseline: str, metric: str, margin: float, overrides: Sequence[str], *, promote: bool = False
) -> Gate:
    """Compare a candidate with a baseline, query by query.

    Args:
        candidate: What may replace the baseline: the id of a run, or the address of a registered retriever.
        baseline: What is to be beaten, fixed before the candidate was measured: the same.
        metric: As of `Gate`.
        margin: As of `Gate`.
        overrides: `name=value`: settings of the tracking store.
        promote: Whether the candidate shall get the alias in the baseline's address if it passes.

    Raises:
        ConfigError: The runs cannot be compared, the metric has no value per query, or another model is promoted.
        TrackingError: A run or a registered version cannot be read, or ragsweep did not register it.
    """
    today, _ = composed_today(overrides, only=TODAYS)
    versions = _versions(today.tracking, candidate, baseline, promote=promote)
    outcomes: list[Outcome] = []
    for role, address, version in zip(("candidate", "baseline"), (candidate, baseline), versions, strict=True):
        run_id = version.run_id if version else address
        runs, _ = tracking.fetch_outcomes(today.tracking, [run_id])
        if [outcome.run_id for outcome in runs] != [run_id]:
            expected = "expected the id of one run whose results can be read, not of a sweep"
            raise ConfigError(f"{role}: found {run_id}, {expected}")
        outcomes += runs
    check_same_task(*outcomes)
    sweep = Sweep(outcomes, {})
    at = [f"{outcome.facts.cutoff} {outcome.cutoff}" for outcome in outcomes]
    if at[0] != at[1]:
        expected = f"runs are compared at the same {outcomes[0].facts.cutoff}"
        raise ConfigError(f"measured at {at[0]} and at {at[1]}: {expected}")
    names = [name for name in sweep.metrics if all(outcome.values(name) is not None for outcome in outcomes)]
    if metric not in names:
        lacking = [outcome.name for outcome in outcomes if outcome.values(metric) is None]
        of_one = f"{metric} is not measured of {lacking[0]}" if len(lacking) < len(outcomes) else ""
        expected = f"expected one that both runs have: {', '.join(names)}"
        raise ConfigError(f"--metric: {of_one or f'found {metric!r}'}, {expected}")
    about = sweep.metric_info[metric]
    check_margin("--margin", margin, about)
    one, other = (_values(outcome, metric) for outcome in outcomes)
    if len(one) != len(other):
        raise ConfigError(f"--metric: {metric} is known of {len(one)} and {len(other)} questions")
    value = float(other.mean())
    most_lost = value - about.low if about.higher_is_better else about.high - value
    if not most_lost > 0:
        raise ConfigError(
            f"--metric: {metric} of the baseline {outcomes[1].name} is {value:.4f}, the worst there is: no "
            "candidate can be worse, so that every one would pass; choose another metric, or another baseline"
        )
    if not margin < most_lost:
        raise ConfigError(
            f"--margin: found {margin:g}, expected less than {most_lost:.4f}: no candidate can be worse by "
            f"more than that, as {metric} of {outcomes[1].name} is {value:.4f}"
        )
    gains, groups = sweep.sign(metric) * (one - other), _groups(sweep, metric)
    tested = against_baseline(gains, margin, about.span, groups=groups, resamples=sweep.resamples, seed=sweep.seed)
    return Gate(metric, margin, sweep, tested, versions)


def _groups(sweep: Sweep, metric: str) -> Groups | None:
    """The groups of the queries; None for a metric of other questions, whose groups are not recorded."""
    return sweep.groups if sweep.is_mean(metric) else None


def _values(outcome: Outcome, metric: str) -> Array:
    """The value of each question that the metric is the mean over."""
    values = outcome.values(metric)
    assert values is not None
    return values


def _versions(
    store: DictConfig, candidate: str, baseline: str, *, promote: bool
) -> tuple[RegisteredRetriever | None, RegisteredRetriever | None]:
    """The registered versions that are named, and that of a run that shall be promoted."""
    ours, theirs = (
        tracking.registered(store, address) if address.startswith(SCHEME) else None for address in (candidate, baseline)
    )
    if promote:
        if theirs is None or theirs.alias is None:
            raise ConfigError(f"--promote: the baseline is {baseline}, expected models:/NAME@ALIAS")
        ours = ours or tracking.version_of_run(store, theirs.name, candidate)
        if ours.name != theirs.name:
            raise ConfigError(f"--promote: {candidate} is no version of the model {theirs.name!r}")
    return ours, theirs


def promote(gate: Gate, overrides: Sequence[str]) -> str:
    """Move the baseline's alias to the candidate if the gate has passed; says in a line what was done.

    Raises:
        TrackingError: The alias has another version by now, or the store cannot be reached.
    """
    candidate, baseline = (version for version in gate.versions if version)  # both were looked up
    address = f"{SCHEME}/{baseline.name}@{baseline.alias}"
    if gate.verdict is not Verdict.NOT_WORSE:
        return f"not promoted: {address} stays at version {baseline.number}"
    if candidate.number == baseline.number:
        return f"{address} is version {baseline.number} already"
    tracking.move_alias(composed_today(overrides)[0].tracking, baseline, candidate)
    return f"promoted: {address} was version {baseline.number}, is version {candidate.number}"
