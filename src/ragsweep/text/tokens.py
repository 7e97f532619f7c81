"""Splits texts into words and terms, in any script."""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from ragsweep.core.errors import ConfigError
from ragsweep.text.normalisation import INVISIBLE, folded
from ragsweep.text.stop_words import LUCENE_STOP_WORDS

ASCII_WORD = re.compile(r"\w+")
PUNCTUATION = str.maketrans("", "", string.punctuation)

# Scripts that write no spaces between words. Lucene's CJK analysis makes bigrams of Han, Hiragana, Katakana and Hangul.
CJK = (
    ((0x1100, 0x11FF), (0x3005, 0x3007), (0x3021, 0x3029), (0x3031, 0x303C), (0x3041, 0x30FF), (0x3105, 0x318E))
    + ((0x31A0, 0x31FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xA960, 0xA97C), (0xAC00, 0xD7FB), (0xF900, 0xFAFF))
    + ((0x1AFF0, 0x1B16F), (0x20000, 0x3FFFF))
)
# Those whose words only a dictionary can find (Unicode's line breaking class SA): Thai, Lao, Burmese, Khmer, Tai, Ahom.
SOUTHEAST_ASIAN = (
    ((0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x1950, 0x19DF), (0x1A20, 0x1AAF))
    + ((0xA9E0, 0xA9FF), (0xAA60, 0xAADF), (0x11700, 0x1174F))
)
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
    return map("".join, zip(letters, letters[1:], strict=False)) if len(letters) > 1 else letters


def plain_words(text: str) -> list[str]:
    """The words of a text without ASCII punctuation, separated by white space; bigrams as those of `words`.

    Metrics of tokens use these: "well-known" is one word, and so is "0.5".
    """
    text = folded(text).translate(PUNCTUATION)
    if text.isascii() or not _patterns().spaceless.search(text):
        return text.split()
    return [word for piece in text.split() for word in (words(piece) if _patterns().spaceless.search(piece) else [piece])]


def word_spans(text: str) -> Iterator[tuple[int, int]]:
    """Where each word of a text is, in its own characters, with its marks. Runs without spaces are left out."""
    for run in _patterns().unfolded.finditer(text):
        if not _patterns().spaceless.search(run[0]):
            yield run.span()


@dataclass(frozen=True)
class _Patterns:
    """Patterns of words beyond ASCII.

    Attributes:
        beyond_w: What the words of Python's `\\w` get wrong: marks, and letters of scripts without spaces.
        spaceless: A letter of a script without spaces.
        letter: Such a letter with its marks.
        run: A run of such letters, or a word of another script, in a folded text.
        unfolded: A word of any script, or several without spaces, in a text that is not folded.
    """

    beyond_w: re.Pattern[str]
    spaceless: re.Pattern[str]
    letter: re.Pattern[str]
    run: re.Pattern[str]
    unfolded: re.Pattern[str]


@cache
def _patterns() -> _Patterns:
    marks = _class(code for code in range(LAST_WITH_MARKS + 1) if unicodedata.category(chr(code)).startswith("M"))
    ranges = (range(first, last + 1) for first, last in (*CJK, *SOUTHEAST_ASIAN))
    letters = _class(code for some in ranges for code in some if unicodedata.category(chr(code)) in ("Lo", "Lm", "Nl"))
    letter = f"[{letters}][{marks}]*"
    return _Patterns(
        beyond_w=re.compile(f"[{marks}{letters}]"),
        spaceless=re.compile(f"[{letters}]"),
        letter=re.compile(letter),
        run=re.compile(rf"(?P<spaceless>(?:{letter})+)|(?:(?![{letters}])\w[{marks}]*)+"),
        unfolded=re.compile(rf"\w(?:[\w{marks}]|{INVISIBLE.pattern})*"),
    )


def _class(codes: Iterable[int]) -> str:
    """Ascending code points as the inside of a character class."""
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


@cache
def _stemmer(language: str) -> Any:
    import Stemmer

    try:
        return Stemmer.Stemmer(language)
    except KeyError as error:
        known = ", ".join(Stemmer.algorithms())
        raise ConfigError(f"stemmer: found {language!r}, expected null or one of {known}") from error
