"""Abbreviations and ordinals of European languages, for a model of sentences that knows English only."""

from __future__ import annotations

import re
from pathlib import Path

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
