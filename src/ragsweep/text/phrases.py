"""Finds phrases in English texts, whatever the endings of their words, in British and American spelling."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from ragsweep.text.tokens import ENGLISH_STEMS

NUMBER = r"\d+(?:[.,]\d+)*"
# Unlike the tokens of BM25, a number is one word (so that 5 mg is not found in 0.5 mg) and 10g is two.
LETTERS_OR_NUMBER = re.compile(rf"{NUMBER}|[^\W\d_]+")
STEMS_KEPT = 1 << 17  # distinct words whose stems are kept
STEMMED_TEXTS_KEPT = 1 << 14  # whose stems are kept: several metrics read the same reasoning
# British spellings, and the American ones that models write. Both sides of every comparison are folded.
SPELLINGS = (("ae", "e"), ("oe", "e"), ("sulph", "sulf"), ("our", "or"), ("isa", "iza"), ("ise", "ize"))

Phrases = tuple[str, ...]  # each as its stems; see `stems`


def phrases(texts: Iterable[str]) -> Phrases:
    """Phrases to look for: words in a row, in any grammatical form."""
    return tuple(map(stems, texts))


def contains(text: str, some: Phrases) -> bool:
    """Whether one of the phrases is in a text that is given by its stems."""
    return any(phrase in text for phrase in some)


@lru_cache(STEMMED_TEXTS_KEPT)
def stems(text: str) -> str:
    """The stems of the words of a text in their order, each with a space on both sides.

    So a phrase is in a text if the stems of the phrase are in the stems of the text, whatever the endings of the words.
    """
    return f" {' '.join(map(spelling_stem, letters_and_numbers(text)))} "


def letters_and_numbers(text: str) -> list[str]:
    """The runs of letters of a text, in lower case, and its numbers."""
    return LETTERS_OR_NUMBER.findall(text.lower())


@lru_cache(STEMS_KEPT)
def spelling_stem(word: str) -> str:
    """The stem of a word in American spelling."""
    for british, american in SPELLINGS:
        word = word.replace(british, american)
    return ENGLISH_STEMS.stems([word])[0]
