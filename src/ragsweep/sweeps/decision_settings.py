"""The settings of the group `decision`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Annotated, Any

from omegaconf import DictConfig, OmegaConf

from ragsweep.config.annotations import nearest
from ragsweep.config.run_settings import Budget
from ragsweep.core.errors import ConfigError
from ragsweep.core.limits import Between, Text, TokenizerName
from ragsweep.tasks.metric import Metric

SMALLEST_MARGIN = 1e-6
BUDGET = "budget"  # name of the cutoff that is a cost


@dataclass(frozen=True)
class DecisionSettings:
    """How a sweep is decided: which configuration to ship, and at which cutoff.

    Attributes:
        metric: The metric that chooses.
        at: The cutoff that the headline is about; None for the middle one of those swept.
        require: Bounds that a configuration must keep: at least this for a score, at most this for a cost.
        prefer: A cost to save, or a score to raise, among configurations that are as good; None takes the best one.
        margin: How much of the metric one would give up for that, in its unit; None allows only what is tied.
        target: A promise to certify: the share of questions for which a metric is 1.
        gains: What a larger cutoff buys. The first is in the headline.
        costs: What it costs. The first is in the headline.
        tokenizer: Counts the tokens of the context.
    """

    metric: Text
    at: Budget | None = None
    require: Mapping[str, float] | None = None
    prefer: Text | None = None
    margin: Annotated[float, Between(SMALLEST_MARGIN)] | None = None
    target: Mapping[str, Annotated[float, Between(0, 1)]] | None = None
    gains: Sequence[Text] = ()
    costs: Sequence[Text] = ()
    tokenizer: TokenizerName | None = None


RECORDED = DecisionSettings("")  # by the metric that the runs name


def decision_of(config: DictConfig) -> DecisionSettings:
    """How a sweep with this configuration is decided."""
    settings: Any = OmegaConf.to_container(config.decision, resolve=True)
    return DecisionSettings(**settings)


def check_at(settings: DecisionSettings, cutoffs: Collection[object]) -> None:
    """Raise `ConfigError` where the headline is asked for at a cutoff that is none of these."""
    if settings.at is not None and settings.at not in cutoffs:
        shown = ", ".join(str(cutoff) for cutoff in cutoffs if cutoff is not None)
        raise ConfigError(
            f"decision.at: found {settings.at}, expected a measured cutoff{f': {shown}' if shown else ''}"
        )


def check_margin(setting: str, margin: float | None, metric: Metric) -> None:
    """Raise `ConfigError` where every configuration would keep a margin, or the metric has no bounds to test it by."""
    if margin is not None and not isfinite(metric.span):
        raise ConfigError(
            f"{setting}: {metric.name} has no bounds, so no margin of it can be tested; give its `low` and `high`, "
            "or choose another metric"
        )
    if margin is not None and not margin < metric.span:
        largest = f"less than {metric.span:g}, the whole range of {metric.name}"
        raise ConfigError(f"{setting}: found {margin:g}, expected {largest}")


def _named(settings: DecisionSettings) -> dict[str, Sequence[str]]:
    """The metrics and costs that each setting names, without the one that chooses."""
    return {
        "require": [*(settings.require or ())],
        "prefer": [settings.prefer] if settings.prefer else [],
        "target": [*(settings.target or ())],
        "gains": settings.gains,
        "costs": settings.costs,
    }


def check_measured(settings: DecisionSettings, metrics: Sequence[Metric], why: str) -> None:
    """Raise `ConfigError` where a setting names one of these metrics, which are not measured of this dataset."""
    lacking = [metric.name for metric in metrics]
    for setting, names in {"metric": [settings.metric], **_named(settings)}.items():
        for name in names:
            if name in lacking:
                raise ConfigError(f"decision.{setting}: {name} is not measured: {why}")


def check_decision(
    settings: DecisionSettings,
    metrics: Sequence[Metric],
    measures: Sequence[Metric],
    cutoff: str = "",
    budget: int | None = None,
) -> None:
    """Raise `ConfigError` for the first name that is not measured, and for bounds that nothing can keep.

    Args:
        settings: The settings.
        metrics: What is measured.
        measures: Further numbers that may be measured, such as costs.
        cutoff: Name of the setting that is a cutoff; empty if there is none.
        budget: The one that was asked for as a cutoff.
    """
    scores = {metric.name: metric for metric in metrics}
    measured = scores | {metric.name: metric for metric in measures}
    if settings.metric not in scores:
        raise ConfigError(
            f"decision.metric: found {settings.metric!r}, expected a metric that is measured: {' or '.join(scores)}"
        )
    for setting, names in _named(settings).items():
        for name in names:
            if name not in measured:
                raise ConfigError(
                    f"decision.{setting}: found {name!r}, expected something that is measured"
                    f"{nearest(name, list(measured))}: {', '.join(measured)}"
                )
    if budget is not None and cutoff != BUDGET:
        raise ConfigError(f"budget: found {budget}, and this task has no budget in tokens; expected {cutoff or 'none'}")
    decides = scores[settings.metric]
    check_margin("decision.margin", settings.margin, decides)
    for name, bound in (settings.require or {}).items():
        metric = measured[name]
        if not metric.low <= bound <= metric.high:
            within = f"from {metric.low:g} to {metric.high:g}" if metric.high < float("inf") else f"from {metric.low:g}"
            raise ConfigError(f"decision.require.{name}: found {bound:g}, expected a number {within}")
    for name, share in (settings.target or {}).items():
        if not measured[name].binary:
            binary = " or ".join(metric.name for metric in metrics if metric.binary) or "of which there is none"
            raise ConfigError(f"decision.target: found {name!r}, expected a metric that is 0 or 1: {binary}")
        if not 0 < share < 1:
            raise ConfigError(f"decision.target.{name}: found {share:g}, expected a share between 0 and 1, such as 0.9")
