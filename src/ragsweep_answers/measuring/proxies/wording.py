"""What the word-based metrics read in a text: the stems of its words, its content words and its sentences."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import chain

from ragsweep.text.stop_words import FRAMING_WORDS, REASONING_STOP_WORDS
from ragsweep.text.tokens import Tokenizer

# Unlike the tokens of BM25, a number is one word (so that 5 mg is not found in 0.5 mg) and 10g is two.
WORD = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+")
SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
VOCABULARY = 1 << 17  # distinct tokens whose stems are kept
TEXTS = 1 << 14  # whose stems are kept: several metrics read the same reasoning
# British spellings, and the American ones that models write. Both sides of every comparison are folded.
SPELLINGS = (("ae", "e"), ("oe", "e"), ("sulph", "sulf"), ("our", "or"), ("isa", "iza"), ("ise", "ize"))
STEMMER = Tokenizer(stemmer="english")


@lru_cache(TEXTS)
def stems(text: str) -> str:
    """The stems of the words of a text in their order, each with a space on both sides.

    So a phrase is in a text if the stems of the phrase are in the stems of the text, whatever the endings of the words.
    """
    return f" {' '.join(chain.from_iterable(map(_stems_of_token, text.split())))} "


def content_words(text: str) -> frozenset[str]:
    """The stems of the words that carry content. Single letters are left out: they are options, units or initials."""
    return frozenset(chain.from_iterable(map(_content_of_token, text.split())))


def sentences(text: str) -> list[str]:
    """The sentences of a text. A line break ends a sentence, too, as lists and headings have no full stops."""
    return SENTENCE_END.split(text)


@lru_cache(VOCABULARY)
def _stems_of_token(token: str) -> tuple[str, ...]:
    """The stems of the words of a token, which is a text without spaces."""
    return tuple(map(_stem, WORD.findall(token.lower())))


@lru_cache(VOCABULARY)
def _content_of_token(token: str) -> tuple[str, ...]:
    return tuple(map(_stem, filter(_carries_content, WORD.findall(token.lower()))))


def _stem(word: str) -> str:
    for british, american in SPELLINGS:
        word = word.replace(british, american)
    return STEMMER.stems([word])[0]


def _carries_content(word: str) -> bool:
    return word not in REASONING_STOP_WORDS and word not in FRAMING_WORDS and (len(word) > 1 or not word.isalpha())
