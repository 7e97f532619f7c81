"""Checks the form of a question."""

from __future__ import annotations

from ragsweep.datasets.readers.fields import flaw_of_text
from ragsweep.text.content_words import content_words

LONGEST_QUESTION = 300  # characters
LEAST_CONTENT = 2  # words that are not function words


def flaw_of_form(question: str) -> str | None:
    """Why a text cannot be a question; None if it can."""
    if flaw := flaw_of_text(question):
        return f"it {flaw}"
    if not question.strip():
        return "it is empty"
    if len(question) > LONGEST_QUESTION:
        return f"it has {len(question)} characters, more than {LONGEST_QUESTION}"
    if len(content_words(question)) < LEAST_CONTENT:
        return f"it has fewer than {LEAST_CONTENT} words of content"
    return None
