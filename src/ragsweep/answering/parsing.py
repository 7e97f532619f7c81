r"""Reads the answer and the confidence from what a model wrote, in English.

This is part of the measurement: a parser that takes the first letter that it finds, or falls back to A, can move a
benchmark by several points. Text from which no single answer can be read has none, and where in doubt, it has none.

A statement of the answer counts, such as "The answer is B" or `\boxed{B}`. The last one wins, since models correct
themselves. Without a statement, the answer is a line that has only a letter, or a letter and the text of its option, if
all such lines agree and one is the first or the last line; or a text that is exactly the text of one option.

A letter that is also the text of another option, such as a blood group, could mean either: it counts only with the text
of its option, as in "A) B".
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ragsweep.answering.option_letters import (
    LONGEST_STATEMENT,
    NOT_ONE,
    Letters,
    Start,
    bare_letter,
    has_two_meanings,
    plain_text,
)
from ragsweep.answering.statements import JOINED, is_denied, is_open, is_taken_back, statements
from ragsweep.core.parsing import MalformedError, from_json
from ragsweep.datasets.cases import Option

MOST_READ = 50_000  # characters at the end of a text
ANSWER_FIELD = re.compile(r"(?:(?:final|correct|best)[ _-]?)?answer(?:[ _-]?(?:choice|option|letter))?", re.I)

# What may follow a stated confidence; it is none in "1 in 5", "1 out of 5", "50-90 %" and "0 patients".
ENDS = (
    r"(?=[ \t]*(?:$|[\n;!)\]}\"'|<]|,(?!\s*\d)|\.(?!\d)|-(?!\s*\d)"
    r"|(?:because|since|that|and|but|so|given|based|due)\b))"
)
CONFIDENCE = re.compile(
    r"\bconfidence(?!\s+(?:interval|limit|bound|region))\b"
    r"(?:\s+(?:level|score|rating|in|of|that|is|about|approximately|around|the|my|this|answer|at))*[\"']*"
    r"(?:\s*\((?:0\s*(?:-|to)\s*)?(?:1(?:\.0)?|(?P<of_100>100\s*%?|%|percent))\))?"
    r"(?:\s*[:=]|\s-\s)?[\s\"'(]*"
    rf"(?P<number>[+-]?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)|0,[0-9]+)(?:\s*(?P<percent>%|percent\b)\s*(?:{ENDS}|\((?!\s*\d))|{ENDS})"
    r"|(?P<unsure>(?:\b(?:not|than|least|most|under|over|below|above|to|never|nearly|almost|hardly)|n't)\s+(?:\w+\s+)?)?"
    r"(?<![\w.,-])(?P<share>[+-]?[0-9]+(?:\.[0-9]+)?)\s*(?:%|percent)\s+"
    r"(?:confident|sure|certain|certainty|confidence(?!\s+(?:interval|limit|level|bound|region)))\b"
    r"(?![^.,;\n]{0,80}(?:n't|\b(?:not|cannot|wrong|incorrect|false))\b)",
    re.I,
)


def read_letter(text: str, options: Sequence[Option]) -> str | None:
    """The letter of the option that a text gives as the answer.

    Args:
        text: What a model wrote.
        options: The answers to choose from.

    Returns:
        The letter. None if the text states no answer, several answers, or one that is not an option.
    """
    bare = bare_letter(text)
    if any(bare == option.letter for option in options):  # most files of answers have only letters
        return None if has_two_meanings(bare, options) else bare
    if exact := [option.letter for option in options if option.text.strip() == text.strip()]:
        return exact[0]
    plain = plain_text(_of_field(_end(text)))
    letters = Letters(options)
    stated = _stated(plain, letters)
    if stated is None:
        stated = letters.alone(plain)
    return stated.pop() if len(stated) == 1 and stated <= letters.known else None


def read_confidence(text: str) -> float | None:
    """The probability with which a text says that its answer is correct, such as "Confidence: 85%".

    Args:
        text: What a model wrote.

    Returns:
        The last stated confidence, 0 to 1. None if there is none, or if it is outside 0 to 1 or 0 % to 100 %.
    """
    plain = plain_text(_end(text))
    if not any(word in plain.lower() for word in ("confiden", "sure", "certain")):  # the pattern is slow
        return None
    stated = [found for found in CONFIDENCE.finditer(plain) if not found["unsure"]]
    if not stated:
        return None
    last = stated[-1]
    number = float((last["number"] or last["share"]).replace(",", "."))
    value = number / 100 if last["percent"] or last["of_100"] or last["share"] else number
    return value if 0 <= value <= 1 else None


def _end(text: str) -> str:
    """The end of a text, without what a model thought before it answered."""
    text = text.rpartition("</think>")[2].partition("<think>")[0]
    return text if len(text) <= MOST_READ else f"...\n{text[-MOST_READ:]}"


def _of_field(text: str) -> str:
    """The answer in a JSON object, with what follows the object; other texts as they are."""
    start, end = text.find("{"), text.rfind("}") + 1
    try:
        found = from_json(text[start:end], allow_nan=True) if 0 <= start < end else None
    except MalformedError:
        return text
    answers = [found[name] for name in found if ANSWER_FIELD.fullmatch(name)] if isinstance(found, dict) else []
    if not answers:
        return text
    if len(answers) > 1 or not isinstance(answers[0], str):
        return ""
    return f"Answer: {answers[0]}\n{text[end:]}"


def _stated(plain: str, letters: Letters) -> set[str] | None:
    """The letters that the statements leave, "" for what is not one option; None if nothing is stated."""
    stated: set[str] | None = None
    end = stop = len(plain)
    for found in statements(plain):
        if found["next"]:
            if stated:
                stop = found.start()
                break
            continue
        begin = found.end()
        rest = plain[begin : begin + LONGEST_STATEMENT]
        if not found["verdict"]:
            begin += len(rest) - len(rest.lstrip())
            rest = rest.lstrip()
        rest = rest.partition("\n")[0]
        if found["verdict"]:
            start: Start | None = letters.verdict(found, rest)
        else:
            start = letters.at_start(rest) or (NOT_ONE if found["slot"] and rest else None)
        if start is None or is_open(plain, found) or (found["needs_text"] and not start.with_text and start.letter):
            continue
        if is_denied(plain, found):
            stated = (stated or set()) - {start.letter}
            continue
        if stated and start.letter not in stated and JOINED.fullmatch(plain, end, found.start()):
            start = NOT_ONE
        # Verdicts on several options are no correction.
        stated = (stated or set()) - {""} | {start.letter} if found["verdict"] else {start.letter}
        end = begin + start.end
    if stated and any(is_taken_back(plain[end:stop], letter, letters.known) for letter in stated):
        return {""}
    return stated
