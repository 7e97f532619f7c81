"""Reads the confidence that a text states in its answer, such as "Confidence: 85%" or "I am 90% sure".

The words have to be about the answer: a number beside "confidence", "certainty" or "probability" in a label or a
sentence, or a share that the writer is sure. An interval, a bound, a range, a negation, a condition, somebody else's
confidence, and a number whose scale cannot be told (8 could be of 10 or of 100) are none.
"""

from __future__ import annotations

import re

from ragsweep_answers.answering.raw_text import plain_text, spoken

NUMBER = (
    r"(?<![\w.,+-])(?P<{0}>[+-]?(?:[0-9]{{1,3}}(?:\.[0-9]{{1,6}})?|0,[0-9]{{1,6}}|[0-9]{{1,2}},[0-9]{{1,2}}(?=\s*%)"
    r"|\.[0-9]{{1,6}}))(?![0-9])"
)
HOW_HIGH = r"(?:(?:very|fairly|quite)\s+)?(?:high|low|medium|moderate)"
OUT_OF = r"(?:/|\(?\s*(?:out\s+)?of|von|sur|de|su|из)"
PERCENT = r"(?:%|percent\b|per\s+cent\b)"
WORD = (
    r"(?:confidence|certainty|konfidenz|sicherheit|confianza|confiance|confiança|confidenza|уверенность|置信度|信心|把握|信頼度"
    r"|確信度|自信度)"
)
LABELLED = (
    rf"(?:(?P<about>\b(?:my|overall|final|answer|your)\s+)?\b{WORD}|(?<![\w-]){WORD}"
    rf"|^[^\w\n]*(?P<chance>(?:estimated\s+)?probability))"
    r"(?!\s+(?:interval|limit|bound|region|range))"
    r"(?:\s+(?:level|score|rating|value|estimate|in|of|that|is|about|approximately|around|roughly|the|my|this"
    r"|answer|at|being|correct|my|choice|would|be|i'd|say|b|a|c|d|e))*"
    r"[\"']*+(?P<scale>\s*[(\[][^()\[\]\n]{0,30}[)\]])?[\"']*+(?:\s*(?:[:=]|is\b)|\s-\s)?[\s\"'(\[~≈]*+"
    rf"(?:(?:about|approximately|around|roughly)\s+|{HOW_HIGH}\s*[,:(-]\s*)?"
)
ENDS = (
    rf"(?=\s*(?:$|-\s+{HOW_HIGH}\b|"
    r"[\n;!)\]}\"'|<(]|,(?!\s*\d)|\.(?!\d)|(?:because|since|that|and|but|so|given|based|due|confident"
    r"|confidence"
    r"|sure|certain)\b|in\b(?!\s*\d)))"
)
OF = rf"(?:\s*(?P<percent>{PERCENT})|\s*{OUT_OF}\s*(?P<whole>(?:100?|20|[1-9])(?:\.0)?)(?!\s*[\d%]))?"
SURE = re.compile(
    rf"(?P<unsure>(?:\b(?:not|than|least|most|under|over|below|above|to|never|nearly|almost|hardly|cannot|if|were"
    rf"|be|could|might|he|she|they)"
    rf"|n't)\s+(?:\w+\s+)?)?{NUMBER.format('share')}\s*(?:{PERCENT}|{OUT_OF}\s*(?P<all>100?|20|[2-9]))\s+(?:confident|sure|certain|certainty|confidence"
    r"(?!\s+(?:interval|limit|level|bound|region)))\b(?![^.,;\n]{0,80}(?:\d(?=\s*%)|n't|\b(?:not|cannot|wrong|incorrect"
    r"|false))\b)",
    re.I,
)
STATED = re.compile(rf"{LABELLED}{NUMBER.format('number')}{OF}(?:{ENDS})", re.I | re.M)
HINTS = re.compile(rf"confiden|sure|certain|probability|{WORD}", re.I)
BY_OTHERS = re.compile(
    r"(?:n't|\b(?:not|no|if|were|was|would\s+need|their|his|her|its"
    r"|increases?d?|lowers?|reduces?)\b)[^.;\n]{0,40}$",
    re.I,
)
REPORTED = re.compile(r"\b(?:stud(?:y|ies)|trials?|authors?|researchers?)\b[^.;\n]{0,40}$", re.I)
OF_TEN = re.compile(r"0\s*(?:-|to)\s*10(?!0)|out\s+of\s+10(?!0)|/\s*10(?!0)", re.I)
OF_HUNDRED = re.compile(rf"100|^\W*{PERCENT}\W*$|{PERCENT}", re.I)
OF_ONE = re.compile(r"^\W*0(?:\.0)?\s*(?:-|to)\s*1(?:\.0)?\W*$", re.I)


def read_confidence(text: str) -> float | None:
    """The probability with which a text says that its answer is correct, such as "Confidence: 85%".

    Args:
        text: What a model wrote.

    Returns:
        The last stated confidence, 0 to 1. None if there is none, if it is outside its scale, or if its scale cannot be
        told.
    """
    plain = plain_text(spoken(text))
    if not HINTS.search(plain):  # the patterns are slow
        return None
    found = [each for each in STATED.finditer(plain) if not BY_OTHERS.search(_before(each))]
    found += [each for each in SURE.finditer(plain) if not each["unsure"] and not REPORTED.search(_before(each))]
    if not found:
        return None
    last = max(found, key=lambda each: each.start())
    if "share" in last.groupdict():
        value = _share(_number(last["share"]), float(last["all"] or 100))
    else:
        value = _on_scale(_number(last["number"]), last)
    return value if value is not None and 0 <= value <= 1 else None


def _before(found: re.Match[str]) -> str:
    return found.string[max(0, found.start() - 60) : found.start()]


def _number(text: str) -> float:
    return float(text.replace(",", "."))


def _share(number: float, whole: float) -> float | None:
    """A share such as 4/5. Of a few, 1 may be the lowest grade, which says nothing."""
    return None if number == 1 < whole < 10 else number / whole


def _on_scale(number: float, found: re.Match[str]) -> float | None:
    """The confidence, on the scale that its words name; without one, the only scale that it can be on."""
    scale = found["scale"] or ""
    if found["percent"] or OF_HUNDRED.search(scale):
        return number / 100
    if found["whole"]:
        return _share(number, float(found["whole"]))
    if OF_TEN.search(scale):
        return number / 10
    if OF_ONE.match(scale):
        return number
    if re.search(r"\d", scale):  # a scale of another kind, such as 1 to 5
        return None
    if number >= 1 and found.string[found.end() :].lstrip().startswith("("):  # Confidence: 1 (low)
        return None
    if number <= 1:
        return number
    return number / 100 if number > 10 and number == int(number) else None
