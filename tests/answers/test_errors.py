"""The categories of wrong answers."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragsweep_answers.measuring.measures.answer_errors import counts, error_categories

NAN = np.nan


def category(*, correct=0.0, chosen=1, found=1.0, hallucinated=0.0, confidence=0.9, low=1 / 3, options=4):
    arrays = [np.array([value]) for value in (correct, chosen, found, hallucinated, confidence)]
    return error_categories(*arrays, chance=np.array([1 / options]), low=low)[0]


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"correct": 1.0}, ""),
        ({"correct": 1.0, "found": 0.0, "confidence": 0.1}, ""),
        ({"chosen": -1, "found": 0.0, "confidence": NAN}, "no answer"),
        ({"found": 0.0, "hallucinated": 1.0, "confidence": 0.1}, "retrieval failure"),
        ({"hallucinated": 1.0, "confidence": 0.1}, "hallucination"),
        ({"confidence": 0.49}, "low confidence"),
        ({"confidence": 0.5}, "reasoning failure"),
        ({"confidence": 0.5, "low": 0.4}, "low confidence"),
        ({"confidence": 0.55, "options": 2}, "low confidence"),  # hardly more than a guess
        ({"confidence": 0.42, "options": 10}, "reasoning failure"),  # far more than a guess
        ({"hallucinated": NAN, "confidence": NAN}, "reasoning failure"),
        ({"found": NAN}, "retrieval or reasoning failure"),
        ({"found": NAN, "hallucinated": 1.0}, "hallucination"),
        ({"found": NAN, "confidence": 0.2}, "low confidence"),
    ],
)
def test_the_first_category_that_applies_is_the_category(facts, expected):
    assert category(**facts) == expected


ANSWERS = st.lists(
    st.tuples(
        st.sampled_from([0.0, 1.0]),
        st.integers(-1, 3),
        st.sampled_from([0.0, 1.0, NAN]),
        st.sampled_from([0.0, 1.0, NAN]),
        st.just(NAN) | st.floats(0, 1),
    ),
    max_size=20,
)


@given(ANSWERS)
def test_categories_partition_the_wrong_answers(answers):
    facts = [np.array(column) for column in zip(*answers, strict=True)] if answers else [np.array([])] * 5
    found = error_categories(*facts, chance=np.full(len(answers), 0.25), low=0.3)
    wrong = int((facts[0] == 0).sum())
    assert sum(counts(found).values()) == wrong
    assert Counter(found.tolist()) - Counter({"": len(answers)}) == Counter(counts(found))
