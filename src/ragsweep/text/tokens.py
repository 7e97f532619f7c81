"""Splits texts into words and terms, in any script."""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any, Literal

from ragsweep.core.errors import ConfigError
from ragsweep.text.normalisation import INVISIBLE, folded
from ragsweep.text.stop_words import LUCENE_STOP_WORDS

Span = tuple[int, int]

ASCII_WORD = re.compile(r"\w+")
PUNCTUATION = str.maketrans("", "", string.punctuation)

# Scripts that write no spaces between words, as ranges of code points: Han, Hiragana, Katakana and Hangul, as in
# Lucene's CJK analysis; and those whose words only a dictionary can find, such as Thai, Lao, Burmese and Khmer, which
# are class SA of Unicode's line breaking.
CJK = (
    "1100-11FF 3005-3007 3021-3029 3031-303C 3041-30FF 3105-318E 31A0-31FF 3400-4DBF 4E00-9FFF A960-A97C AC00-D7FB "
    "F900-FAFF 1AFF0-1B16F 20000-3FFFF"
)
SOUTHEAST_ASIAN = "0E00-0EFF 1000-109F 1780-17FF 1950-19DF 1A20-1AAF A9E0-A9FF AA60-AADF 11700-1174F"
BMP, ABOVE_BMP = 0xFFFF, "\U00010000-\U0010ffff"  # the last code point of the Basic Multilingual Plane, and those above
LAST_WITH_MARKS = 0x1FFFF  # the planes above have ideographs, and variation selectors, which are invisible


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
    patterns = _patterns()
    if not patterns.beyond_w.search(text):
        return ASCII_WORD.findall(text)
    return [word for run in patterns.run.finditer(text) for word in _words_of_run(run)]


def _words_of_run(run: re.Match[str]) -> Iterable[str]:
    if run["spaceless"] is None:
        return (run[0],)
    letters = _patterns().letter.findall(run[0])
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
    return not text.isascii() and _patterns().spaceless.search(text) is not None


def is_right_to_left(word: str) -> bool:
    """Whether a word begins with a letter of a script that is written from right to left."""
    return unicodedata.bidirectional(word[0]) in ("R", "AL")


def written_words(text: str) -> list[str]:
    """The words of a text as they are written, with their marks. What a script writes without spaces is one word."""
    return ASCII_WORD.findall(text) if text.isascii() else _patterns().written.findall(text)


def word_spans(text: str) -> list[Span]:
    """Where each word of a text is, in its own characters. Where a script writes no spaces, each letter is a word."""
    pattern = ASCII_WORD if text.isascii() else _patterns().word_or_letter
    return [found.span() for found in pattern.finditer(text)]


def stripped(text: str, start: int, end: int) -> Span:
    """The span without surrounding white space."""
    while start < end and text[start].isspace():
        start += 1
    while start < end and text[end - 1].isspace():
        end -= 1
    return start, end


def whole_word(pattern: str) -> str:
    """A pattern that matches only what is no part of a longer word. A letter of a script without spaces is no part."""
    patterns = _patterns()
    return f"(?<!{patterns.part_before})(?:{pattern})(?!{patterns.part})"


@dataclass(frozen=True)
class _Patterns:
    r"""Patterns of words beyond ASCII.

    Attributes:
        beyond_w: What the words of Python's `\w` may get wrong: marks, and letters of scripts without spaces.
        spaceless: A letter of a script without spaces.
        letter: Such a letter with its marks.
        run: A run of such letters, or a word of another script, in a folded text.
        written: A word of any script, or several without spaces, in a text that is not folded.
        word_or_letter: A word, or a letter of a script without spaces, in a text that is not folded.
        part: A character of a word of another script, or a mark, as the text of a pattern.
        part_before: The same without the marks of scripts without spaces, which end one of their letters.
    """

    beyond_w: re.Pattern[str]
    spaceless: re.Pattern[str]
    letter: re.Pattern[str]
    run: re.Pattern[str]
    written: re.Pattern[str]
    word_or_letter: re.Pattern[str]
    part: str
    part_before: str


@cache
def _patterns() -> _Patterns:
    ends = ([int(end, 16) for end in each.split("-")] for each in f"{CJK} {SOUTHEAST_ASIAN}".split())
    codes = sorted(code for first, last in ends for code in range(first, last + 1))
    spaceless = [code for code in codes if unicodedata.category(chr(code)) in ("Lo", "Lm", "Nl")]
    marks, letters = combining_marks(), _one_of(spaceless)
    spaceless_marks = _one_of([code for code in codes if unicodedata.category(chr(code)).startswith("M")])
    letter, more = f"{letters}{marks}*", f"(?:{marks}|{INVISIBLE.pattern})*"
    return _Patterns(
        beyond_w=re.compile(f"[{_ranges(code for code in (*_marks(), *spaceless) if code <= BMP)}{ABOVE_BMP}]"),
        spaceless=re.compile(letters),
        letter=re.compile(letter),
        run=re.compile(rf"(?P<spaceless>(?:{letter})+)|(?:(?!{letters})\w{marks}*)+"),
        written=re.compile(rf"(?:\w{more})+"),
        word_or_letter=re.compile(rf"{letters}{more}|(?:(?!{letters})\w{more})+"),
        part=rf"(?:(?!{letters})(?:\w|{marks}))",
        part_before=rf"(?:(?!{letters}|{spaceless_marks})(?:\w|{marks}))",
    )


@cache
def combining_marks() -> str:
    """The pattern of a combining mark."""
    return _one_of(_marks())


@cache
def _marks() -> Sequence[int]:
    return [code for code in range(LAST_WITH_MARKS + 1) if unicodedata.category(chr(code)).startswith("M")]


def _one_of(codes: Sequence[int]) -> str:
    """The pattern of one of these characters.

    A class is fast unless it has characters above the Basic Multilingual Plane. These have a class of their own.
    """
    low, high = (_ranges(code for code in codes if (code > BMP) == above) for above in (False, True))
    return f"(?:[{low}]|(?=[{ABOVE_BMP}])[{high}])"


def _ranges(codes: Iterable[int]) -> str:
    """Code points as the inside of a character class."""
    ranges: list[list[int]] = []
    for code in codes:
        if ranges and code == ranges[-1][1] + 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in ranges)


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
        known = ", ".join(Stemmer.algorithms())
        raise ConfigError(f"stemmer: found {language!r}, expected null or one of {known}") from error
