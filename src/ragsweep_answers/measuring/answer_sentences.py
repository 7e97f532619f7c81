"""What a report says of the answers of one configuration, in sentences."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from math import isnan

import numpy as np

from ragsweep.core.terminal import counted, one_line, shortened
from ragsweep.models.language.response import CAUSE_NAMES, HELP
from ragsweep.statistics import LEVEL, holm
from ragsweep.tasks.task import Measure, Score
from ragsweep_answers.answering.recorded_answers import PATTERN
from ragsweep_answers.measuring.answer_evaluation import Evaluation
from ragsweep_answers.measuring.measures import answer_errors as errors
from ragsweep_answers.measuring.measures.accuracy import at_most, chance_sentence, difference
from ragsweep_answers.measuring.measures.confidence import ConfidenceSummary
from ragsweep_answers.measuring.proxies import grounding, pitfalls, reasoning_quality, safety

ANSWERS = "Answers"  # the heading of what a single run prints
SOURCES = {
    "retrieved": "the retrieved evidence",
    "none": "no evidence",
    "judged": "the judged pages",
    "placebo": "the evidence of another question",
}
SMALLEST = 0.005  # differences are shown with two digits
FEWEST_OF_ONE_LETTER = 10  # answers, of which chance makes hardly ever one letter
SHOWN_TEXTS, SHOWN_CHARACTERS = 3, 120  # of texts without an answer
SHOWN_PAIRS = 3  # confusion pairs and pitfalls in a sentence


def sections(
    evaluation: Evaluation,
    source: str,
    scores: Sequence[Score],
    measures: Sequence[Measure],
    known: ConfidenceSummary | None,
    *,
    asked: str = "",
    unread: str = "",
) -> dict[str, list[str]]:
    """Sentences by heading; headings without a sentence are left out.

    Args:
        evaluation: What was measured.
        source: Where the evidence comes from.
        scores: The metrics.
        measures: Further numbers.
        known: What is known of the answers with a confidence; None if no answer has one.
        asked: How many questions are asked, such as `4,162 of 4,183 questions`; empty if these are all.
        unread: Shows some texts in which no answer was found; empty if there are none.
    """
    named = {each.metric.name: each.value for each in measures}
    found = {
        ANSWERS: [
            *_accuracy(evaluation, asked),
            *filter(None, [unread]),
            *_causes(evaluation),
            *_lost(evaluation),
            *_controls(evaluation, source),
        ],
        "Confidence of the answers": list(_confidence(evaluation, scores, known)),
        "Errors of the answers": list(_errors(evaluation)),
        "Reasoning and safety": list(_reasoning(evaluation, named)),
        "Tokens of the answers": list(_tokens(named)),
    }
    return {heading: sentences for heading, sentences in found.items() if sentences}


def unread_texts(texts: Sequence[str], *, recorded: bool) -> str:
    """A sentence that shows some texts in which no answer was found, with a hint where they were recorded."""
    shown = [
        json.dumps(shortened(one_line(text), SHOWN_CHARACTERS), ensure_ascii=False) for text in texts[:SHOWN_TEXTS]
    ]
    hint = f"; {PATTERN} reads a form of your own, whose group is the answer" if recorded else ""
    return f"No answer is read from {', '.join(shown)}{hint}." if shown else ""


def _accuracy(evaluation: Evaluation, asked: str) -> Iterator[str]:
    cases, missing = len(evaluation.correct), evaluation.no_answers
    if missing.questions == cases:
        yield (
            f"No answer could be read to any of the {asked or counted(cases, 'question')}; they count as wrong, so the "
            "accuracy says nothing of what the model knows."
        )
        return
    yield f"The answers are {chance_sentence(evaluation.accuracy)} ({asked or counted(cases, 'question')})."
    if missing.questions:
        otherwise = [f"{missing.as_first:.2f} if they counted as the first option"]
        guess = f"{missing.as_chance:.2f} if they counted as a guess"
        otherwise += [guess] if missing.left_out is None else [guess, f"{missing.left_out:.2f} without them"]
        yield (
            f"{missing.questions} of {cases} questions have no answer that could be read, and count as wrong. The "
            f"accuracy would be {', '.join(otherwise[:-1])}, and {otherwise[-1]}."
        )
    if withheld := int(evaluation.withheld.sum()):
        given = evaluation.chosen >= 0
        right = f"; {evaluation.correct[given].mean():.2f} of the {given.sum()} others are right" if given.any() else ""
        yield (
            f"{counted(withheld, 'answer')} of {cases} are withheld, as their confidence is below "
            f"task.confidence_threshold, and count as not right{right}."
        )
    read = evaluation.chosen[evaluation.chosen >= 0]
    if len(read) >= FEWEST_OF_ONE_LETTER and len({*read.tolist()}) == 1 < len({*evaluation.expected.tolist()}):
        same = f"All {len(read)} answers that were read are {evaluation.letters[read[0]]}"
        yield f"{same}, whatever was asked: look at some of the model's texts."
    numbers = {round(1 / chance) for chance in evaluation.chance}
    if len(numbers) > 1:
        yield f"The questions have {min(numbers)} to {max(numbers)} options; chance is their mean."


def _causes(evaluation: Evaluation) -> Iterator[str]:
    """Why responses had no usable text, by what the server said of them."""
    if evaluation.causes:
        cases = counted(len(evaluation.correct), "question")
        named = [
            f"{CAUSE_NAMES[cause]} {count} ({HELP[cause].format(limit='answerer.max_tokens')})"
            for cause, count in evaluation.causes.items()
        ]
        yield (
            "Responses without a usable text, by what the server says of them, which tells nothing of what the model "
            f"knows: {', '.join(named)}; of {cases}."
        )


def _lost(evaluation: Evaluation) -> Iterator[str]:
    """The fields of responses that could not be used."""
    if evaluation.lost:
        cases = len(evaluation.correct)
        named = ", ".join(f"{name} in {count} of {counted(cases, 'answer')}" for name, count in evaluation.lost.items())
        yield (
            "Fields of responses that could not be used, as they are out of range, of another type, or missing: "
            f"{named}. The other fields of these responses count."
        )


def _controls(evaluation: Evaluation, source: str) -> Iterator[str]:
    """Each comparison is of the same questions, answered from other evidence."""
    if evaluation.no_answers.questions == len(evaluation.correct):
        return
    pairs = evaluation.compared
    known = {source: evaluation.dependent.only(~np.isnan(each)) for source, each in evaluation.controls.items()}
    found = [difference(*pair, known[source]) for source, pair in pairs.items()]
    p = holm(np.array([each.p for each in found]))
    test = "exact test by groups" if evaluation.dependent.in_use else "McNemar's exact test"
    for (other, (own, correct)), each, adjusted in zip(pairs.items(), found, p.tolist(), strict=True):
        cases = counted(len(own), "question")
        only = "" if len(own) == len(evaluation.correct) else f"{cases} with a judged page: "
        verdict = "may be chance" if adjusted > LEVEL else "is more than chance"
        corrected = f", Holm's correction for {len(pairs)} tests" if len(pairs) > 1 else ""
        yield (
            f"{only}{own.mean():.2f} of the answers are correct with {SOURCES[source]}, {correct.mean():.2f} with "
            f"{SOURCES[other]}; the difference {verdict} ({_interval(*each[:3], sign='+')}, "
            f"{test}{corrected}: p = {adjusted:.2g}; {each.only_first} correct only with {SOURCES[source]}, "
            f"{each.only_second} only with {SOURCES[other]})."
        )


def _confidence(evaluation: Evaluation, scores: Sequence[Score], known: ConfidenceSummary | None) -> Iterator[str]:
    values, cases = {score.metric.name: score.value for score in scores}, len(evaluation.correct)
    if known is None or "ece" not in values:
        stated = not np.isnan(evaluation.confidence).all()
        why = evaluation.uncalibrated if stated else "no confidence is stated"
        yield f"Calibration is not measured: {why}."
        yield from _confident(evaluation)
        return
    if missing := cases - known.answers:
        yield (
            f"Without a confidence: {missing} of {counted(cases, 'question')}. Each counts as the largest error, 1, in "
            f"the Brier score {values['brier']:.2f} and the calibration error {values['ece']:.2f}. What follows is of "
            f"the {counted(known.answers, 'answer')} with a confidence."
        )
    yield _calibrated(known)
    yield from _skilled(known)
    if known.auroc and known.of_correct is not None and known.of_wrong is not None:
        yield (
            f"Correct answers have a mean confidence of {known.of_correct:.2f}, wrong ones of {known.of_wrong:.2f}; a "
            f"correct answer is the more confident one with a probability of {_interval(*known.auroc)} (AUROC, 0.50 by "
            f"chance). Of the answers that are left when the least confident ones are withheld, {known.aurc:.0%} are "
            "wrong, averaged over how many are withheld (area under the risk-coverage curve)."
        )
    yield from _confident(evaluation)


def _confident(evaluation: Evaluation) -> Iterator[str]:
    if len(evaluation.confident):
        number = counted(len(evaluation.confident), "wrong answer")
        yield f"{number} with high confidence: results/high_confidence_errors.csv lists them with their text."


def _calibrated(known: ConfidenceSummary) -> str:
    """Whether the confidence fits the accuracy."""
    gap = known.confidence - known.accuracy
    if known.ece.low == 0:
        said = "there are too few answers to show a calibration error"
    elif abs(gap) >= SMALLEST:
        said = f"the confidence is {abs(gap):.2f} too {'high' if gap > 0 else 'low'} on average"
    else:
        said = "some confidences are too high and others too low"
    return (
        f"Mean confidence {known.confidence:.2f}, accuracy {known.accuracy:.2f}; calibration error "
        f"{_interval(*known.ece)}: {said}."
    )


def _skilled(known: ConfidenceSummary) -> Iterator[str]:
    """Whether the confidence is better than a constant one."""
    if not known.skill:
        return
    worth = "better" if known.skill.low > 0 else "no better"
    parts = known.parts
    yield (
        f"Brier score {known.brier.value:.2f}: {worth} than stating the accuracy as every confidence (skill "
        f"{_interval(*known.skill, sign='+')}). Its parts: reliability {parts.reliability:.3f} (0 at best) - "
        f"resolution {parts.resolution:.3f} (the higher, the better) + uncertainty {parts.uncertainty:.3f} (of the "
        f"accuracy alone) {round(parts.within_bins, 3) + 0:+.3f} within bins."
    )


def _interval(value: float, low: float, high: float, *, sign: str = "") -> str:
    value, low, high = (round(each, 2) + 0 for each in (value, low, high))  # + 0 makes a 0 of -0
    return f"{value:{sign}.2f} [{low:{sign}.2f}, {high:{sign}.2f}]"


def _tokens(named: Mapping[str, float]) -> Iterator[str]:
    """What all answers took together, for each direction that is known."""
    for way in ("in", "out"):
        if (total := named.get(f"tokens/total_{way}")) is not None:
            yield f"Tokens {way}: {total:,.0f} for all answers, {named[f'tokens/{way}']:,.0f} on average."


def _errors(evaluation: Evaluation) -> Iterator[str]:
    wrong = int(evaluation.wrong.sum())
    found = {name: count for name, count in errors.counts(evaluation.categories).items() if count}
    if not wrong:
        return
    yield f"{counted(wrong, 'wrong answer')}: " + ", ".join(f"{name} {count}" for name, count in found.items()) + "."
    if errors.NOT_JUDGED in found:
        yield errors.NOT_JUDGED_NOTE
    kinds = {kind: count for kind, count in evaluation.confusions.counts.items() if count}
    if kinds:
        yield "The chosen condition was: " + ", ".join(f"{_short(kind)} {count}" for kind, count in kinds.items()) + "."
    if pairs := evaluation.confusions.pairs[:SHOWN_PAIRS]:
        yield (
            "Most often confused: "
            + "; ".join(f"{each.first} and {each.second} ({each.times})" for each in pairs)
            + "."
        )
    read = ~np.isnan(evaluation.pitfalls).any(axis=1)
    if read.any():
        counts = evaluation.pitfalls[read].sum(axis=0).astype(int)
        order = np.argsort(-counts, kind="stable")[:SHOWN_PAIRS]
        named = ", ".join(f"{pitfalls.PITFALLS[each]} {counts[each]}" for each in order if counts[each])
        if named:
            yield f"Pitfalls in the {read.sum()} wrong answers with a reasoning: {named}. {pitfalls.PROXY}"


def _short(kind: str) -> str:
    """A kind of confusion without the word "condition"."""
    return kind.removesuffix(" condition").removeprefix("condition ")


def _reasoning(evaluation: Evaluation, named: Mapping[str, float]) -> Iterator[str]:
    checked = ~np.isnan(evaluation.hallucinated)
    if "reasoning/completeness" in named:
        cited = named.get("reasoning/evidence_cited")
        yield (
            f"A reasoning has {named['reasoning/words']:.0f} words on average and names "
            f"{named['reasoning/completeness']:.0%} of the five steps. {reasoning_quality.STEPS_PROXY}"
        )
        if cited is not None:
            yield f"It cites {cited:.0%} of the evidence."
    if checked.any():
        count, total = int(evaluation.hallucinated[checked].sum()), int(checked.sum())
        coherence = named.get("reasoning/coherence", np.nan)
        yield (
            f"Mostly unsupported by both the evidence and the case: {count} of {total} reasonings, at most "
            f"{at_most(count, total):.1%} with 95 % confidence; the evidence supports {coherence:.0%} of their "
            f"sentences. {grounding.PROXY}"
        )
    if evaluation.endangering is None:
        yield (
            "Dangerous errors are not looked for, so there is no safety score: no rules are named for this dataset "
            "(evaluation.dangerous)."
        )
        return
    dangerous, cases = int(evaluation.endangering.sum()), len(evaluation.correct)
    yield (
        f"Dangerous errors: {dangerous} of {cases} answers, at most {at_most(dangerous, cases):.1%} with 95 % "
        f"confidence. {safety.PROXY}"
    )
    if isnan(evaluation.safety):
        yield "No reasoning could be checked for hallucination, so there is no safety score."
