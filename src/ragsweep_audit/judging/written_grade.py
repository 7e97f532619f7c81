"""Reads the grade that a language model wrote when it was asked for a number alone."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

from ragsweep.core.parsing import MalformedError
from ragsweep.models.language.written_json import json_in

FIELD = re.compile(r"(?:\w*[_ ])?(?:relevan\w*|grade|score|rating|label|answer)(?:[_ ](?:score|grade|level))?", re.I)
NUMBER_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
NUMBER_WORD = re.compile(rf"\b(?:{'|'.join(NUMBER_WORDS)})\b", re.I)
RELEVANT = re.compile(r"\W*(?:yes|true|(?:it\s+is\s+)?relevant)\W*", re.I)
IRRELEVANT = re.compile(r"\W*(?:no|false|irrelevant|(?:it\s+is\s+)?not\s+relevant)\W*", re.I)
MARKS = re.compile(r"[*_`$#]|\\boxed")
TAG = re.compile(r"<(/?)(\w+)>")
SCALE = re.compile(
    r"\b(?:on\s+)?(?:an?\s+|the\s+)?scale\s+(?:of|from)\s+\d+\s*(?:to|-)\s*\d+|[(\[](?:from\s+)?\d+\s*(?:-|to)\s*\d+[)\]]|\([^()]{0,80}\d\s*=[^()]{0,80}\)",
    re.I,
)
NAMED_GRADE = re.compile(r"\d+(?=\s*=)")  # (1 = not relevant, 5 = perfect)
OTHER_SCALE = "\0"  # stands for a scale other than the one that was asked for
SENTENCE_END = re.compile(r"[.!?]\s|\n")
NUMBER = (
    r"(?<![\w.,-])(?P<number>\d{1,3})(?:\.0+)?(?:\s*(?:/|(?:out\s+)?of)\s*(?P<whole>\d{1,3}))?(?![\w%/]|[.,-]\d|\s*%)"
)
NO_OTHER = r"(?!\s*(?:or|to|and|-|,)\s*(?:(?:perhaps|maybe|possibly|even)\s+)?\d)"
LEADING = re.compile(rf"[^\w-]*{NUMBER}{NO_OTHER}(?=[\s.)\]}}\"']*$|\s*\n|\s*[,:;(]|\s+-\s|\]|}})")
STATED = re.compile(
    r"(?:relevan\w{0,4}|grade|score|rat(?:e|ing)|label|answer|pertinence|not[ea]\b|final|verdict|judge?ment|bewertung|puntuación|pontuação|punteggio|оценка|评分|分数|相关性|得分|スコア|점수|\b(?:give|say|assign|so|therefore|it's|this\s+is)\b)"
    r"(?:\s*\b(?:score|rating|grade|level|of|for|the|this|that|text|passage|document|it|its|is|as|would|be|therefore|thus|an?|to|relevance)\b){0,12}+"
    rf"[\s\"']*+(?:[:=→]|-\s)?[\s\"'({{\[]*{NUMBER}{NO_OTHER}(?=[\s\"'}}\])]*(?:$|[\n.,;(:-]))",
    re.I,
)
ALSO_REMARK = re.compile(r"note\b", re.I)  # the French word for a grade opens a remark in English, "Note: 3 of them"
OF_ANOTHER_CASE = re.compile(  # to get a score of 3
    r"(?:\b(?:to\s+(?:get|earn|receive|reach|deserve|merit|be)|for\s+an?|if|unless|not|than|instead)|n't)\b[^.;,:\n]{0,30}$",
    re.I,
)


def grade_in(text: str, highest: int) -> int | None:
    """The grade from 0 to `highest`; None if a text states none, several, or one on another scale.

    A number counts where the text begins with it, and behind words such as "relevance:" or "I would rate this"; the
    last one of these. Other numbers may be those of a list or of what the text is about.
    """
    if "{" in text or "[" in text:
        try:
            return _of_value(json_in(text), highest)
        except MalformedError:
            pass
    plain = MARKS.sub("", unicodedata.normalize("NFKC", text).replace("\u2013", "-"))
    plain = SCALE.sub(
        lambda scale: _mark(scale[0], highest), TAG.sub(lambda tag: "\n" if tag[1] else f"{tag[2]}: ", plain)
    )
    plain = NUMBER_WORD.sub(lambda word: str(NUMBER_WORDS.index(word[0].lower())), plain)
    if IRRELEVANT.fullmatch(plain):
        return 0
    if highest == 1 and RELEVANT.fullmatch(plain):
        return 1
    stated = [match for match in STATED.finditer(plain) if not OF_ANOTHER_CASE.search(plain[: match.start()][-60:])]
    surely = [match for match in stated if not ALSO_REMARK.match(match[0])]
    found = surely[-1:] or [match for match in [LEADING.match(plain)] if match] or stated[-1:]
    if not found or (found[0]["whole"] and int(found[0]["whole"]) != highest):
        return None
    if OTHER_SCALE in SENTENCE_END.split(plain[: found[0].end()])[-1] + SENTENCE_END.split(plain[found[0].end() :])[0]:
        return None
    grade = int(found[0]["number"])
    return grade if grade <= highest else None


def _mark(scale: str, highest: int) -> str:
    """What is read in place of a scale: nothing if it is the one that was asked for."""
    named = [int(each) for each in NAMED_GRADE.findall(scale)]
    bounds = [int(each) for each in re.findall(r"\d+", scale)]
    is_asked = max(named) <= highest if named else sorted(bounds) == [0, highest]
    return "" if is_asked else OTHER_SCALE


def _of_value(value: Any, highest: int) -> int | None:
    """The grade in a JSON value: a number, the only one of a list, or a field that is called so."""
    if isinstance(value, dict):
        fields = [each for name, each in value.items() if FIELD.fullmatch(name)]
        return _of_value(fields[0], highest) if len(fields) == 1 else None
    if isinstance(value, list):
        return _of_value(value[0], highest) if len(value) == 1 else None
    if isinstance(value, str):
        return grade_in(value, highest) if not {*"{["} & {*value} else None
    if isinstance(value, bool) and highest > 1:
        return None
    return int(value) if isinstance(value, int | float) and value in range(highest + 1) else None
