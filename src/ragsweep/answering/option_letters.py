"""Finds the letters and the texts of options in what a model wrote, in English."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

from ragsweep.answering.statements import is_taken_back
from ragsweep.datasets.cases import Option

LONGEST_STATEMENT = 2000  # characters
SIMPLER = str.maketrans(
    dict(zip("\u2018\u2019\u201c\u201d\u2013\u2014\u2212\u0130", "''\"\"---I", strict=True))  # quotes, dashes, dotted I
    | {code + 0xFEE0: code for code in range(0x21, 0x7F)}  # full width; NFKC would also make 105 of an exponent
)

# A letter, but not that of B12, I'm, D-dimer or i.e. What follows it decides, too: it is none in "a drug", "B cells" or
# "C. difficile", but one in "B because" and "B. The patient".
LETTER = r"(?P<letter>(?-i:[A-Za-z]))(?!\w|'\w|-\w|\.[A-Z]\b)"
OPENING = r"[\s\"'(\[{<>:•-]*"
CLOSING = r"[\"')\]}>]"
REASON = (
    r"(?:because|since|as|due|given|which|where|while|but|not|over|rather|instead|and|or|plus|so|based|according|in|is"
    r"|for)\b"
)
SENTENCE = r"(?:the|this|it|that|these|reason|reasoning|explanation|confidence)\b"
CHOICE = re.compile(rf"{OPENING}(?:(?:the\s+)?(?:option|choice|letter|answer)\b{OPENING})?(?:{LETTER})?", re.I)
AFTER_LETTER = re.compile(
    rf"{CLOSING}|\s*$|[,;!<]|[/&+|]\s*[\"'(\[]*[A-Z]\b|:(?!\S)|\s+[^\w\s?]|\s+{REASON}|\.(?!\.|\s?(?!{REASON}|{SENTENCE})(?-i:[a-z]))",
    re.I,
)
AFTER_TEXT = re.compile(
    rf"{CLOSING}*(?:\s*$|[.!](?!\w)|<|,\s+not\b|,?\s+(?:because|since|which|but|based|rather)\b|\s*\((?:option\s+)?{LETTER}\))",
    re.I,
)
BARE = re.compile(r"[\s\"'(\[{*`<]*([A-Za-z])[\s\"')\]}*`>.:,;!]*")
LETTER_ALONE = re.compile(rf"{CHOICE.pattern.removesuffix('?')}[\s\"')\]}}>.,:;!]*", re.I)
SEVERAL = re.compile(rf"{OPENING}(?:either|neither|both|between|none|unclear|unknown|uncertain)\b", re.I)

# What follows the letter or the text of an option in its sentence.
CLOSED = re.compile(rf"(?:\s*{CLOSING})*")
TAIL = re.compile(
    r"(?:(?![.!?](?:\s|$)|[;<\n]|,\s*\"\w+\"\s*:).)*"
)  # to the end of the sentence or the next field of JSON
REASONED = re.compile(
    r"[\s,(:-]*(?:because|since|as(?!\s+well)|due|given|based|according|so|where|in|for|i\.?e|namely"
    r"|(?:and\s+|but\s+)?(?:not(?!\s+(?:sure|certain|correct|right|true|really|entirely|quite|the|an|at|a\s+\w)\b)|over"
    r"|rather\s+than|instead\s+of)(?=\s+\S))\b",
    re.I,
)
DOUBT = re.compile(
    r"n't\b|\b(?:not|cannot|no|never|nor|none|wrong|incorrect|false|mistaken?|maybe|perhaps|possibly|might|may|could|or"
    r"|also|either|if|unless|unsure|uncertain|unlikely|doubt\w*|hardly)\b|[^\w\s\"'()\[\]{}>,:;.!?/|=•·%°+✓✔✅-]",
    re.I,
)
OTHER = re.compile(  # a letter by itself, but not the article or the pronoun
    r"(?<![\w'.-])(?:[B-HJ-Zb-hj-z](?![\w'-]|\.\w)|(?<![:(-])(?<![:(-]\s)A(?![\w'-]|\.\w)|[AaIi](?!\s*\w|[\w'.-]))"
)
PHRASE = re.compile(r"\.\s+(?P<phrase>(?:[^\W\d_][\w'-]*[\s,/]*){1,3})(?=[.;!?<]|$)")
SHORT = 4  # words which should be the option's text, or a part of it
HARMLESS = re.compile(
    r"\b(?:confiden\w*|sure|certain\w*|likely|final|option|choice|answer|clearly|correct|right)\b", re.I
)

# Numbers with their signs, words, and every other sign except punctuation; so Na+ differs from Na-.
TOKEN = re.compile(
    r"(?:(?<!\w)[+-])?(?:\d+(?:[.,:/]\d+)*|(?<![\w.,])[.,]\d+)|(?:(?!\d)[^\W_])+|(?<=\w)-(?!\w)"
    r"|[^\w\s.,:;!?'\"()\[\]{}/\\|•·-]"
)
UNLIKELY = re.compile(r"\b(?:unlikely|incorrect|wrong|less\s+likely|ruled?\s+out)\b", re.I)


def bare_letter(text: str) -> str | None:
    """The letter, in upper case, if a text is nothing else, besides brackets and punctuation."""
    found = BARE.fullmatch(text.translate(SIMPLER))
    return found[1].upper() if found else None


def has_two_meanings(letter: str | None, options: Sequence[Option]) -> bool:
    """Whether a letter is also the text of another option, such as a vitamin or a blood group."""
    return any(option.letter != letter and bare_letter(option.text) == letter for option in options)


def option_with_text(text: str, options: Sequence[Option]) -> str | None:
    """The letter of the only option with this text. Case and punctuation are ignored if that leaves only one."""
    exact = [option.letter for option in options if option.text.strip() == text.strip()]
    same = exact or [
        option.letter for option in options if _tokens(plain_text(option.text)) == _tokens(plain_text(text))
    ]
    return same[0] if len(same) == 1 else None


def plain_text(text: str) -> str:
    """The text without emphasis and LaTeX."""
    text = unicodedata.normalize("NFC", text).translate(SIMPLER)
    text = re.sub(r"\\(?:text|textbf|textit|mathrm|mathbf|mathsf)\s*\{([^{}]*)\}", r"\1", text)
    return re.sub(r"[*`$]|\\[()\[\],;!]", "", text).replace("_", " ")


class Start(NamedTuple):
    """The answer that a text begins with.

    Attributes:
        letter: The letter; "" if the text gives several, or a letter with the text of another option.
        end: Where the answer ends.
        with_text: Whether it has the letter and the text of the option.
    """

    letter: str
    end: int
    with_text: bool


NOT_ONE = Start("", 0, with_text=False)


class Letters:
    """Finds the letters of options in a text.

    Attributes:
        known: The letters.
        ambiguous: Those that are also the text of another option.
        own: The tokens of each option's text by its letter.
        texts: Letter by the tokens of the option's text. Texts that several options share are left out, and so are
            those that are a letter themselves, such as blood groups.
    """

    def __init__(self, options: Sequence[Option]) -> None:
        self.known = {option.letter for option in options}
        self.ambiguous = {letter for letter in self.known if has_two_meanings(letter, options)}
        self.own = {option.letter: _tokens(plain_text(option.text)) for option in options}
        shared = Counter(self.own.values())
        single = {(letter.casefold(),) for letter in self.known}
        self.texts = {
            words: letter for letter, words in self.own.items() if words and shared[words] == 1 and words not in single
        }

    def at_start(self, rest: str) -> Start | None:
        """The answer that a text begins with; None if it begins with none."""
        start = self.text_at(rest, 0, self.texts)
        if start is None:
            if SEVERAL.match(rest):
                return NOT_ONE
            choice = _match(CHOICE, rest, 0)
            if not choice["letter"]:
                return None
            start = Start(choice["letter"].upper(), choice.end(), with_text=False)
            own = {words: letter for letter, words in self.own.items() if letter == start.letter and words}
            text = self.text_at(rest, start.end, self.texts | own)
            if text and text.letter != start.letter:
                return NOT_ONE
            if text:
                start = text._replace(with_text=True)
            elif start.letter in self.ambiguous:
                return NOT_ONE
            elif not AFTER_LETTER.match(rest, start.end):
                return None
            elif not self._has_its_text_or_prose(rest, start):
                return NOT_ONE
        return start if self._is_certain(rest, start) else NOT_ONE

    def verdict(self, found: re.Match[str], rest: str) -> Start:
        """The option that a text calls correct, as in "B is correct"."""
        start = Start(found["verdict"].upper(), 0, with_text=False)
        if found["wrong"] or found["verdict_not"]:
            return start
        return start if start.letter not in self.ambiguous and self._is_certain(rest, start) else NOT_ONE

    def _is_certain(self, rest: str, start: Start) -> bool:
        """Whether the sentence has no doubt about the answer and no other letter, except in a reason."""
        tail = _match(TAIL, rest, _match(CLOSED, rest, start.end).end())[0]
        others = {letter.upper() for letter in OTHER.findall(tail)} - {start.letter}
        return REASONED.match(tail) is not None or not (others or DOUBT.search(tail))

    def _has_its_text_or_prose(self, rest: str, start: Start) -> bool:
        """Whether the few words after a letter belong to its option; not "A. Baumannii". More words are prose."""
        closed = _match(CLOSED, rest, start.end).end()
        phrase = PHRASE.match(rest, closed)
        tail = phrase["phrase"] if phrase else _match(TAIL, rest, closed)[0]
        words = _tokens(tail)
        named = [word for word in words if word[0].isalpha()]
        if not named or len(named) > SHORT or REASONED.match(tail) or HARMLESS.search(tail):
            return True
        return any(len(word) > 2 or not word.isalpha() for word in {*words} & {*self.own.get(start.letter, ())})

    def text_at(self, rest: str, position: int, texts: dict[tuple[str, ...], str]) -> Start | None:
        """The option whose text stands at a position. The longest one counts."""
        found = list(islice(TOKEN.finditer(rest, position), max(map(len, texts), default=0)))
        words = tuple(_folded(token) for token in found)
        for count in range(len(words), 0, -1):
            end = found[count - 1].end()
            letter = texts.get(words[:count])
            after = letter and AFTER_TEXT.match(rest, end)
            if letter and after:
                beside = after["letter"]  # Malaria (B)
                return NOT_ONE if beside and beside.upper() != letter else Start(letter, end, with_text=bool(beside))
        return None

    def alone(self, plain: str) -> set[str]:
        """The letters of lines that have only a letter, or a letter and its option's text; or of a text that is one."""
        whole = self.texts.get(_tokens(plain)) if len(plain) <= LONGEST_STATEMENT else None
        if whole:
            return {whole}
        lines = [line.strip() for line in plain.splitlines() if line.strip()]
        read = [self.of_line(line) for line in lines]
        found = [*{letter for letter in read if letter}]
        if len(found) != 1 or not (read[0] or read[-1]):
            return set()
        later = "" if read[-1] else "\n".join(lines[1:])
        return set() if is_taken_back(later, found[0], self.known) else {found[0]}

    def of_line(self, line: str) -> str | None:
        """The letter of a line that has nothing else, or also its option's text."""
        start = self.at_start(line)
        if start and start.with_text and not UNLIKELY.search(line, start.end):
            return start.letter
        alone = LETTER_ALONE.fullmatch(line)
        return alone["letter"].upper() if alone and alone["letter"].upper() not in self.ambiguous else None


def _tokens(text: str) -> tuple[str, ...]:
    """The words, numbers and signs of a text, without case, spaces and punctuation."""
    return tuple(map(_folded, TOKEN.finditer(text)))


def _folded(token: re.Match[str]) -> str:
    """A token without case; .5 is 0.5."""
    word = token[0].casefold()
    return re.sub(r"^([+-]?)\.", r"\g<1>0.", word)


def _match(pattern: re.Pattern[str], text: str, start: int) -> re.Match[str]:
    """The match of a pattern that also matches nothing."""
    found = pattern.match(text, start)
    assert found
    return found
