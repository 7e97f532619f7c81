"""Measures a configuration several times whose results vary, and makes one measurement of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from omegaconf import DictConfig, OmegaConf

from ragsweep.core.terminal import counted
from ragsweep.core.timing import UNKNOWN, put_together
from ragsweep.statistics.groups import Groups
from ragsweep.statistics.intervals import COVERAGE, Array, effective_queries
from ragsweep.statistics.repeats import (
    Components,
    components,
    mean_intervals,
)
from ragsweep.store.component import declared
from ragsweep.tasks.metric import Guessing
from ragsweep.tasks.task import Curve, Measure, Measurement, Score, Task

if TYPE_CHECKING:
    import pandas as pd

HEADING = "Repeats"
SETTING = "repeats"
BY_REPEAT = "by_repeat.csv"  # in results/: every metric and measure in each repeat
SEVERAL_TEXTS = " | "  # between what the repeats returned, where it differs
TYPICAL = 5  # repeats that are suggested
MOST_BETWEEN = 0.1  # of the variance of one answer that is between repeats; more is said
FIRST = "All other sections, and the charts, show the first repeat; the scores are those of all."

Measured = TypeVar("Measured", Score, Measure)


def varying(parts: Mapping[str, object]) -> list[str]:
    """The paths of the components that may return something else when they are asked again."""
    return [path for path, part in parts.items() if declared(part, "varies")]


def with_repeat(config: DictConfig, paths: Sequence[str], number: int) -> DictConfig:
    """The configuration with another number of the repeat in these components, counted from the number that it has."""
    changed = deepcopy(config)
    for path in paths:
        node = OmegaConf.select(changed, path)
        node["repeat"] = node.get("repeat", 0) + number
    return changed


def measure_repeats(repeats: Sequence[tuple[Task, Any]], decide_by: str, *, resamples: int, seed: int) -> Measurement:
    """Measure all repeats, each a task with its items, and make one measurement of them."""
    return joined([task.measure(items) for task, items in repeats], decide_by, resamples=resamples, seed=seed)


def measured_once(measurement: Measurement) -> Measurement:
    """The only measurement of a configuration that varies, which says so."""
    lacks = f"Asked once: the answers vary, and another asking gives other numbers; {SETTING}={TYPICAL} shows how far."
    return replace(
        measurement,
        facts={**measurement.facts, "varies": True},
        sections={HEADING: [lacks], **measurement.sections},
        summary=[lacks, *measurement.summary],
    )


def joined(repeats: Sequence[Measurement], decide_by: str, *, resamples: int, seed: int) -> Measurement:
    """One measurement of several: the mean of each value over the repeats, and of each item.

    What is no number, such as sections, charts and most tables, is that of the first repeat.
    """
    first, number = repeats[0], len(repeats)
    scores = [_score(some, first, resamples, seed) for some in _by_name([one.scores for one in repeats])]
    measures = [_measure(some, first) for some in _by_name([one.measures for one in repeats])]
    curves = {
        name: _curve([each.curves[name] for each in repeats])
        for name in first.curves
        if all(name in each.curves for each in repeats)
    }
    repeated = {each.metric.name: fact for each, fact in scores} | {each.metric.name: fact for each, fact in measures}
    facts = {**first.facts, SETTING: number, "varies": True, "repeated": repeated}
    if others := [each.facts["false_finds"]["false_finds"] for each in repeats if "false_finds" in each.facts]:
        facts["false_finds"] = {**first.facts["false_finds"], "false_finds": np.mean(others, axis=0).tolist()}
    [decides] = [score for score, _ in scores if score.metric.name == decide_by] or [scores[0][0]]
    said = [*_sentences(decides, repeated, first, number)]
    missing = {name: why for each in repeats for name, why in each.not_measured.items()}
    return replace(
        first,
        scores=[score for score, _ in scores],
        measures=[measure for measure, _ in measures],
        curves=curves,
        details={name: _texts([each.details.get(name, ()) for each in repeats]) for name in first.details},
        facts=facts,
        findings=[*dict.fromkeys(found for each in repeats for found in each.findings)],
        notices=[*dict.fromkeys(notice for each in repeats for notice in each.notices)],
        caution=next((each.caution for each in repeats if each.caution), ""),
        sections={HEADING: [*said, FIRST], **first.sections},
        summary=said,
        tables={**first.tables, BY_REPEAT: _table(repeated)},
        files={
            name if place == 0 else f"repeat_{place + 1}_{name}": lines
            for place, each in enumerate(repeats)
            for name, lines in each.files.items()
        },
        not_measured=missing,
    )


def _by_name(repeats: Sequence[Sequence[Measured]]) -> Iterator[list[Measured]]:
    """The scores, or the measures, that all repeats have, in the order of the first one."""
    named = [{each.metric.name: each for each in one} for one in repeats]
    yield from ([each[name] for each in named] for name in named[0] if all(name in each for each in named))


def _score(repeats: Sequence[Score], of: Measurement, resamples: int, seed: int) -> tuple[Score, dict[str, Any]]:
    """The score over all repeats, and what is recorded of them."""
    first, number = repeats[0], len(repeats)
    values = np.array([each.value for each in repeats])
    metric = replace(first.metric, binary=False)
    if first.per_item is None:
        drawn = [each.resampled for each in repeats if each.resampled is not None]
        if len(drawn) < number:
            return replace(first, value=float(values.mean())), _fact(values)
        spread = np.mean(drawn, axis=0)
        low, high = np.quantile(spread, [(1 - COVERAGE) / 2, (1 + COVERAGE) / 2])
        score = replace(first, value=float(values.mean()), low=float(low), high=float(high), resampled=spread)
        return score, _fact(values)
    per_item = np.array([each.per_item for each in repeats])
    found, mean = components(per_item, of.groups), per_item.mean(axis=0)
    drawn_by = {"resamples": resamples, "seed": seed}
    (low,), (high,) = mean_intervals(
        mean[None], np.array([metric.wilson]), groups=of.groups, repeats=number, **drawn_by
    )
    guessing = _guessing([each.guessing for each in repeats if each.guessing], mean, of)
    score = replace(first, metric=metric, value=float(mean.mean()), low=float(low), high=float(high), per_item=mean)
    return replace(score, guessing=guessing), _fact(values, found)


def _fact(values: Array, found: Components | None = None) -> dict[str, Any]:
    if found is None:
        return {"means": values.tolist()}
    parts = {"question": found.question, "repeat": found.repeat, "residual": found.residual}
    once = {} if found.asked_once is None else {"asked_once": found.asked_once}
    return {"means": values.tolist(), **parts, **once}


def _guessing(repeats: Sequence[Guessing], values: Array, of: Measurement) -> Guessing | None:
    """Compared with guessing by Student's t of the means over the repeats."""
    from scipy.special import stdtr

    if not repeats:
        return None
    questions = float(effective_queries(values, of.groups))
    chance = repeats[0].value
    error = np.sqrt(values.var(ddof=1) / questions) if len(values) > 1 else 0.0
    worse = max(each.p_worse for each in repeats)  # 1 if what could not be read may explain it
    if error <= 0:
        return Guessing(chance, max(each.p for each in repeats), worse)
    free, t = max(1.0, questions - 1), (values.mean() - chance) / error
    return Guessing(chance, float(2 * stdtr(free, -abs(t))), max(worse, float(stdtr(free, t))))


