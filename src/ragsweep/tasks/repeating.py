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
from ragsweep.statistics.intervals import Array, effective_queries
from ragsweep.statistics.repeats import components, mean_intervals
from ragsweep.store.component import declared
from ragsweep.tasks.metric import Guessing
from ragsweep.tasks.scores import Curve, Measure, Score
from ragsweep.tasks.task import Measurement, Task

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
    scores = [(_score(runs, first, resamples, seed), runs) for runs in _by_name([one.scores for one in repeats])]
    measures = [(_measure(runs), runs) for runs in _by_name([one.measures for one in repeats])]
    repeated = {score.metric.name: _fact(runs, first.groups) for score, runs in scores}
    repeated |= {measure.metric.name: _fact(runs, first.groups) for measure, runs in measures}
    curves = [{name: one.curves[name] for name in first.curves if name in one.curves} for one in repeats]
    facts = {**first.facts, SETTING: number, "varies": True, "repeated": repeated}
    if finds := [one.facts["false_finds"]["false_finds"] for one in repeats if "false_finds" in one.facts]:
        facts["false_finds"] = {**first.facts["false_finds"], "false_finds": np.mean(finds, axis=0).tolist()}
    decides = next((score for score, _ in scores if score.metric.name == decide_by), scores[0][0])
    sentences = [*_sentences(decides, repeated[decides.metric.name], first.groups, number)]
    return replace(
        first,
        scores=[score for score, _ in scores],
        measures=[measure for measure, _ in measures],
        curves={name: _curve([of[name] for of in curves]) for name in first.curves if all(name in of for of in curves)},
        details={name: _texts([one.details.get(name, ()) for one in repeats]) for name in first.details},
        numbers={
            name: np.mean([one.numbers[name] for one in repeats], axis=0)
            for name in first.numbers
            if all(name in one.numbers for one in repeats)
        },
        facts=facts,
        findings=[*dict.fromkeys(finding for one in repeats for finding in one.findings)],
        notices=[*dict.fromkeys(notice for one in repeats for notice in one.notices)],
        caution=next((one.caution for one in repeats if one.caution), ""),
        sections={HEADING: [*sentences, FIRST], **first.sections},
        summary=sentences,
        tables={**first.tables, BY_REPEAT: _table(repeated)},
        files={
            name if place == 1 else f"repeat_{place}_{name}": lines
            for place, one in enumerate(repeats, start=1)
            for name, lines in one.files.items()
        },
        not_measured={name: why for one in repeats for name, why in one.not_measured.items()},
    )


def _by_name(repeats: Sequence[Sequence[Measured]]) -> Iterator[list[Measured]]:
    """The scores, or the measures, that all repeats have, in the order of the first one."""
    named = [{of_metric.metric.name: of_metric for of_metric in one} for one in repeats]
    yield from ([one[name] for one in named] for name in named[0] if all(name in one for one in named))


def _fact(repeats: Sequence[Score] | Sequence[Measure], groups: Groups) -> dict[str, Any]:
    """What is recorded of a metric or a measure, as of `RepeatedFact`."""
    means, per_item = [float(one.value) for one in repeats], [one.per_item for one in repeats]
    if per_item[0] is None:
        return {"means": means}
    variance = components(np.array(per_item), groups)
    parts = {name: getattr(variance, name) for name in ("question", "repeat", "residual", "asked_once")}
    return {"means": means, **{name: part for name, part in parts.items() if part is not None}}


def _mean(arrays: Sequence[Array | None]) -> Array | None:
    """The mean over the repeats; None if one of them has no values."""
    values = [array for array in arrays if array is not None]
    return np.mean(values, axis=0) if len(values) == len(arrays) else None


def _score(repeats: Sequence[Score], of: Measurement, resamples: int, seed: int) -> Score:
    """The score over all repeats."""
    first, number, value = repeats[0], len(repeats), float(np.mean([one.value for one in repeats]))
    mean = _mean([one.per_item for one in repeats])
    if mean is None:
        drawn = _mean([one.resampled for one in repeats])
        averaged = replace(first, value=value)
        if drawn is None:
            return averaged
        bounds = Score.of_resamples(first.metric, value, drawn)
        return replace(averaged, low=bounds.low, high=bounds.high, resampled=drawn)
    metric = replace(first.metric, binary=False)
    wilson, drawn_by = np.array([metric.wilson]), {"resamples": resamples, "seed": seed}
    (low,), (high,) = mean_intervals(mean[None], wilson, groups=of.groups, repeats=number, **drawn_by)
    guessing = _guessing([one.guessing for one in repeats if one.guessing], mean, of.groups)
    return replace(
        first,
        metric=metric,
        value=float(mean.mean()),
        low=float(low),
        high=float(high),
        per_item=mean,
        guessing=guessing,
    )


def _guessing(repeats: Sequence[Guessing], values: Array, groups: Groups) -> Guessing | None:
    """Compared with guessing by Student's t of the means over the repeats."""
    from scipy.special import stdtr

    if not repeats:
        return None
    questions, chance = float(effective_queries(values, groups)), repeats[0].value
    error = np.sqrt(values.var(ddof=1) / questions) if len(values) > 1 else 0.0
    worse = max(one.p_worse for one in repeats)  # 1 if what could not be read may explain it
    if error <= 0:
        return Guessing(chance, max(one.p for one in repeats), worse)
    free, t = max(1.0, questions - 1), (values.mean() - chance) / error
    return Guessing(chance, float(2 * stdtr(free, -abs(t))), max(worse, float(stdtr(free, t))))


def _measure(repeats: Sequence[Measure]) -> Measure:
    first = repeats[0]
    return replace(
        first,
        value=float(np.mean([one.value for one in repeats])),
        per_item=_mean([one.per_item for one in repeats]),
        sample=_mean([one.sample for one in repeats]),
        machines=first.machines and put_together([one.machines or UNKNOWN for one in repeats]),
    )


def _curve(repeats: Sequence[Curve]) -> Curve:
    """The mean curve; its intervals are as wide as those of one repeat."""
    mean = np.mean([one.values for one in repeats], axis=0)
    return Curve(mean, _mean([one.interval for one in repeats]))


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


def _sentences(score: Score, fact: Mapping[str, Any], groups: Groups, number: int) -> Iterator[str]:
    """Where the variance of the metric that decides lies, and what pays."""
    title = score.metric.title
    parts = [fact.get(name, 0.0) for name in ("question", "repeat", "residual")]
    if total := sum(parts):
        question, repeat, left = (f"{100 * part / total:.0f} %" for part in parts)
        between = "groups of questions" if groups.in_use else "questions"
        yield (
            f"Measured {number} times. Of the variance of {title} of one answer, {question} is between {between}, "
            f"{repeat} between repeats, and {left} between answers to the same question."
        )
        yield what_pays(fact.get("asked_once"), groups, number)
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
