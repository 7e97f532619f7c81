"""Conformance suites of answerers and reasoning methods."""

import pytest

pytest.register_assert_rewrite(f"{__name__}.answer_contracts")

from ragsweep_answers.testing.answer_contracts import (  # noqa: E402
    QUESTIONS,
    AnswererContract,
    ReasoningContract,
    TellingModel,
)

__all__ = ["QUESTIONS", "AnswererContract", "ReasoningContract", "TellingModel"]
