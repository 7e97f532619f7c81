"""Metrics and further numbers of the answers of one configuration."""

from __future__ import annotations

from math import isnan

import numpy as np

from ragsweep.core.timing import Machines
from ragsweep.models.language.response import CAUSE_NAMES
from ragsweep.tasks.metric import Guessing, Metric, Unread
from ragsweep.tasks.scores import Measure, Score, latency_measures, latency_metrics
from ragsweep_answers.measuring.answer_evaluation import Evaluation
from ragsweep_answers.measuring.measures.confidence import MEASURES as CONFIDENCE
from ragsweep_answers.measuring.measures.retrieved import FUNCTIONS as EVIDENCE

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
LATENCIES = latency_metrics("Time of an answer", "Time of all answers")

REASONING = (RELEVANCE, COMPLETENESS, CITED, USED, COHERENCE, WORDS, HALLUCINATION_RATE)
TOKENS = (TOKENS_IN, TOTAL_IN, TOKENS_OUT, TOTAL_OUT)
PER_ITEM = (NO_ANSWER_SHARE, IF_FIRST, IF_CHANCE, WITHHELD_SHARE, CONTEXT, TOKENS_IN, TOKENS_OUT)  # for comparisons
TOTALS = {TOKENS_IN: TOTAL_IN, TOKENS_OUT: TOTAL_OUT}  # where they are known of every answer
MEASURES = (
    *(NO_ANSWER_SHARE, IF_FIRST, IF_CHANCE, WITHHELD_SHARE, LOST, *CAUSED.values(), *CONTROLS.values(), *EVIDENCE),
    *(*REASONING, DANGEROUS, SAFETY, *CONFIDENCE, CONTEXT, *TOKENS, *LATENCIES),
)


UNREAD = Unread(
    NO_ANSWER_SHARE.name,
    {"the first option": IF_FIRST.name, "a guess": IF_CHANCE.name},
    LOST.name,
    {CAUSE_NAMES[cause]: metric.name for cause, metric in CAUSED.items()},
)
UNREAD_CONFIDENCE = UNREAD._replace(otherwise={})  # no confidence stands for that of an answer that was not read


def accuracy_score(evaluation: Evaluation) -> Score:
    """The accuracy with its Wilson interval."""
    accuracy = evaluation.accuracy.accuracy
    guessing = Guessing(evaluation.accuracy.chance, evaluation.accuracy.p, evaluation.accuracy.p_worse)
    correct = evaluation.values("correct")
    return Score(ACCURACY, *accuracy[:3], correct, guessing=guessing, unread=UNREAD)


def measures(evaluation: Evaluation, machines: Machines | None) -> list[Measure]:
    """Everything that is measured of the answers besides the metrics.

    Args:
        evaluation: What was measured. The mean of a column is over the cases that have a value.
        machines: What the answers took their time with; None if that is not noted, as of answers that exist already.
    """
    cases, numbers = evaluation.cases, list[Measure]()
    for metric in (metric for metric in MEASURES if metric.name in cases and cases[metric.name].notna().any()):
        values = evaluation.values(metric.name)
        per_item = values if metric in PER_ITEM else None
        if metric not in TOTALS or not np.isnan(values).any():
            numbers.append(Measure(metric, float(np.nanmean(values)), per_item=per_item))
            numbers += [Measure(TOTALS[metric], float(values.sum()))] if metric in TOTALS else []
    numbers += evaluation.evidence.measures if evaluation.evidence else []
    numbers += evaluation.confidence.measures if evaluation.confidence else []
    numbers += [] if isnan(evaluation.safety) else [Measure(SAFETY, evaluation.safety)]
    times = evaluation.values("time_ms")
    if len(stated := times[~np.isnan(times)]):
        sample = times if len(stated) == len(times) else None
        numbers += latency_measures(LATENCIES, stated, sample=sample, machines=machines)
    return sorted(numbers, key=lambda measure: MEASURES.index(measure.metric))
