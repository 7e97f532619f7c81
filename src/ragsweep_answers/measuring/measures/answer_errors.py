"""Why answers are wrong: one category for each wrong answer."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from ragsweep.statistics.intervals import Array, Indices
from ragsweep_answers.measuring.measures.accuracy import WITHHELD

NO_ANSWER = "no answer"
RETRIEVAL = "retrieval failure"
HALLUCINATION = "hallucination"
LOW_CONFIDENCE = "low confidence"
REASONING = "reasoning failure"
NOT_JUDGED = "retrieval or reasoning failure"
CATEGORIES = (NO_ANSWER, RETRIEVAL, HALLUCINATION, LOW_CONFIDENCE, REASONING, NOT_JUDGED)
NEED_JUDGMENTS = (RETRIEVAL, REASONING)  # what no answer can be if it is not judged which units are relevant

Categories = npt.NDArray[np.str_]


def error_categories(
    correct: Array,
    chosen: Indices,
    has_relevant: Array,
    hallucinated: Array,
    confidence: Array,
    *,
    chance: Array,
    low: float,
) -> Categories:
    """The category of each wrong answer: the first of these that applies.

    - no answer: no letter could be read.
    - retrieval failure: no relevant unit was in the evidence that the answerer got.
    - hallucination: most claims of the reasoning are not supported. Where it is not measured, it does not apply.
    - low confidence: the confidence is less than `low` of the way from that of a guess to 1: below 0.475 with four
      options if `low` is 0.3, and below 0.65 with two. Where none is stated, it does not apply.
    - reasoning failure: the evidence had a relevant unit, and still the answer is wrong.
    - retrieval or reasoning failure: as before, but it is not judged which units are relevant.

    The order is that of the reference, which has neither the first category nor the last.

    Args:
        correct: Whether the answer is correct, 0 or 1, shape [answers].
        chosen: Position of the chosen option, shape [answers]; negative if there is none.
        has_relevant: Whether a relevant unit was in the evidence, 0 or 1, shape [answers]; nan if not judged.
        hallucinated: 0 or 1, shape [answers]; nan if not measured.
        confidence: 0 to 1, shape [answers]; nan if not stated.
        chance: Probability of guessing the correct option, shape [answers].
        low: Below this share of the way from `chance` to 1, a confidence is low.

    Returns:
        One of `CATEGORIES`, or an empty string for an answer that is correct or withheld. Shape [answers].
    """
    conditions = [
        (correct == 1) | (chosen == WITHHELD),
        chosen < 0,
        has_relevant == 0,
        hallucinated == 1,
        confidence < chance + low * (1 - chance),
        has_relevant == 1,
    ]
    return np.select(conditions, ["", *CATEGORIES[:-1]], CATEGORIES[-1])


def counts(categories: Categories) -> Mapping[str, int]:
    """How many wrong answers are of each category, in the order of `CATEGORIES`. Adds up to the wrong answers."""
    return {name: int((categories == name).sum()) for name in CATEGORIES}
