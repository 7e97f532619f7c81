"""The one line that is shown of an error of somebody else's code."""

import pytest

from ragsweep.core.errors import first_line

OF_HAYSTACK = "The following component failed to run:\nComponent name: 'm'\nError: no parent document\n"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("the index is gone\nsee the log", "the index is gone"),
        (OF_HAYSTACK, "The following component failed to run: Component name: 'm' Error: no parent document"),
        ("\n", "ValueError"),
        ("a\x1b[31m\n", "a[31m"),
    ],
)
def test_lines_that_the_first_one_announces_belong_to_it(text, line):
    assert first_line(ValueError(text)) == line
