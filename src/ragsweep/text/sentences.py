"""Finds the sentences of a text."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

from ragsweep.text.tokens import Span, stripped

LIBRARIES = ("nupunkt",)

# The full stops of Chinese and Japanese, Hindi, Arabic, Urdu, Armenian, Amharic, Burmese, Khmer and Tibetan.
OTHER_STOPS = "\u3002\uff01\uff1f\uff61\u0964\u0965\u061f\u06d4\u0589\u1362\u1367\u104b\u17d4\u17d5\u0f0d"
FULL_STOPS = f".!?{OTHER_STOPS}"
# Full stops of other scripts, and what closes behind them. A full stop of full width is none between digits.
# Quotation marks that open as well close before white space.
CLOSING = r"[\u300d\u300f\u201d\u2019\uff09\u00bb\u203a)\]]|[\"'\u201c](?=[\s)\]\u00bb]|$)"
OTHER_END = rf"(?:[{OTHER_STOPS}]|\uff0e(?!\d))+(?:{CLOSING})*\s*"
# What nupunkt, which is made for English, does not take for an end: a blank line, and the full stops of other scripts.
OTHER_ENDS = re.compile(rf"\n[^\S\n]*\n\s*|{OTHER_END}")

LONGEST_HEADING = 50  # characters: a shorter line without a full stop, before a line with a capital, is a heading
ITEM = re.compile(r"\n(?=\s*(?:[-*•#|]|\d+[.)])\s)")  # the end of a line before an item of a list
OPENING = re.compile(r"\s*(?:[-*•#|]+\s+)?(?:\d+[.)]?\s+(?=[A-Z]))?")  # bullets and numbers of steps
LINE = re.compile(r"[^\n]+")

# Ends of what models write and read, which are found fast. Lists and headings have no full stops, but line breaks.
SENTENCE_OR_LINE_END = re.compile(r"(?<=[.!?])\s+|\n+")
CLAUSE_OR_LINE_END = re.compile(r"(?<=[.;:])\s+|\n+")

# Abbreviations and ordinals of European languages, for a model of sentences that knows English only.
MONTHS = "Januar|Jänner|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember"
LONGEST_ABBREVIATION = 20  # characters, with spaces behind its dots and behind it


def _any_of(*sections: str) -> str:
    """A pattern of the abbreviations in these sections of `abbreviations.txt`."""
    listed = Path(__file__).with_name("abbreviations.txt").read_text(encoding="utf-8")
    lines = [section.partition("]")[::2] for section in listed.split("\n[")[1:]]
    words = [word for name, text in lines if name in sections for word in text.partition("\n")[2].split()]
    spelled = sorted({form for word in words for form in (word, word[0].upper() + word[1:])})
    return "|".join(re.escape(form).replace(r"\.", r"\.\s?").replace("_", r"\s") for form in spelled)


INITIALS = r"[^\W\d_]\.-[^\W\d_]"  # J.-P.
ORDINAL = r"(?:[Ii]m|vom|zum|zur|[Dd]er|[Dd]as|dem|den|des)\s\d{1,2}"  # im 19. Jahrhundert


def _before(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w.-])(?:{pattern})\.\s*\Z")


ENDS_NOTHING = _before(f"{_any_of('nothing')}|{INITIALS}|{ORDINAL}")
ENDS_NOTHING_BEFORE_NUMBERS = _before(_any_of("numbers"))
ENDS_NOTHING_BEFORE_LOWER_CASE = _before(_any_of("numbers", "lower"))
DAY = _before(r"\d{1,2}")
MONTH = re.compile(rf"(?:{MONTHS})\b")


def sentences_of(text: str) -> list[Span]:
    """Adjacent spans of the sentences. Each ends with the white space behind it, and is more than white space.

    A sentence ends where nupunkt's Punkt model says so (Kiss and Strunk, 2006, "Unsupervised Multilingual Sentence
    Boundary Detection"), but not behind an abbreviation of another language; at a blank line, and behind a full stop of
    some other scripts. A line break is no end, since lines of a PDF break anywhere.
    """
    import nupunkt

    ends = {end for _, end in nupunkt.sent_spans(text) if not goes_on_at(text, end)}
    ends |= {match.end() for match in OTHER_ENDS.finditer(text)}
    spans: list[Span] = []
    start = 0
    for end in sorted({*ends, len(text)}):
        if text[start:end].strip():
            spans.append((start, end))
            start = end
    if spans:
        spans[-1] = (spans[-1][0], len(text))
    return spans


def sentences_and_items(text: str) -> list[Span]:
    """The spans of the sentences of a text, in order, without bullets and white space around them.

    Headings and items of lists, which have no full stop, are sentences of their own.
    """
    ends = (end for _, end in sentences_of(text))
    cuts = {0, len(text), *ends, *(item.end() for item in ITEM.finditer(text)), *_after_headings(text)}
    spans = []
    for start, end in pairwise(sorted(cuts)):
        opening = OPENING.match(text, start, end)
        spans.append(stripped(text, opening.end() if opening else start, end))
    return [(start, end) for start, end in spans if start < end]


def _after_headings(text: str) -> list[int]:
    lines = [match for match in LINE.finditer(text) if match[0].strip()]
    return [
        after.start()
        for line, after in pairwise(lines)
        if len(line[0].strip()) < LONGEST_HEADING and line[0].rstrip()[-1].isalnum() and after[0].lstrip()[0].isupper()
    ]


def goes_on_at(text: str, position: int) -> bool:
    """Whether a sentence goes on at a position, as an abbreviation or an ordinal stands before it."""
    start, after = max(0, position - LONGEST_ABBREVIATION), text[position : position + 1]
    if after.islower():
        patterns = [ENDS_NOTHING, ENDS_NOTHING_BEFORE_LOWER_CASE]
    elif after.isdigit():
        patterns = [ENDS_NOTHING, ENDS_NOTHING_BEFORE_NUMBERS]
    else:
        patterns = [ENDS_NOTHING, DAY] if MONTH.match(text, position) else [ENDS_NOTHING]
    return any(pattern.search(text, start, position) for pattern in patterns)
