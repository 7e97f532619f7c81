"""The words and phrases of English texts that carry their content, in any grammatical form."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache

from ragsweep.text.normalisation import folded
from ragsweep.text.stop_words import FRAMING_WORDS, FUNCTION_WORDS, NEGATIONS, REASONING_STOP_WORDS
from ragsweep.text.tokens import ENGLISH_STEMS, has_spaceless, words, written_words

FEWEST_COMPARED = 3  # distinct content stems of questions that are compared
CONTRACTED = re.compile(r"(\w+?)n['\u2019]t\b", re.IGNORECASE)  # "doesn't"
IRREGULAR = {"ca": "can", "wo": "will", "sha": "shall"}  # "can't"

NUMBER = r"\d+(?:[.,]\d+)*"
# Unlike the tokens of BM25, a number is one word (so that 5 mg is not found in 0.5 mg) and 10g is two.
LETTERS_OR_NUMBER = re.compile(rf"{NUMBER}|[^\W\d_]+")
STEMS_KEPT = 1 << 17  # distinct words whose stems are kept
STEMMED_TEXTS_KEPT = 1 << 14  # whose stems are kept: several metrics read the same reasoning
# British spellings, and the American ones that models write. Both sides of every comparison are folded.
SPELLINGS = (("ae", "e"), ("oe", "e"), ("sulph", "sulf"), ("our", "or"), ("isa", "iza"), ("ise", "ize"))

Phrases = tuple[str, ...]  # each as its stems; see `stems`


def content_words(text: str) -> list[str]:
    """The words of a text that are not function words, as they are written, in its order, each once.

    Where a script writes no spaces, they are those of `words`.
    """
    written: dict[str, str] = {}
    for word in words(text) if has_spaceless(text) else written_words(text):
        written.setdefault(folded(word), word)
    return [word for lower, word in written.items() if lower not in FUNCTION_WORDS]


def content_stems(text: str) -> list[str]:
    """The stems of the words of a text that are not function words, in its order. Words can occur several times."""
    spelled_out = words(CONTRACTED.sub(_spelled_out, text))
    return ENGLISH_STEMS.stems([word for word in spelled_out if word not in FUNCTION_WORDS])


def reasoning_stems(text: str) -> frozenset[str]:
    """The distinct stems of the words of a reasoning, or of its evidence, that carry content.

    Unlike `content_stems`, British and American spellings are the same, and neither negations nor words that compare or
    speak of the answer are among them. Single letters are left out: they are options, units or initials.
    """
    return frozenset(map(spelling_stem, filter(_carries_content, letters_and_numbers(text))))


def numbers_and_negations(text: str) -> Counter[str]:
    """The numbers of a text, and how many negations it has."""
    return Counter([*re.findall(NUMBER, text), *("not" for stem in content_stems(text) if stem in NEGATIONS)])


def is_near_copy(one: Sequence[str], other: Sequence[str], least: float) -> bool:
    """Whether two questions ask the same in nearly the same words.

    Args:
        one: Content stems of one question.
        other: Content stems of the other one.
        least: Least Jaccard similarity of their sets.
    """
    first, second = {*one}, {*other}
    if min(len(first), len(second)) < FEWEST_COMPARED:
        return False
    return len(first & second) >= least * len(first | second) and is_copy(one, other)


def is_copy(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether the longer list of stems has those of the shorter one in their order, and adds no number or negation."""
    shorter, longer = sorted((one, other), key=len)
    rest = iter(longer)
    added = {*longer} - {*shorter}
    has_number = any(character.isdigit() for stem in added for character in stem)
    return all(stem in rest for stem in shorter) and not has_number and NEGATIONS.isdisjoint(added)


def _carries_content(word: str) -> bool:
    return word not in REASONING_STOP_WORDS and word not in FRAMING_WORDS and (len(word) > 1 or not word.isalpha())


def _spelled_out(contraction: re.Match[str]) -> str:
    return f"{IRREGULAR.get(contraction[1].lower(), contraction[1])} not"


def phrases(texts: Iterable[str]) -> Phrases:
    """Phrases to look for: words in a row, in any grammatical form."""
    return tuple(map(stems, texts))


def contains(stems: str, wanted: Phrases) -> bool:
    """Whether one of the phrases is in a text that is given by its stems."""
    return any(phrase in stems for phrase in wanted)


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
