"""What can be counted in a reasoning: its steps, its words and its citations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ragsweep.statistics.intervals import Array
from ragsweep.text.phrases import contains, phrases, stems
from ragsweep_answers.answering.question import Answer

STEPS_PROXY = (
    "Chain completeness looks for the words of five steps, not for the steps: a reasoning that uses these words in "
    "passing is complete."
)
# The five steps of the reference, each with the phrases of which one must occur, in any grammatical form.
STEPS = {
    "clinical presentation": ("clinical presentation",),
    "symptoms and signs": ("symptoms", "signs", "findings"),
    "differential diagnosis": ("differential", "diagnosis", "diagnoses", "condition"),
    "guideline": ("guideline", "protocol", "recommendation"),
    "answer": ("answer", "conclusion", "therefore"),
}
STEP_PHRASES = [*map(phrases, STEPS.values())]


def chain_completeness(answers: Sequence[Answer]) -> Array:
    """Share of the five reasoning steps whose words occur in the reasoning. A rough proxy; see `STEPS_PROXY`.

    Returns:
        Values in [0, 1], shape [answers]; nan without a reasoning, which is not a complete one.
    """
    return np.array([_completeness(answer.reasoning) for answer in answers], np.float64)


def reasoning_words(answers: Sequence[Answer]) -> Array:
    """Length of each reasoning in words, separated by white space; nan without a reasoning. Shape [answers]."""
    return np.array([len(answer.reasoning.split()) or np.nan for answer in answers], np.float64)


def evidence_cited(answers: Sequence[Answer], units: Sequence[Sequence[str]]) -> Array:
    """Share of the units of the evidence that the answer cites. Citations of anything else do not count.

    Args:
        answers: The answers with what they cite.
        units: The units of the passages that each answer was given from. Several passages of a unit count once.

    Returns:
        Values in [0, 1], shape [answers]; nan without evidence, and for an answer with neither reasoning nor citation.
    """
    return np.array([_cited(*row) for row in zip(answers, units, strict=True)], np.float64)


def _completeness(reasoning: str) -> float:
    if not reasoning.strip():
        return np.nan
    text = stems(reasoning)
    return sum(contains(text, step) for step in STEP_PHRASES) / len(STEP_PHRASES)


def _cited(answer: Answer, units: Sequence[str]) -> float:
    if not units or not (answer.cited or answer.reasoning.strip()):
        return np.nan
    given = {*units}
    return len(given.intersection(answer.cited)) / len(given)
