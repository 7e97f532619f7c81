"""The grade in what a model replies when it is asked for JSON."""

import pytest

from ragsweep.models.language.response import grade_in


@pytest.mark.parametrize(
    ("text", "grade"),
    [
        ('{"grade": 2}', 2),
        ('```json\n{"grade": 0}\n```', 0),
        ('<think>{"grade": 3}?</think>Here it is: {"grade": 1}', 1),
        ('{"grade": 2, "reason": "names the dose"}', 2),
        ('{"grade": 4}', None),
        ('{"grade": -1}', None),
        ('{"grade": 1.5}', None),
        ('{"grade": true}', None),
        ('{"grade": "2"}', None),
        ('{"score": 2}', None),
        ('{"grade": 2', None),
        ("2", None),
        ("The text is relevant: 2", None),
        ("", None),
    ],
)
def test_a_grade_is_a_field_of_json(text, grade):
    assert grade_in(text, 3) == grade
