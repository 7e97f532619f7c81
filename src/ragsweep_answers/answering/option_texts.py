"""Compares the texts of options word by word: their inverted forms, and those that are within another one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence, Set

# Numbers with their signs, words, and every other sign except punctuation; so Na+ differs from Na-.
TOKEN = re.compile(
    r"(?:(?<!\w)[+-])?(?:\d+(?:[.,:/]\d+)*|(?<![\w.,])[.,]\d+)|[\u3040-\u30ff\u3400-\u9fff]|(?:(?!\d)[^\W_\u3040-\u30ff\u3400-\u9fff])+|(?<=\w)-(?!\w)"
    r"|[^\w\s.,:;!?'\"()\[\]{}/\\|•·-]"
)

SHORTEST_INVERTED, LONGEST_INVERTED = 4, 6  # characters of the longest word, and words, of a text that may be inverted
LONGEST_AROUND = 100  # characters
AROUND = 5  # words on each side of a text that may make it that of another option
CLAUSE_END = re.compile(
    r"[.!?;:\n\ue000-\uf8ff]|,\s+(?:and|but|so)\b|\b(?:because|since|as|while|not|no|nor|without|alone|only|rather|instead|than|over|but)\b",
    re.I,
)
PLAIN_WORDS = {"yes", "no", "maybe", "true", "false", "unknown", "none", "all", "both", "neither", "other"}

Words = tuple[str, ...]


def tokens_of(text: str) -> Words:
    """The words, numbers and signs of a text, without case, spaces and punctuation."""
    return tuple(map(folded, TOKEN.finditer(text)))


def folded(token: re.Match[str]) -> str:
    """A token without case; .5 is 0.5."""
    word = token[0].casefold()
    return re.sub(r"^([+-]?)\.", r"\g<1>0.", word)


def inverted(texts: Mapping[Words, str]) -> dict[Words, str]:
    """Letters by the texts with their end first, as in an index: anemia, iron deficiency."""
    found = {
        (text[at:] + text[:at], letter)
        for text, letter in texts.items()
        if max(map(len, text)) >= SHORTEST_INVERTED and len(text) <= LONGEST_INVERTED and not PLAIN_WORDS & {*text}
        for at in range(1, len(text))
    }
    several = Counter(text for text, _ in found)
    return {text: letter for text, letter in found if text not in texts and several[text] == 1}


def extra_words(texts: Mapping[Words, str]) -> dict[str, list[Set[str]]]:
    """By the letter of each text, the words that each other text has besides all of its own."""
    return {letter: [{*other} - {*own} for other in texts if {*own} < {*other}] for own, letter in texts.items()}


def may_be_longer_text(line: str, start: int, end: int, others: Sequence[Set[str]]) -> bool:
    """Whether words beside a text in a line are some by which another option's text is longer: diabetes mellitus."""
    if not others:
        return False
    before = CLAUSE_END.split(line[max(0, start - LONGEST_AROUND) : start])[-1]
    after = CLAUSE_END.split(line[end : end + LONGEST_AROUND])[0]
    around = {*tokens_of(before)[-AROUND:], *tokens_of(after)[:AROUND]}
    numbers = {word for word in around if word.isdigit()}
    return any(
        not (numbers and {*filter(str.isdigit, more)} - numbers)  # type 2 is not type 1
        and any(len(word) > 2 or word.isdigit() for word in around & more)
        for more in others
    )
