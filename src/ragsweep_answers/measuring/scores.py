"""Metrics and further numbers of the answers of one configuration."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isnan
from typing import NamedTuple

import numpy as np

from ragsweep.core.timing import Machines
from ragsweep.models.language.response import CAUSE_NAMES
from ragsweep.statistics.intervals import Array
from ragsweep.tasks.metric import Guessing, Metric, Unread
from ragsweep.tasks.task import Measure, Score
from ragsweep_answers.measuring.answer_evaluation import Evaluation
from ragsweep_answers.measuring.measures.accuracy import counted_otherwise
from ragsweep_answers.measuring.measures.answer_costs import cost
from ragsweep_answers.measuring.measures.confidence import MEASURES as CONFIDENCE
from ragsweep_answers.measuring.measures.retrieved import MEASURES as EVIDENCE

ACCURACY = Metric("accuracy", "Accuracy", low=0, high=1, binary=True, wilson=True)

CONTROLS = {
    source: Metric(f"control/{source}", title, low=0, high=1)
    for source, title in (
        ("retrieved", "Accuracy with the retrieved evidence"),
        ("none", "Accuracy without evidence"),
        ("judged", "Accuracy with the judged pages"),
        ("placebo", "Accuracy with the evidence of another question"),
    )
}
NO_ANSWER_SHARE = Metric("no_answer/share", "Questions without an answer", higher_is_better=False, low=0, high=1)
IF_FIRST = Metric("no_answer/accuracy_as_first", "Accuracy if no answer counted as the first option", low=0, high=1)
IF_CHANCE = Metric("no_answer/accuracy_as_chance", "Accuracy if no answer counted as a guess", low=0, high=1)
WITHHELD_SHARE = Metric("withheld/share", "Answers that are withheld", "", False, low=0, high=1)
LOST = Metric("fields/lost_share", "Answers with a field that could not be used", "", False, low=0, high=1)
CAUSED = {
    cause: Metric(f"responses/{cause}_share", f"Responses: {words}", "", False, low=0, high=1)
    for cause, words in CAUSE_NAMES.items()
}
RELEVANCE = Metric("reasoning/context_relevance", "Relevance of the context", low=0, high=2)
COMPLETENESS = Metric("reasoning/completeness", "Completeness of the reasoning", low=0, high=1)
CITED = Metric("reasoning/evidence_cited", "Evidence cited", low=0, high=1)
USED = Metric("reasoning/evidence_used", "Evidence used", low=0, high=1)
COHERENCE = Metric("reasoning/coherence", "Reasoning supported by the evidence", low=0, high=1)
WORDS = Metric("reasoning/words", "Length of the reasoning", "words", higher_is_better=False, low=0)
HALLUCINATION_RATE = Metric("safety/hallucination", "Hallucination rate", higher_is_better=False, low=0, high=1)
DANGEROUS = Metric("safety/dangerous", "Dangerous errors", higher_is_better=False, low=0, high=1)
SAFETY = Metric("safety/score", "Safety score", low=0, high=1)
CONTEXT = Metric("context/tokens", "Tokens of evidence", "tokens", higher_is_better=False, low=0)
TOKENS_IN = Metric("tokens/in", "Tokens in", "tokens", higher_is_better=False, low=0)
TOKENS_OUT = Metric("tokens/out", "Tokens out", "tokens", higher_is_better=False, low=0)
TOTAL_IN = Metric("tokens/total_in", "Tokens in, all answers", "tokens", higher_is_better=False, low=0)
TOTAL_OUT = Metric("tokens/total_out", "Tokens out, all answers", "tokens", higher_is_better=False, low=0)
LATENCY = Metric("latency/mean_ms", "Time of an answer", "ms", higher_is_better=False, low=0)
LATENCY_MEDIAN = Metric("latency/median_ms", "Time of an answer (median)", "ms", higher_is_better=False, low=0)
LATENCY_P95 = Metric("latency/p95_ms", "Time of an answer (95th percentile)", "ms", higher_is_better=False, low=0)
LATENCY_TOTAL = Metric("latency/total_ms", "Time of all answers", "ms", higher_is_better=False, low=0)

REASONING = (RELEVANCE, COMPLETENESS, CITED, USED, COHERENCE, WORDS, HALLUCINATION_RATE)
LATENCIES = (LATENCY, LATENCY_MEDIAN, LATENCY_P95, LATENCY_TOTAL)
TOKENS = (TOKENS_IN, TOKENS_OUT, TOTAL_IN, TOTAL_OUT)
MEASURES = (
    *(NO_ANSWER_SHARE, IF_FIRST, IF_CHANCE, WITHHELD_SHARE, LOST, *CAUSED.values(), *CONTROLS.values(), *CONFIDENCE),
    *(*EVIDENCE, *REASONING, DANGEROUS, SAFETY, CONTEXT, *TOKENS, *LATENCIES),
)


class AnswerTimes(NamedTuple):
    """What answers took.

    Attributes:
        ms: Milliseconds of each of them; None if not known.
        machines: With what; None if that is not noted, as of answers that exist already.
    """

    ms: Sequence[float | None]
    machines: Machines | None = None


UNREAD = Unread(
    NO_ANSWER_SHARE.name,
    {"the first option": IF_FIRST.name, "a guess": IF_CHANCE.name},
    LOST.name,
    {CAUSE_NAMES[cause]: metric.name for cause, metric in CAUSED.items()},
)
UNREAD_CONFIDENCE = UNREAD._replace(otherwise={})  # no confidence stands for that of an answer that was not read


def accuracy_score(evaluation: Evaluation) -> Score:
    """The accuracy with its Wilson interval."""
    found = evaluation.accuracy.accuracy
    guessing = Guessing(evaluation.accuracy.chance, evaluation.accuracy.p, evaluation.accuracy.p_worse)
    return Score(ACCURACY, found.value, found.low, found.high, evaluation.correct, guessing=guessing, unread=UNREAD)


def measures(evaluation: Evaluation, source: str) -> Iterator[Measure]:
    """Everything that is measured of the answers besides the metrics, their confidence and their costs."""
    otherwise = counted_otherwise(evaluation.expected, evaluation.chosen, evaluation.chance)
    for metric, values in zip((NO_ANSWER_SHARE, IF_FIRST, IF_CHANCE), (evaluation.unread, *otherwise), strict=True):
        yield Measure(metric, float(values.mean()), per_item=values)
    if evaluation.withheld.any():
        yield Measure(WITHHELD_SHARE, float(evaluation.withheld.mean()), per_item=evaluation.withheld)
    if evaluation.lost_answers:
        yield Measure(LOST, evaluation.lost_answers / len(evaluation.correct))
    for cause, answers in evaluation.causes.items():
        yield Measure(CAUSED[cause], answers / len(evaluation.correct))
    if evaluation.controls:
        yield Measure(CONTROLS[source], evaluation.accuracy.accuracy.value)
    for other, (_, correct) in evaluation.compared.items():
        yield Measure(CONTROLS[other], float(correct.mean()))
    if evaluation.evidence:
        yield from evaluation.evidence.measures
    reasoning = (
        *(evaluation.relevance, evaluation.completeness, evaluation.cited, evaluation.used),
        *(evaluation.coherence, evaluation.words, evaluation.hallucinated),
    )
    for metric, values in zip(REASONING, reasoning, strict=True):  # means over the cases that have the value
        if not np.isnan(values).all():
            yield Measure(metric, float(np.nanmean(values)))
    if evaluation.endangering is not None:
        yield Measure(DANGEROUS, float(evaluation.endangering.mean()))
    if not isnan(evaluation.safety):
        yield Measure(SAFETY, evaluation.safety)


def cost_measures(times: AnswerTimes, context: Array | None, tokens: Sequence[Array | None]) -> list[Measure]:
    """What the answers cost.

    Args:
        times: What answers took.
        context: Tokens of the evidence of each answer, shape [cases]; None if not counted.
        tokens: Tokens in and tokens out, each of shape [cases]; None if not known of every answer.
    """
    found = [] if context is None else [Measure(CONTEXT, float(context.mean()), per_item=context)]
    for mean, total, each in zip((TOKENS_IN, TOKENS_OUT), (TOTAL_IN, TOTAL_OUT), tokens, strict=True):
        if each is not None:
            found += [Measure(mean, float(each.mean()), per_item=each), Measure(total, float(each.sum()))]
    if summary := cost(times.ms):
        values = (summary.mean, summary.median, summary.p95, summary.total)
        each = np.array(times.ms, dtype=float) if summary.answers == len(times.ms) else None
        for metric, value in zip(LATENCIES, values, strict=True):
            found.append(Measure(metric, value, sample=each if metric is LATENCY else None, machines=times.machines))
    return found