def _measure(repeats: Sequence[Measure], of: Measurement) -> tuple[Measure, dict[str, Any]]:
    values = np.array([each.value for each in repeats])
    per_item, sample = (
        np.mean(known, axis=0) if len(known := [each for each in some if each is not None]) == len(repeats) else None
        for some in ([each.per_item for each in repeats], [each.sample for each in repeats])
    )
    machines = repeats[0].machines and put_together([each.machines or UNKNOWN for each in repeats])
    measure = replace(repeats[0], value=float(values.mean()), per_item=per_item, sample=sample, machines=machines)
    if per_item is None:
        return measure, _fact(values)
    return measure, _fact(values, components(np.array([each.per_item for each in repeats]), of.groups))


def _curve(repeats: Sequence[Curve]) -> Curve:
    """The mean curve; its intervals are as wide as those of one repeat."""
    values = np.array([each.values for each in repeats])
    mean, intervals = values.mean(axis=0), [each.interval for each in repeats if each.interval is not None]
    if len(intervals) < len(repeats):
        return Curve(mean)
    return Curve(mean, np.mean(intervals, axis=0))


def _texts(repeats: Sequence[Sequence[str]]) -> list[str]:
    """What the repeats returned for each item: one text where it is the same."""
    rows = zip(*repeats, strict=True)
    return [texts[0] if len({*texts}) == 1 else SEVERAL_TEXTS.join(texts) for texts in rows]


def _table(repeated: Mapping[str, Mapping[str, Any]]) -> pd.DataFrame:
    """A row per repeat: its number, and every metric and measure."""
    import pandas as pd

    table = pd.DataFrame({name: fact["means"] for name, fact in repeated.items()})
    table.insert(0, "repeat", np.arange(1, len(table) + 1))
    return table


def _sentences(score: Score, repeated: Mapping[str, Mapping[str, Any]], of: Measurement, number: int) -> Iterator[str]:
    """Where the variance of the metric that decides lies, and what pays."""
    fact, title = repeated[score.metric.name], score.metric.title
    parts = [fact.get(name, 0.0) for name in ("question", "repeat", "residual")]
    if total := sum(parts):
        question, repeat, left = (f"{100 * each / total:.0f} %" for each in parts)
        between = "groups of questions" if of.groups.in_use else "questions"
        yield (
            f"Measured {number} times. Of the variance of {title} of one answer, {question} is between {between}, "
            f"{repeat} between repeats, and {left} between answers to the same question."
        )
        yield what_pays(fact.get("asked_once"), of.groups, number)
        yield from shift_in_words(*parts)
    else:
        yield f"Measured {number} times: {title} from {min(fact['means']):.3f} to {max(fact['means']):.3f}."
    if score.guessing:
        p = "< 0.001" if score.guessing.p < 0.001 else f"{score.guessing.p:.2g}"
        yield f"Guessing reaches {score.guessing.value:.3f}; p of guessing, over all repeats: {p}."


def what_pays(asked_once: float | None, groups: Groups, number: int) -> str:
    """How many questions that are asked once tell as much as these repeats."""
    if asked_once is None:
        return "No number of questions that are asked once tells as much: a repeat shifts all of its questions."
    once = groups.queries_in(round(asked_once))
    return f"{number} repeats of {counted(groups.queries, 'question')} tell as much as 1 of {once:,}."


def shift_in_words(question: float | None, repeat: float | None, residual: float | None) -> Iterator[str]:
    """What intervals and tests lack where whole repeats differ, by the parts of the variance; often nothing."""
    if (repeat or 0.0) > MOST_BETWEEN * sum(filter(None, (question, repeat, residual))):
        yield (
            "Whole repeats differ, which no interval or test counts: look for what changed between them, such as the "
            "model behind an endpoint."
        )
