"""Checks the wording of a question: that it is one, and that it can be understood alone. The rules are for English."""

from __future__ import annotations

import re

from ragsweep.core.terminal import shortened
from ragsweep.datasets.fields import flaw_of_text
from ragsweep.generation.words import FUNCTION_WORDS, content_words

LONGEST = 300  # characters
LEAST_CONTENT = 2  # words that are not function words

# What only the passage has: a reader of the question does not see it.
TEXTS = "(?:passage|text|paragraph|excerpt|article|author|sentence|snippet)s?"
SPEAKS = (
    "says?|states?|mentions?|describes?|recommends?|suggests?|explains?|gives?|lists?|is|are|does|do|to|about|on|for"
)
POINTERS = re.compile(
    rf"\b(?:(?:this|that|these|those|given|above|following|provided) {TEXTS}"
    rf"|the {TEXTS}(?=\s*$|\s*[^\w\s]|\s+(?:{SPEAKS})\b)|(?:passage|excerpt|snippet)"
    r"|according to (?:it|them|this|the (?:document|section|page|table|figure))"
    r"|(?:in|from|of|by) (?:the above|the following|the given) \w+"
    r"|(?:mentioned|described|listed|shown|given|stated|discussed|provided) (?:above|below|here|earlier)"
    r"|as (?:above|mentioned|described))\b",
    re.IGNORECASE,
)
DEMONSTRATIVES = re.compile(
    r"\b(?:this|these|those)\b|\b(?:of|in|for|from|to|with|by|like|about|after|is|was|does|do) that\b", re.IGNORECASE
)
PRONOUNS = re.compile(r"\b(?:it|its|they|them|their|he|him|his|she|her|hers)\b", re.IGNORECASE)
WORD = re.compile(r"[^\W\d_]+")


def flaw_of_form(question: str) -> str | None:
    """Why a text cannot be a question; None if it can."""
    if flaw := flaw_of_text(question):
        return f"it {flaw}"
    if not question.strip():
        return "it is empty"
    if len(question) > LONGEST:
        return f"it has {len(question)} characters, more than {LONGEST}"
    if len(content_words(question)) < LEAST_CONTENT:
        return f"it has fewer than {LEAST_CONTENT} words of content"
    return None


def flaw_of_context(question: str) -> str | None:
    """What in a question cannot be understood without the passage; None if the rules find nothing.

    A pronoun is accepted if a noun could stand before it: a word of content. "How is iron stored before it is given?"
    is accepted, "When is it given?" is not.
    """
    for rule in (POINTERS, DEMONSTRATIVES):
        if found := rule.search(question):
            return f"{shortened(found[0])!r} points to something that the question does not name"
    for found in PRONOUNS.finditer(question):
        before = WORD.findall(question[: found.start()].lower())
        if not any(word not in FUNCTION_WORDS for word in before):
            return f"{found[0]!r} stands for something that the question does not name"
    return None
