"""Splits texts into words and terms, in any script."""

from __future__ import annotations

import re
import string
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any, Literal

import regex

from ragsweep.core.errors import ConfigError
from ragsweep.text.normalisation import folded
from ragsweep.text.stop_words import LUCENE_STOP_WORDS

Span = tuple[int, int]

ASCII_WORD = re.compile(r"\w+")
PUNCTUATION = str.maketrans("", "", string.punctuation)

# Letters of scripts that write no spaces between words: Han, kana and Hangul, as in Lucene's CJK analysis; and of those
# whose words only a dictionary can find, such as Thai, Lao, Burmese and Khmer, which are class SA of Unicode's line
# breaking. Not half-width kana, which are folded.
SPACELESS = (
    r"[[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Bopomofo}\p{Line_Break=SA}\u3006\u3031-\u3035\u303c\u30fc]"
    r"&&[\p{Lo}\p{Lm}\p{Nl}]--[\uff65-\uffdc]]"
)
IN_WORD = rf"[[\p{{L}}\p{{N}}_]--{SPACELESS}]"
MARK = r"\p{M}"
MORE = r"[\p{M}\p{Default_Ignorable_Code_Point}]*"
WORD = regex.compile(r"[\p{L}\p{N}_]+")
BEYOND_W = regex.compile(rf"[\p{{M}}{SPACELESS}]", regex.V1)  # where words are no runs of letters
A_SPACELESS = regex.compile(SPACELESS, regex.V1)
SPACELESS_WITH_MARKS = regex.compile(rf"{SPACELESS}{MARK}*", regex.V1)
RUN = regex.compile(rf"(?P<spaceless>(?:{SPACELESS}{MARK}*)+)|(?:{IN_WORD}{MARK}*)+", regex.V1)  # in a folded text
WRITTEN = regex.compile(rf"(?:[\p{{L}}\p{{N}}_]{MORE})+", regex.V1)
WORD_OR_LETTER = regex.compile(rf"{SPACELESS}{MORE}|(?:{IN_WORD}{MORE})+", regex.V1)
WITH_MARKS = regex.compile(
    r".(?:\p{M}|[\u1161-\u1175\u11a8-\u11c2])*", regex.DOTALL
)  # Hangul composes with what is before


def words(text: str) -> list[str]:
    r"""The words of a text as they are compared: folded, with their combining marks, in the order of the text.

    A word is a run of letters, digits and underscores: in ASCII `re.findall(r"\w+", text.lower())`. Where a script
    writes no spaces, each two neighbouring letters, with their marks, are one word, and a letter that stands alone is
    one, as in Lucene's CJK analysis. This holds for Thai, Lao, Khmer and Burmese, too: their dictionaries cut the same
    word differently in different sentences, and change with their version, but the same letters have the same bigrams.
    """
    text = folded(text)
    if text.isascii():
        return ASCII_WORD.findall(text)
    if not BEYOND_W.search(text):
        return WORD.findall(text)  # type: ignore[no-any-return]
    return [word for run in RUN.finditer(text) for word in _words_of_run(run)]


def _words_of_run(run: regex.Match[str]) -> Iterable[str]:
    if run["spaceless"] is None:
        return (run[0],)
    letters = SPACELESS_WITH_MARKS.findall(run[0])
    return map("".join, pairwise(letters)) if len(letters) > 1 else letters


def plain_words(text: str) -> list[str]:
    """The words of a text without ASCII punctuation, separated by white space; bigrams as those of `words`.

    Metrics of tokens use these: "well-known" is one word, and so is "0.5".
    """
    text = folded(text)
    if not has_spaceless(text):
        return text.translate(PUNCTUATION).split()
    return [word for piece in text.split() for word in (words if has_spaceless(piece) else plain_words)(piece)]


def count_of_words(text: str) -> int:
    """How many words a text has between white space; where a script writes no spaces, each bigram is one."""
    return len(plain_words(text) if has_spaceless(text) else text.split())


def has_spaceless(text: str) -> bool:
    """Whether a text has a letter of a script without spaces."""
    return not text.isascii() and A_SPACELESS.search(text) is not None


def written_words(text: str) -> list[str]:
    """The words of a text as they are written, with their marks. What a script writes without spaces is one word."""
    return ASCII_WORD.findall(text) if text.isascii() else WRITTEN.findall(text)


def word_spans(text: str) -> list[Span]:
    """Where each word of a text is, in its own characters. Where a script writes no spaces, each letter is a word."""
    pattern = ASCII_WORD if text.isascii() else WORD_OR_LETTER
    return [match.span() for match in pattern.finditer(text)]


def stripped(text: str, start: int, end: int) -> Span:
    """The span without surrounding white space."""
    while start < end and text[start].isspace():
        start += 1
    while start < end and text[end - 1].isspace():
        end -= 1
    return start, end


def whole_word(pattern: str, *, ignore_case: bool = False) -> regex.Pattern[str]:
    """A pattern that matches only what is no part of a longer word. A letter of a script without spaces is no part.

    Marks of such scripts end one of their letters, so that a word may follow them.
    """
    part, spaceless_mark = rf"(?:{IN_WORD}|{MARK})", r"[\p{M}&&[\p{Line_Break=SA}\u302a-\u302f\u3099\u309a]]"
    return regex.compile(
        rf"(?<!(?!{spaceless_mark}){part})(?:{pattern})(?!{part})", regex.V1 | (regex.I if ignore_case else 0)
    )


def letters_with_marks(text: str) -> list[str]:
    """The characters of a text, each with the marks that compose with it."""
    return [match[0] for match in WITH_MARKS.finditer(text)]


@dataclass(frozen=True)
class Tokenizer:
    """Words as terms.

    Attributes:
        stop_words: `english` drops frequent function words; None keeps all words.
        stemmer: A Snowball language, such as `english`; None leaves words as they are.
    """

    stop_words: Literal["english"] | None = None
    stemmer: str | None = None

    def __call__(self, text: str) -> list[str]:
        """The terms of a text, in its order."""
        return self.stems(self.kept(words(text)))

    def kept(self, words: Iterable[str]) -> list[str]:
        """The words that are not stop words."""
        return [word for word in words if word not in LUCENE_STOP_WORDS] if self.stop_words else list(words)

    def stems(self, words: list[str]) -> list[str]:
        """The term of each word."""
        return list(_stemmer(self.stemmer).stemWords(words)) if self.stemmer else words


ENGLISH_STEMS = Tokenizer(stemmer="english")


@cache
def _stemmer(language: str) -> Any:
    import Stemmer

    try:
        return Stemmer.Stemmer(language)
    except KeyError as error:
        languages = ", ".join(Stemmer.algorithms())
        raise ConfigError(f"stemmer: found {language!r}, expected null or one of {languages}") from error
